#include "compiler/trace_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "compiler/files.h"
#include "compiler/npz.h"
#include "runtime/program.h"
#include "runtime/trace.h"

namespace corten {

namespace {

using Json = nlohmann::ordered_json;

// ---- lines ---------------------------------------------------------------------------------------------------------------

struct Line {
  uint32_t image = 0, inference = 0, tensor = 0, offset = 0, bytes = 0;
  std::string payload;
};

// Reads a line's fields from the front of `text`; each says whether it was there, whole.
struct Fields {
  std::string_view text;
  size_t at = 0;

  bool hex(uint32_t& value, int digits) {
    value = 0;
    for (int i = 0; i < digits; i++, at++) {
      static constexpr std::string_view kHex = "0123456789abcdef";
      const size_t digit = at < text.size() ? kHex.find(text[at]) : std::string_view::npos;
      if (digit == std::string_view::npos) return false;
      value = value << 4 | uint32_t(digit);
    }
    return true;
  }
  bool space() { return at < text.size() && text[at++] == ' '; }
  bool base64(std::string& data, size_t bytes) {
    static constexpr std::string_view kDigits = kTraceDigits;
    while (data.size() < bytes) {
      if (at + 4 > text.size()) return false;
      uint32_t value = 0;
      const size_t left = std::min<size_t>(3, bytes - data.size());
      for (size_t i = 0; i < 4; i++) {
        const size_t digit = i <= left ? kDigits.find(text[at + i]) : text[at + i] == '=' ? 0 : std::string_view::npos;
        if (digit == std::string_view::npos) return false;
        value = value << 6 | uint32_t(digit);
      }
      for (size_t i = 0; i < left; i++) data.push_back(char(value >> (16 - 8 * i)));
      at += 4;
    }
    return true;
  }
};

// What follows a mark. `length` is how much of it the line is, if it is whole.
bool read_line(std::string_view text, Line& line, size_t& length) {
  Fields f{text};
  if (!f.hex(line.image, 8) || !f.space() || !f.hex(line.inference, 8) || !f.space() || !f.hex(line.tensor, 4) || !f.space() ||
      !f.hex(line.offset, 8) || !f.space() || !f.hex(line.bytes, 8) || !f.space())
    return false;
  if (line.offset >= line.bytes || line.offset % kTraceBytes) return false;
  if (!f.base64(line.payload, std::min(kTraceBytes, line.bytes - line.offset))) return false;
  const size_t checked = f.at;
  uint32_t crc = 0;
  if (!f.space() || !f.hex(crc, 8)) return false;
  length = f.at;
  return crc == ~crc32(~0u, reinterpret_cast<const uint8_t*>(text.data()), uint32_t(checked));
}

// ---- tensors -------------------------------------------------------------------------------------------------------------

uint32_t image_crc(const Program& p) { return image_at<ImageHeader>(p.image().data(), 0)->crc; }

// Bytes of a tensor by its number in a line; 0 if the image has none of that number.
uint32_t bytes_of(const Program& p, uint32_t tensor) {
  if (tensor >= kTraceOutput) return tensor - kTraceOutput < p.outputs().size() ? p.outputs()[tensor - kTraceOutput].bytes : 0;
  return tensor < p.steps().size() ? p.steps()[tensor].operands.back().bytes : 0;
}

std::string name_of(const Program& p, uint32_t tensor) {
  return tensor >= kTraceOutput ? fmt::format("output {}", tensor - kTraceOutput)
                                : fmt::format("step {} ({})", tensor, p.steps()[tensor].node);
}

using Parts = std::map<uint32_t, std::string>;                  // of a tensor, by offset
using Parted = std::map<std::pair<uint32_t, uint32_t>, Parts>;  // by inference and tensor

std::vector<uint8_t> joined(const Parts& parts, uint32_t bytes, uint64_t& missing) {
  std::vector<uint8_t> all;
  for (const auto& [offset, payload] : parts) all.insert(all.end(), payload.begin(), payload.end());
  missing = bytes - all.size();  // each part is inside the tensor, and none overlap
  if (missing) all.clear();
  return all;
}

void collect(BoardDump& dump, const Program& program, const Parted& parted) {
  for (const auto& [key, parts] : parted) {
    const auto& [inference, tensor] = key;
    if (std::count(dump.contradictory.begin(), dump.contradictory.end(), inference)) continue;
    if (dump.inferences.empty() || dump.inferences.back().number != inference) {
      dump.inferences.push_back({inference, {}});
      dump.inferences.back().values.steps.resize(program.steps().size());
      dump.inferences.back().values.outputs.resize(program.outputs().size());
    }
    uint64_t missing = 0;
    std::vector<uint8_t> whole = joined(parts, bytes_of(program, tensor), missing);
    if (missing) dump.incomplete.push_back({inference, name_of(program, tensor), missing, bytes_of(program, tensor)});
    Traced& values = dump.inferences.back().values;
    (tensor >= kTraceOutput ? values.outputs[tensor - kTraceOutput] : values.steps[tensor]) = std::move(whole);
  }
  std::erase_if(dump.inferences, [](const TracedInference& i) {
    const auto empty = [](const auto& v) { return v.empty(); };
    return std::all_of(i.values.steps.begin(), i.values.steps.end(), empty) &&
           std::all_of(i.values.outputs.begin(), i.values.outputs.end(), empty);
  });
}

[[noreturn]] void refuse(const BoardDump& dump, int64_t first_bad_line) {
  Diag d(Code::board_log);
  d.subject = dump.source;
  d.help = "trace with runtime/trace.h, and give the log as it came from the board";
  if (!dump.contradictory.empty()) {
    d.message =
        fmt::format("inference {} was sent twice with different values: the board was reset in between", dump.contradictory[0]);
    d.help = "cut the log at the reset";
  } else if (dump.used) {
    d.message = fmt::format("no tensor is whole: {} lines are right, {} are damaged", dump.used, dump.bad);
    d.help = "a slower or a wired connection loses fewer characters";
  } else if (dump.other_image) {
    d.message = fmt::format("all {} lines of values are of another image", dump.other_image);
    d.help = "give the model.corten that runs on the board";
  } else if (dump.bad) {
    d.message = fmt::format("all {} lines of values are damaged, the first in line {}", dump.bad, first_bad_line);
  } else {
    d.message = "the log has no line of values";
  }
  throw Error(d);
}

}  // namespace

BoardDump decode_trace(std::string_view log, const Program& program, const std::string& source) {
  BoardDump dump;
  dump.source = source;
  Parted parted;
  std::set<uint32_t> contradictory;
  size_t first_bad = std::string_view::npos;
  for (size_t at = log.find(kTraceMark); at != std::string_view::npos; at = log.find(kTraceMark, at)) {
    const size_t mark = at;
    at += kTraceMarkChars;
    Line line;
    size_t length = 0;
    if (!read_line(log.substr(at), line, length)) {  // another may begin inside
      dump.bad++, first_bad = std::min(first_bad, mark);
      continue;
    }
    at += length;
    if (line.image != image_crc(program)) {
      dump.other_image++;
    } else if (bytes_of(program, line.tensor) != line.bytes) {
      dump.bad++, first_bad = std::min(first_bad, mark);
    } else {
      const auto [part, is_new] = parted[{line.inference, line.tensor}].emplace(line.offset, line.payload);
      is_new ? dump.used++ : dump.repeated++;
      if (part->second != line.payload) contradictory.insert(line.inference);
    }
  }
  dump.contradictory.assign(contradictory.begin(), contradictory.end());
  collect(dump, program, parted);
  if (dump.inferences.empty())
    refuse(dump,
           first_bad == std::string_view::npos ? 0 : 1 + std::count(log.begin(), log.begin() + std::ptrdiff_t(first_bad), '\n'));
  return dump;
}

// ---- files ---------------------------------------------------------------------------------------------------------------

namespace {

NpArray numbers(std::string name, const std::vector<int64_t>& values) {
  NpArray a;
  a.name = std::move(name), a.dtype = DType::i64, a.shape = {int64_t(values.size())};
  a.bytes.resize(values.size() * sizeof(int64_t));
  if (!values.empty()) std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}

// One tensor of all inferences that have it whole.
void add_arrays(std::vector<NpArray>& arrays, const BoardDump& dump, const std::string& name, NpArray empty,
                const std::function<std::vector<uint8_t>(const Traced&)>& values) {
  std::vector<int64_t> inferences;
  NpArray a = std::move(empty);
  a.name = name;
  for (const TracedInference& i : dump.inferences) {
    const std::vector<uint8_t> bytes = values(i.values);
    if (bytes.empty()) continue;
    a.bytes.insert(a.bytes.end(), bytes.begin(), bytes.end());
    inferences.push_back(i.number);
  }
  if (inferences.empty()) return;
  a.shape.insert(a.shape.begin(), int64_t(inferences.size()));
  arrays.push_back(std::move(a));
  arrays.push_back(numbers(name + ".inference", inferences));
}

std::vector<uint8_t> device_order(const IoInfo& io, const uint8_t* torch) {
  const std::vector<uint32_t> index = torch_index(io);
  const size_t size = io.dtype == DType::f32 ? 4 : 1;
  std::vector<uint8_t> bytes(io.bytes);
  for (size_t i = 0; i < index.size(); i++) std::memcpy(bytes.data() + i * size, torch + index[i] * size, size);
  return bytes;
}

Shape without_batch(const IoInfo& io) {
  return !io.shape.empty() && io.shape[0] == 1 ? Shape(io.shape.begin() + 1, io.shape.end()) : io.shape;
}

BoardDump dump_of_arrays(const std::string& path, const Program& program) {
  std::map<std::string, NpArray> arrays;
  for (NpArray& a : read_arrays(path)) arrays[a.name] = std::move(a);
  const auto fail = [&](const std::string& message) {
    Diag d(Code::board_log);
    d.subject = path, d.message = message, d.help = "`corten decode LOG --image model.corten -o FILE.npz` writes such files";
    throw Error(d);
  };
  const auto image = arrays.find("image");
  if (image == arrays.end()) fail("is no dump of a board: it has no array 'image'");
  if (image->second.integers() != std::vector<int64_t>{image_crc(program)}) fail("is of another image");
  std::map<int64_t, Traced> by_number;
  const auto read = [&](const std::string& name, size_t bytes, const auto& store) {
    const auto a = arrays.find(name), inferences = arrays.find(name + ".inference");
    if (a == arrays.end() || inferences == arrays.end()) return;
    const std::vector<int64_t> numbers_of = inferences->second.integers();
    if (a->second.bytes.size() != numbers_of.size() * bytes) fail("array '" + name + "' has another size than in this image");
    for (size_t i = 0; i < numbers_of.size(); i++) {
      Traced& t = by_number[numbers_of[i]];
      t.steps.resize(program.steps().size()), t.outputs.resize(program.outputs().size());
      store(t, a->second.bytes.data() + i * bytes);
    }
  };
  for (size_t k = 0; k < program.outputs().size(); k++) {
    const IoInfo& io = program.outputs()[k];
    read(fmt::format("out{}", k), io.bytes, [&](Traced& t, const uint8_t* data) { t.outputs[k] = device_order(io, data); });
  }
  for (size_t k = 0; k < program.steps().size(); k++) {
    const uint32_t bytes = bytes_of(program, uint32_t(k));
    read(fmt::format("step{}", k), bytes, [&](Traced& t, const uint8_t* data) { t.steps[k].assign(data, data + bytes); });
  }
  BoardDump dump;
  dump.source = path;
  for (auto& [number, values] : by_number) dump.inferences.push_back({number, std::move(values)});
  if (dump.inferences.empty()) fail("holds no values");
  return dump;
}

}  // namespace

std::vector<NpArray> dump_arrays(const BoardDump& dump, const Program& program) {
  std::vector<NpArray> arrays = {numbers("image", {image_crc(program)})};
  for (size_t k = 0; k < program.outputs().size(); k++) {
    const IoInfo& io = program.outputs()[k];
    NpArray a;
    a.dtype = io.dtype, a.shape = without_batch(io);
    add_arrays(arrays, dump, fmt::format("out{}", k), a,
               [&](const Traced& t) { return t.outputs[k].empty() ? std::vector<uint8_t>{} : to_torch_order(io, t.outputs[k]); });
  }
  for (size_t k = 0; k < program.steps().size(); k++) {
    NpArray a;
    a.dtype = DType::i8, a.shape = {int64_t(bytes_of(program, uint32_t(k)))};
    add_arrays(arrays, dump, fmt::format("step{}", k), a, [&](const Traced& t) { return t.steps[k]; });
  }
  return arrays;
}

BoardDump read_dump(const std::string& path, const Program& program) {
  const std::vector<uint8_t> bytes = read_file(path);
  if (bytes.size() > 1 && bytes[0] == 'P' && bytes[1] == 'K') return dump_of_arrays(path, program);
  return decode_trace({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, program, path);
}

Json to_json(const BoardDump& d, const Program& program) {
  Json j = {{"source", d.source},
            {"lines", d.used},
            {"repeated_lines", d.repeated},
            {"bad_lines", d.bad},
            {"other_image_lines", d.other_image}};
  j["contradictory_inferences"] = d.contradictory;
  j["inferences"] = Json::array();
  for (const TracedInference& i : d.inferences) {
    const auto whole = [](const auto& all) {
      return std::count_if(all.begin(), all.end(), [](const auto& v) { return !v.empty(); });
    };
    j["inferences"].push_back(
        {{"inference", i.number}, {"whole_steps", whole(i.values.steps)}, {"whole_outputs", whole(i.values.outputs)}});
  }
  j["steps"] = program.steps().size(), j["outputs"] = program.outputs().size();
  j["incomplete"] = Json::array();
  for (const IncompleteTensor& t : d.incomplete)
    j["incomplete"].push_back({{"inference", t.inference}, {"tensor", t.tensor}, {"missing_bytes", t.missing}, {"bytes", t.bytes}});
  return j;
}

}  // namespace corten
