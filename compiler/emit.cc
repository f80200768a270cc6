// The program image: tables first, constants last, identical constants once. runtime/program.h is the format.
#include "compiler/emit.h"

#include <string.h>

#include <bit>
#include <map>

#include "runtime/crc32.h"
#include "runtime/program.h"

namespace corten {
namespace {

static_assert(std::endian::native == std::endian::little, "the image is written as the host's structs");

uint32_t aligned(size_t offset, uint32_t align) { return uint32_t((offset + align - 1) / align * align); }

void require(bool holds, const std::string& what) {
  if (!holds) throw Error(Code::too_large, "the program image cannot hold " + what);
}

// Zero-terminated names, each once.
class Strings {
 public:
  uint32_t add(const std::string& text) {
    auto [it, fresh] = offset_.try_emplace(text, uint32_t(bytes_.size()));
    if (fresh) bytes_.insert(bytes_.end(), text.c_str(), text.c_str() + text.size() + 1);
    return it->second;
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::map<std::string, uint32_t> offset_;
  std::vector<uint8_t> bytes_;
};

class ImageWriter {
 public:
  explicit ImageWriter(const Planned& plan) : p_(plan) {}
  std::vector<uint8_t> write();

 private:
  template <class T>
  uint32_t append(const std::vector<T>& table, uint32_t align) {
    const uint32_t offset = aligned(bytes_.size(), align);
    bytes_.resize(offset + table.size() * sizeof(T));
    if (!table.empty()) memcpy(bytes_.data() + offset, table.data(), table.size() * sizeof(T));
    return offset;
  }
  uint32_t constant(const std::vector<uint8_t>& data) {
    auto it = constants_.find(data);
    if (it == constants_.end()) it = constants_.emplace(data, append(data, 16)).first;
    return it->second;
  }
  uint32_t where(const Place& place) {
    if (place.constant) return corten::place(Memory::image, constant(p_.constants.at(place.offset)));
    require(place.offset < kMaxBytes, "an arena of 256 MiB or more");
    return corten::place(Memory::arena, place.offset);
  }
  uint16_t kernel(std::string_view name);
  ImageIo io(const PlannedIo&);
  ImageStep step(const PlannedStep&);
  void place_step(ImageStep&, const PlannedStep&);

