#include "compiler/npz.h"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include "compiler/files.h"
#include "compiler/interrupt.h"
#include "compiler/zip.h"
#include "ir/diag.h"

namespace corten {

namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicSize = 6;
constexpr char kDtypeHelp[] = "save it as float32: np.save(path, array.astype(np.float32))";

// ---- reading ------------------------------------------------------------------------------------------------------------

struct Header {
  std::string descr;  // "<f4"
  bool fortran = false;
  Shape shape;
  size_t data = 0;  // where the data begins
};

// One array out of the bytes of a .npy.
class NpyReader {
 public:
  NpyReader(const std::vector<uint8_t>& bytes, std::string path, std::string name)
      : bytes_(bytes), path_(std::move(path)), name_(std::move(name)) {}

  NpArray read() {
    const Header h = header();
    NpArray a;
    a.name = name_;
    a.shape = h.shape;
    if (h.descr.size() < 3 || std::string_view("<>|=").find(h.descr[0]) == std::string_view::npos) unsupported(h.descr);
    const char kind = h.descr[1];
    const std::string size_text = h.descr.substr(2);
    int size = 0;
    std::from_chars(size_text.data(), size_text.data() + size_text.size(), size);
    const auto dtype = dtype_of(kind, size);
    if (!dtype || size_text != std::to_string(size)) unsupported(h.descr);
    a.dtype = *dtype;
    int64_t count = 1, total = 0;
    for (int64_t d : h.shape)
      if (d < 0 || __builtin_mul_overflow(count, d, &count)) fail(Code::unreadable_data, "has the shape " + to_text(h.shape));
    if (__builtin_mul_overflow(count, int64_t(size), &total)) fail(Code::unreadable_data, "has the shape " + to_text(h.shape));
    const int64_t held = int64_t(bytes_.size() - h.data);
    if (held < total)
      fail(Code::unreadable_data,
           fmt::format("is cut short: {} of {} bytes of {}{} are there", held, total, h.descr, to_text(h.shape)));
    if (held > total)
      fail(Code::unreadable_data, fmt::format("has {} bytes more than {}{} takes", held - total, h.descr, to_text(h.shape)));
    convert(a, bytes_.data() + h.data, count, kind, size, h.descr[0] == '>');
    if (h.fortran && h.shape.size() > 1) reorder(a);
    return a;
  }

 private:
  [[noreturn]] void fail(Code code, std::string message, std::string help = {}) const {
    fail_file(path_, code, name_.empty() ? "the array " + message : "array '" + name_ + "' " + message, std::move(help));
  }

  [[noreturn]] void unsupported(const std::string& descr) const {
    const char kind = descr.size() > 1 ? descr[1] : descr.empty() ? '?' : descr[0];
    std::string what = "'" + descr + "'";
    if (kind == 'O') what = "object";
    if (kind == 'c') what = "complex";
    if (kind == 'U' || kind == 'S') what = "text";
    fail(Code::wrong_dtype, "has the dtype " + what + ", which is not supported", kDtypeHelp);
  }

  static std::optional<DType> dtype_of(char kind, int size) {
    switch (kind) {
      case 'b':
        if (size == 1) return DType::b8;
        break;
      case 'i':
        if (size == 1) return DType::i8;
        if (size == 2) return DType::i16;
        if (size == 4) return DType::i32;
        if (size == 8) return DType::i64;
        break;
      case 'u':
        if (size == 1) return DType::u8;
        if (size == 2) return DType::i32;
        if (size == 4 || size == 8) return DType::i64;
        break;
      case 'f':
        if (size == 2 || size == 4) return DType::f32;
        if (size == 8) return DType::f64;
        break;
    }
    return std::nullopt;
  }

  Header header() const {
    if (bytes_.size() < 10 || memcmp(bytes_.data(), kMagic, kMagicSize) != 0)
      fail(Code::unreadable_data, "is not in NumPy's format");
    const int major = bytes_[6];
    if (major < 1 || major > 3)
      fail(Code::unreadable_data, fmt::format("is of .npy version {}.{}; 1 to 3 can be read", major, bytes_[7]));
    const size_t prefix = major == 1 ? 10 : 12;
    if (bytes_.size() < prefix) fail(Code::unreadable_data, "is cut short");
    size_t length = 0;
    for (size_t i = 8; i < prefix; i++) length |= size_t(bytes_[i]) << (8 * (i - 8));
    if (length > bytes_.size() - prefix) fail(Code::unreadable_data, "is cut short within its header");
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + prefix, length);
    Header h;
    h.data = prefix + length;
    const std::string_view descr = field(text, "descr");
    if (descr.empty()) fail(Code::unreadable_data, "has a damaged header");
    if (descr[0] == '[' || descr[0] == '(') fail(Code::wrong_dtype, "is a structured array, which is not supported", kDtypeHelp);
    if (descr[0] != '\'' && descr[0] != '"') fail(Code::unreadable_data, "has a damaged header");
    h.descr = std::string(descr.substr(1, descr.find(descr[0], 1) - 1));
    h.fortran = field(text, "fortran_order").starts_with("True");
    h.shape = shape(field(text, "shape"));
    return h;
  }

