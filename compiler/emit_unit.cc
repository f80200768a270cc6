// The firmware unit: model.h and model.cc of an image.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/emit.h"
#include "runtime/kernel.h"
#include "runtime/program.h"

namespace corten {
namespace {

const ImageHeader& header(std::span<const uint8_t> image) { return *reinterpret_cast<const ImageHeader*>(image.data()); }
std::string text_at(std::span<const uint8_t> image, uint32_t name) { return image_string(image.data(), name); }

bool is_identifier(const std::string& s) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !s.empty() && letter(s[0]) && std::all_of(s.begin(), s.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string upper(std::string s) {
  for (char& c : s) c = c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
  return s;
}

// A name as a comment may hold it.
std::string printable(std::string s) {
  for (char& c : s) c = c < 32 || c > 126 || c == '\\' ? '?' : c;
  return s;
}

std::string float_literal(float v) {
  std::string s = fmt::format("{:.9g}", v);
  return s + (s.find_first_of(".en") == std::string::npos ? ".0f" : "f");
}

// "N = 1, H = 49, W = 10, C = 1"
std::string named_dims(const ImageIo& io) {
  const std::vector<std::string> names = dim_names(io.rank, io.perm);
  std::string s;
  for (size_t d = 0; d < io.rank; d++) s += fmt::format("{}{} = {}", d ? ", " : "", names[d], io.shape[io.perm[d]]);
  return s;
}

std::string torch_shape(const ImageIo& io) {
  std::string s;
  for (size_t d = 0; d < io.rank; d++) s += fmt::format("{}{}", d ? ", " : "", io.shape[d]);
  return s;
}

std::string describe(std::span<const uint8_t> image, const ImageIo& io, const std::string& what) {
  const bool quantised = io.type == uint8_t(IoType::i8);
  std::string s = fmt::format("{} \"{}\": {} ({}); in PyTorch ({})", what, printable(text_at(image, io.name)),
                              quantised ? "int8" : "float32", named_dims(io), torch_shape(io));
  if (quantised) s += fmt::format("; real = {:.9g} * (q - {})", io.scale32, io.zero);
  return s;
}

std::string io_namespace(const ImageIo& io, const std::string& name) {
  const std::vector<std::string> names = dim_names(io.rank, io.perm);
  std::string s = fmt::format("namespace {} {{\n", name), dims;
  for (size_t d = 0; d < io.rank; d++) {
    s += fmt::format("inline constexpr uint32_t k{} = {};\n", names[d], io.shape[io.perm[d]]);
    dims += fmt::format("{}k{}", d ? ", " : "", names[d]);
  }
  if (io.rank) s += fmt::format("inline constexpr uint32_t kShape[] = {{{}}};\n", dims);
  s += fmt::format("inline constexpr uint32_t kBytes = {};\n", io.bytes);
  s += fmt::format("inline constexpr float kScale = {};\ninline constexpr int32_t kZero = {};\n}}  // namespace {}\n",
                   float_literal(io.scale32), io.zero, name);
  return s;
}

constexpr const char* kHeaderText = R"(// {name}, compiled by Corten for {target}. Generated: do not edit.
//
// Tensors lie row-major in the device's order, channels last:
{tensors}//
// An input's bytes may be overwritten by run(): fill every input before each run.
#pragma once
#include "runtime/corten.h"

#define {NAME}_ARENA_BYTES {arena}u  // scratch included
#define {NAME}_IMAGE_BYTES {image}u

// Sections that your linker script may place. {NAME}_ARENA(name); defines the arena.
#ifndef {NAME}_IMAGE_SECTION
#define {NAME}_IMAGE_SECTION ".corten.image"
#endif
#ifndef {NAME}_ARENA_SECTION
#define {NAME}_ARENA_SECTION ".corten.arena"
#endif
#define {NAME}_ARENA(name) \
  __attribute__((section({NAME}_ARENA_SECTION), aligned(16))) uint8_t name[{NAME}_ARENA_BYTES]

#ifdef __cplusplus
extern "C" {{
#endif
extern __attribute__((section({NAME}_IMAGE_SECTION), aligned(16))) const uint32_t {name}_image[{NAME}_IMAGE_BYTES / 4];
// Verifies the image, then it is ready to run. The arena: {NAME}_ARENA_BYTES, on 16 bytes.
corten_status {name}_init(corten_model* model, void* arena, uint32_t arena_bytes);
#ifdef __cplusplus
}}

#include "runtime/model.h"

namespace {name} {{
inline constexpr uint32_t kArenaBytes = {NAME}_ARENA_BYTES, kImageBytes = {NAME}_IMAGE_BYTES;
inline constexpr uint32_t kInputs = {inputs}, kOutputs = {outputs};
{spaces}inline corten::Status init(corten::Model& model, void* arena, uint32_t arena_bytes = kArenaBytes) {{
  return {name}_init(&model.state(), arena, arena_bytes);
}}
}}  // namespace {name}
#endif
)";

constexpr const char* kSourceText = R"(// {name}, compiled by Corten for {target}: image and kernel table. Generated: do not edit.
#include "model.h"
#include "runtime/kernel.h"

extern "C" {{
{declarations}}}

// Exactly the kernels the image needs, in its order.
static const corten::KernelEntry kKernels[] = {{
{entries}}};

corten_status {name}_init(corten_model* model, void* arena, uint32_t arena_bytes) {{
  const corten_memory memory = {{arena, arena_bytes}};
  return corten_init(model, {name}_image, sizeof {name}_image, kKernels, {kernels}, &memory, 1);
}}

const uint32_t {name}_image[{NAME}_IMAGE_BYTES / 4] = {{
)";

std::string identifier(std::span<const uint8_t> image) {
  const std::string name = image_name(image);
  if (!is_identifier(name))
    throw Error(Code::damaged_image, "the model's name is not a C identifier: " + printable(name), "compile the model again");
  return name;
}

}  // namespace

std::string image_name(std::span<const uint8_t> image) { return text_at(image, header(image).name); }
std::string image_target(std::span<const uint8_t> image) { return text_at(image, header(image).target); }

std::vector<KernelName> image_kernels(std::span<const uint8_t> image) {
  const ImageHeader& h = header(image);
  const ImageKernel* k = image_at<ImageKernel>(&h, h.kernel_table);
  std::vector<KernelName> names;
  for (uint32_t i = 0; i < h.kernels; i++) {
    std::string name = text_at(image, k[i].name);
    if (!is_identifier(name) || kernel_id(name.c_str()) != k[i].id)
      throw Error(Code::damaged_image,
                  fmt::format("the image names kernel {:08x} as \"{}\", which is another", k[i].id, printable(name)));
    names.push_back({k[i].id, std::move(name)});
  }
  return names;
}

std::vector<std::string> dim_names(int rank, const uint8_t* perm) {
  static const std::vector<std::string> kImageDims = {"N", "C", "H", "W"}, kSequenceDims = {"N", "C", "L"}, kRowDims = {"N", "F"};
  bool identity = true;
  for (int d = 0; d < rank; d++) identity = identity && perm[d] == d;
  std::vector<std::string> names;
  for (int d = 0; d < rank; d++) {
    if (rank == 4 && !identity)
      names.push_back(kImageDims[perm[d]]);
    else if (rank == 3 && !identity)
      names.push_back(kSequenceDims[perm[d]]);
    else if (rank <= 2)
      names.push_back(kRowDims[perm[d]]);
    else
      names.push_back(d ? fmt::format("D{}", int(perm[d])) : "N");
  }
  return names;
}

std::string emit_header(std::span<const uint8_t> image) {
  const ImageHeader& h = header(image);
  const std::string name = identifier(image);
  std::string tensors, spaces;
  const ImageIo* io = image_at<ImageIo>(&h, h.io);
  for (int i = 0; i < h.inputs + h.outputs; i++) {
    const bool input = i < h.inputs;
    const std::string what = fmt::format("{}{}", input ? "input" : "output", input ? i : i - h.inputs);
    tensors += "//   " + describe(image, io[i], what) + "\n";
    spaces += io_namespace(io[i], what);
  }
  const uint32_t arena = std::max(h.memory_bytes[uint32_t(Memory::arena)], 16u);
  return fmt::format(fmt::runtime(kHeaderText), fmt::arg("name", name), fmt::arg("NAME", upper(name)),
                     fmt::arg("target", printable(image_target(image))), fmt::arg("tensors", tensors), fmt::arg("spaces", spaces),
                     fmt::arg("arena", arena), fmt::arg("image", h.image_bytes), fmt::arg("inputs", h.inputs),
                     fmt::arg("outputs", h.outputs));
}

std::string emit_source(std::span<const uint8_t> image) {
  const ImageHeader& h = header(image);
  const std::string name = identifier(image);
  std::string declarations, entries;
  for (const KernelName& k : image_kernels(image)) {
    declarations += fmt::format("void {0}(const corten::KernelArgs*);\nbool {0}_check(const corten::CheckArgs*);\n", k.name);
    entries += fmt::format("    {{0x{:08x}, {}, {}_check}},\n", k.id, k.name, k.name);
  }
  if (entries.empty()) entries = "    {0, nullptr, nullptr},\n";
  std::string s = fmt::format(fmt::runtime(kSourceText), fmt::arg("name", name), fmt::arg("NAME", upper(name)),
                              fmt::arg("target", printable(image_target(image))), fmt::arg("declarations", declarations),
                              fmt::arg("entries", entries), fmt::arg("kernels", h.kernels));
  const uint32_t* word = image_at<uint32_t>(&h, 0);
  for (uint32_t i = 0; i < h.image_bytes / 4; i++) s += fmt::format("{:#x},{}", word[i], i % 12 == 11 ? '\n' : ' ');
  return s + "\n};\n";
}

}  // namespace corten