  const Planned& p_;
  Strings strings_;
  std::vector<uint8_t> bytes_;
  std::vector<ImageKernel> kernels_;
  std::vector<std::string> kernel_names_;
  std::map<std::vector<uint8_t>, uint32_t> constants_;
};

uint16_t ImageWriter::kernel(std::string_view name) {
  for (size_t i = 0; i < kernel_names_.size(); i++)
    if (kernel_names_[i] == name) return uint16_t(i);
  kernel_names_.emplace_back(name);
  kernels_.push_back({kernel_id(kernel_names_.back().c_str()), strings_.add(kernel_names_.back())});
  return uint16_t(kernels_.size() - 1);
}

ImageIo ImageWriter::io(const PlannedIo& planned) {
  require(planned.shape.size() <= kMaxRank, "a tensor of rank " + std::to_string(planned.shape.size()) + " (" + planned.name + ")");
  require(planned.dtype == DType::i8 || planned.dtype == DType::f32, "an input or output that is neither int8 nor float32");
  ImageIo r = {};
  r.scale = planned.scale, r.scale32 = float(planned.scale), r.zero = planned.zero;
  r.bytes = planned.place.bytes;
  r.name = strings_.add(planned.name);
  r.type = uint8_t(planned.dtype == DType::f32 ? IoType::f32 : IoType::i8);
  r.rank = uint8_t(planned.shape.size());
  for (size_t d = 0; d < planned.shape.size(); d++) {
    r.shape[d] = uint32_t(planned.shape[d]);
    r.perm[d] = uint8_t(planned.perm.empty() ? int(d) : planned.perm.at(d));
  }
  return r;
}

// All of a step but where its operands, params and constants lie.
ImageStep ImageWriter::step(const PlannedStep& planned) {
  const size_t operands = planned.operands.size();
  require(operands <= kMaxOperands,
          std::to_string(operands) + " operands of one step (" + planned.node + "); the limit is " + std::to_string(kMaxOperands));
  ImageStep s = {};
  s.kernel = kernel(planned.lowered.kernel);
  s.inputs = uint8_t(operands - planned.outputs), s.outputs = uint8_t(planned.outputs);
  s.params_bytes = uint32_t(planned.lowered.params.size());
  s.scratch_bytes = planned.lowered.scratch_bytes;
  s.scratch = s.scratch_bytes ? corten::place(Memory::arena, planned.scratch_offset) : 0;
  s.node = strings_.add(planned.node);
  return s;
}

// Stores its constants and writes where they are into its operands and params, which have their space already.
void ImageWriter::place_step(ImageStep& s, const PlannedStep& planned) {
  for (size_t k = 0; k < planned.operands.size(); k++) {
    const uint32_t place = where(planned.operands[k]), size = planned.operands[k].bytes;
    memcpy(bytes_.data() + s.operands + 4 * k, &place, 4);
    memcpy(bytes_.data() + s.operands + 4 * (planned.operands.size() + k), &size, 4);
  }
  for (const Blob& blob : planned.lowered.blobs) {
    require(blob.offset_field + 4 <= s.params_bytes, "an offset outside the params of " + planned.node);
    const uint32_t offset = constant(blob.bytes);
    memcpy(bytes_.data() + s.params + blob.offset_field, &offset, sizeof offset);
  }
}

std::vector<uint8_t> ImageWriter::write() {
  ImageHeader h = {};
  h.magic = kImageMagic, h.version = kImageVersion, h.tier = uint8_t(p_.tier);
  h.memory_bytes[uint32_t(Memory::arena)] = p_.arena_bytes;
  h.name = strings_.add(p_.name), h.target = strings_.add(p_.target);
  std::vector<ImageIo> ios;
  for (const PlannedIo& i : p_.inputs) ios.push_back(io(i));
  for (const PlannedIo& o : p_.outputs) ios.push_back(io(o));
  std::vector<ImageStep> steps;
  std::vector<const PlannedStep*> planned;
  for (const PlannedStep& s : p_.steps) {
    if (s.lowered.kernel.empty()) continue;  // its output is its input's bytes: the plan has placed them so
    steps.push_back(step(s)), planned.push_back(&s);
  }
  require(ios.size() <= UINT16_MAX && steps.size() <= UINT16_MAX, "more than 65535 steps, inputs or outputs");
  h.inputs = uint16_t(p_.inputs.size()), h.outputs = uint16_t(p_.outputs.size());
  h.steps = uint16_t(steps.size()), h.kernels = uint16_t(kernels_.size());

  bytes_.resize(sizeof h);
  h.io = append(ios, 8);
  h.kernel_table = append(kernels_, 4);
  h.step_table = append(steps, 4);
  h.state_table = uint32_t(bytes_.size());
  for (size_t i = 0; i < steps.size(); i++) {
    steps[i].operands = append(std::vector<uint32_t>(2 * planned[i]->operands.size()), 4);
    steps[i].params = append(planned[i]->lowered.params, 4);
    bytes_.resize(aligned(bytes_.size(), 4));
  }
  h.strings = append(strings_.bytes(), 1), h.strings_bytes = uint32_t(strings_.bytes().size());
  for (size_t i = 0; i < steps.size(); i++) place_step(steps[i], *planned[i]);
  for (size_t i = 0; i < ios.size(); i++)
    ios[i].where = where(i < p_.inputs.size() ? p_.inputs[i].place : p_.outputs[i - p_.inputs.size()].place);
  bytes_.resize(aligned(bytes_.size(), 16));
  require(bytes_.size() < kMaxBytes, "256 MiB or more");

  if (!ios.empty()) memcpy(bytes_.data() + h.io, ios.data(), ios.size() * sizeof(ImageIo));
  if (!steps.empty()) memcpy(bytes_.data() + h.step_table, steps.data(), steps.size() * sizeof(ImageStep));
  h.image_bytes = uint32_t(bytes_.size());
  memcpy(bytes_.data(), &h, sizeof h);
  seal_image(bytes_);
  return std::move(bytes_);
}

}  // namespace

void seal_image(std::vector<uint8_t>& image) {
  constexpr uint32_t kCrc = offsetof(ImageHeader, crc), kAfter = kCrc + 4;
  const uint32_t before = crc32(~0u, image.data(), kCrc);
  const uint32_t crc = ~crc32(before, image.data() + kAfter, uint32_t(image.size()) - kAfter);
  memcpy(image.data() + kCrc, &crc, sizeof crc);
}

std::vector<uint8_t> emit_image(const Planned& plan) { return ImageWriter(plan).write(); }

}  // namespace corten