  // What follows 'key': in the header's Python dict.
  static std::string_view field(std::string_view text, std::string_view key) {
    for (char quote : {'\'', '"'}) {
      const std::string name = quote + std::string(key) + quote;
      size_t at = text.find(name);
      if (at == std::string_view::npos) continue;
      at = text.find_first_not_of(" \t", at + name.size());
      if (at == std::string_view::npos || text[at] != ':') continue;
      at = text.find_first_not_of(" \t", at + 1);
      if (at != std::string_view::npos) return text.substr(at);
    }
    return {};
  }

  // "(2, 3)", "(5,)", "()"
  Shape shape(std::string_view text) const {
    const size_t end = text.find(')');
    if (text.empty() || text[0] != '(' || end == std::string_view::npos) fail(Code::unreadable_data, "has a damaged header");
    text = text.substr(1, end - 1);
    Shape s;
    while (!text.empty()) {
      const size_t comma = std::min(text.find(','), text.size());
      std::string_view number = text.substr(0, comma);
      text.remove_prefix(std::min(text.size(), comma + 1));
      number.remove_prefix(std::min(number.find_first_not_of(' '), number.size()));
      while (number.ends_with(' ') || number.ends_with('L')) number.remove_suffix(1);
      if (number.empty()) continue;
      int64_t value = 0;
      const auto [rest, error] = std::from_chars(number.data(), number.data() + number.size(), value);
      if (error != std::errc() || rest != number.data() + number.size()) fail(Code::unreadable_data, "has a damaged header");
      s.push_back(value);
    }
    return s;
  }

  // Native byte order; the types that DType lacks, widened.
  void convert(NpArray& a, const uint8_t* from, int64_t count, char kind, int size, bool big) const {
    const int out_size = size_of(a.dtype);
    a.bytes.resize(size_t(count) * size_t(out_size));
    uint8_t* to = a.bytes.data();
    if (!big && out_size == size && kind != 'u' && kind != 'b') {
      if (count) memcpy(to, from, a.bytes.size());
      return;
    }
    for (int64_t i = 0; i < count; i++, from += size, to += out_size) {
      uint64_t bits = 0;
      for (int b = 0; b < size; b++) bits |= uint64_t(from[big ? size - 1 - b : b]) << (8 * b);
      if (kind == 'f' && size == 2) {
        const float f = half(uint16_t(bits));
        memcpy(to, &f, 4);
        continue;
      }
      if (kind == 'b') bits = bits != 0;
      if (kind == 'u' && bits > uint64_t(INT64_MAX)) fail(Code::unreadable_data, "holds an integer beyond 64 bits");
      memcpy(to, &bits, size_t(out_size));
    }
  }

  static float half(uint16_t h) {
    const int exponent = (h >> 10) & 31, mantissa = h & 1023;
    const float sign = h & 0x8000 ? -1.0f : 1.0f;
    if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
    return sign * (exponent ? std::ldexp(float(1024 + mantissa), exponent - 25) : std::ldexp(float(mantissa), -24));
  }

  // Fortran order is row-major of the reversed shape.
  static void reorder(NpArray& a) {
    Tensor t;
    t.dtype = a.dtype;
    t.shape.assign(a.shape.rbegin(), a.shape.rend());
    t.bytes = std::move(a.bytes);
    std::vector<int> perm(a.shape.size());
    for (size_t i = 0; i < perm.size(); i++) perm[i] = int(perm.size() - 1 - i);
    a.bytes = std::move(transposed(t, perm)->bytes);
  }

  const std::vector<uint8_t>& bytes_;
  std::string path_, name_;
};

template <class T>
std::vector<T> converted(const NpArray& a) {
  std::vector<T> out;
  auto copy = [&]<class From>(From) {
    const auto* from = reinterpret_cast<const From*>(a.bytes.data());
    out.resize(a.bytes.size() / sizeof(From));
    for (size_t i = 0; i < out.size(); i++) out[i] = T(from[i]);
  };
  switch (a.dtype) {
    case DType::f32:
      copy(float());
      break;
    case DType::f64:
      copy(double());
      break;
    case DType::i8:
      copy(int8_t());
      break;
    case DType::i16:
      copy(int16_t());
      break;
    case DType::i32:
      copy(int32_t());
      break;
    case DType::i64:
      copy(int64_t());
      break;
    case DType::u8:
    case DType::b8:
      copy(uint8_t());
      break;
    case DType::f16:
    case DType::bf16:
      throw std::logic_error("NpArray holds no 16-bit floats");
  }
  return out;
}

template <class T>
NpArray make_array(std::string name, Shape shape, DType dtype, const std::vector<T>& v) {
  if (elements(shape) != int64_t(v.size())) throw std::logic_error("np_array: the data does not fill " + to_text(shape));
  NpArray a;
  a.name = std::move(name), a.shape = std::move(shape), a.dtype = dtype;
  a.bytes.resize(v.size() * sizeof(T));
  if (!v.empty()) memcpy(a.bytes.data(), v.data(), a.bytes.size());
  return a;
}

// ---- writing ------------------------------------------------------------------------------------------------------------

const char* descr_of(DType t) {
  switch (t) {
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::i8:
      return "|i1";
    case DType::i16:
      return "<i2";
    case DType::i32:
      return "<i4";
    case DType::i64:
      return "<i8";
    case DType::u8:
      return "|u1";
    case DType::b8:
      return "|b1";
    case DType::f16:
    case DType::bf16:
      break;
  }
  throw std::logic_error("write_arrays: no 16-bit floats");
}

std::vector<uint8_t> npy_bytes(const NpArray& a) {
  std::string shape;
  for (int64_t d : a.shape) shape += std::to_string(d) + ", ";
  if (a.shape.size() > 1) shape.resize(shape.size() - 2);
  if (a.shape.size() == 1) shape.resize(shape.size() - 1);  // "(5,)"
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(a.dtype), shape);
  const size_t prefix = 10;
  while ((prefix + header.size() + 1) % 64) header += ' ';
  header += '\n';
  std::vector<uint8_t> out(kMagic, kMagic + kMagicSize);
  out.insert(out.end(), {1, 0, uint8_t(header.size()), uint8_t(header.size() >> 8)});
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), a.bytes.begin(), a.bytes.end());
  return out;
}

// A name beside `path` that takes its place when done, and is gone if not.
class Replacement {
 public:
  explicit Replacement(const std::string& path)
      : path_(path), temporary_(fmt::format("{}.{}.part", path, getpid())), unfinished_(temporary_) {
    check_replaceable(path);
  }
  ~Replacement() {
    std::error_code ignored;
    if (!done_) std::filesystem::remove(temporary_, ignored);
  }
  const std::string& temporary() const { return temporary_; }
  void done() {
    std::error_code error;
    std::filesystem::rename(temporary_, path_, error);
    if (error) fail_file(path_, Code::cannot_write, "cannot write the file: " + error.message());
    done_ = true;
  }

 private:
  std::string path_, temporary_;
  Unfinished unfinished_;
  bool done_ = false;
};

void write_zip(const std::string& path, const std::string& temporary, const std::vector<NpArray>& arrays) {
  int code = 0;
  zip_t* zip = zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!zip) fail_file(path, Code::cannot_write, fmt::format("cannot write the file: {}", strerror(errno)));
  std::vector<std::vector<uint8_t>> contents;  // libzip reads them when it closes
  contents.reserve(arrays.size());
  bool good = true;
  for (const NpArray& a : arrays) {
    contents.push_back(npy_bytes(a));
    zip_source_t* source = zip_source_buffer(zip, contents.back().data(), contents.back().size(), 0);
    const zip_int64_t index = source ? zip_file_add(zip, (a.name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
      if (source) zip_source_free(source);
      good = false;
      break;
    }
    good = good && zip_set_file_compression(zip, zip_uint64_t(index), ZIP_CM_STORE, 0) == 0;
    good = good && zip_file_set_dostime(zip, zip_uint64_t(index), 0, 0x21, 0) == 0;  // 1980: the same bytes every time
  }
  good = good && zip_close(zip) == 0;
  if (good) return;
  const std::string why = zip_strerror(zip);
  zip_discard(zip);
  fail_file(path, Code::cannot_write, "cannot write the file: " + why);
}

}  // namespace

std::vector<float> NpArray::floats() const { return converted<float>(*this); }
std::vector<int64_t> NpArray::integers() const { return converted<int64_t>(*this); }

NpArray np_array(std::string name, Shape shape, const std::vector<float>& v) {
  return make_array(std::move(name), std::move(shape), DType::f32, v);
}
NpArray np_array(std::string name, Shape shape, const std::vector<int8_t>& v) {
  return make_array(std::move(name), std::move(shape), DType::i8, v);
}
NpArray np_array(std::string name, Shape shape, const std::vector<int32_t>& v) {
  return make_array(std::move(name), std::move(shape), DType::i32, v);
}

std::vector<NpArray> read_arrays(const std::string& path) {
  if (!Zip::is_zip(path)) return {NpyReader(read_file(path), path, "").read()};
  const Zip zip(path);
  std::vector<NpArray> arrays;
  for (const std::string& entry : zip.names()) {
    if (!entry.ends_with(".npy")) continue;
    arrays.push_back(NpyReader(zip.read(entry), path, entry.substr(0, entry.size() - 4)).read());
  }
  if (arrays.empty()) fail_file(path, Code::unreadable_data, "the archive holds no arrays (.npy)");
  return arrays;
}

void write_arrays(const std::string& path, const std::vector<NpArray>& arrays) {
  Replacement file(path);
  if (path.ends_with(".npy")) {
    if (arrays.size() != 1)
      fail_file(path, Code::cannot_write, fmt::format("a .npy holds one array, not {}", arrays.size()), "write a .npz");
    const auto bytes = npy_bytes(arrays[0]);
    std::ofstream out(file.temporary(), std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
    out.close();
    if (!out) fail_file(path, Code::cannot_write, fmt::format("cannot write the file: {}", strerror(errno)));
  } else {
    write_zip(path, file.temporary(), arrays);
  }
  file.done();
}

}  // namespace corten
