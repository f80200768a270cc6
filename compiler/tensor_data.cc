// Tensors as the archive stores them: types, sizes, strides, raw bytes.
#include <fmt/format.h>
#include <string.h>

#include <cmath>

#include "compiler/archive.h"
#include "ir/diag.h"

namespace corten {

namespace {

constexpr int64_t kMaxElements = int64_t{1} << 28;  // of one tensor: far more than any core has flash for
constexpr size_t kMaxRank = 16;

struct ScalarType {
  const char* name;
  std::optional<DType> dtype;
};

// torch/_export/serde/schema.py, ScalarType
ScalarType scalar_type(int64_t t) {
  switch (t) {
    case 1:
      return {"uint8", DType::u8};
    case 2:
      return {"int8", DType::i8};
    case 3:
      return {"int16", DType::i16};
    case 4:
      return {"int32", DType::i32};
    case 5:
      return {"int64", DType::i64};
    case 6:
      return {"float16", DType::f16};
    case 7:
      return {"float32", DType::f32};
    case 8:
      return {"float64", DType::f64};
    case 9:
      return {"complex32", {}};
    case 10:
      return {"complex64", {}};
    case 11:
      return {"complex128", {}};
    case 12:
      return {"bool", DType::b8};
    case 13:
      return {"bfloat16", DType::bf16};
    case 28:
      return {"uint16", {}};
    case 29:
      return {"float8_e4m3fn", {}};
    case 30:
      return {"float8_e5m2", {}};
    case 31:
      return {"float8_e4m3fnuz", {}};
    case 32:
      return {"float8_e5m2fnuz", {}};
    case 33:
      return {"float8_e8m0fnu", {}};
    case 34:
      return {"uint32", {}};
    case 35:
      return {"uint64", {}};
  }
  return {nullptr, {}};
}

float half_to_float(uint16_t h) {
  const int exponent = (h >> 10) & 31, mantissa = h & 1023;
  const float sign = h & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(float(1024 + mantissa), exponent - 25) : std::ldexp(float(mantissa), -24));
}

// One element of a float type; others are copied as they are.
float to_float(const uint8_t* from, DType t) {
  uint16_t half = 0;
  double wide = 0;
  uint32_t bits = 0;
  float f = 0;
  switch (t) {
    case DType::f16:
      return memcpy(&half, from, 2), half_to_float(half);
    case DType::bf16:
      return memcpy(&half, from, 2), bits = uint32_t(half) << 16, memcpy(&f, &bits, 4), f;
    case DType::f64:
      return memcpy(&wide, from, 8), float(wide);
    default:
      return memcpy(&f, from, 4), f;
  }
}

std::string index_text(const Shape& shape, int64_t flat) {
  Shape index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return to_text(index);
}

// "Symbol('s77', positive=True, integer=True) + 1" -> "s77 + 1"
std::string readable(std::string expression) {
  constexpr std::string_view kSymbol = "Symbol('";
  for (size_t at; (at = expression.find(kSymbol)) != std::string::npos;) {
    const size_t name = at + kSymbol.size(), quote = expression.find('\'', name);
    const size_t close = expression.find(')', quote);
    if (close == std::string::npos) break;
    expression.replace(at, close + 1 - at, expression.substr(name, quote - name));
  }
  return expression;
}

int64_t read_int(const Json& sym_int, std::string* symbolic) {
  const auto [tag, value] = sym_int.tagged();
  if (tag == "as_int") return value.integer();
  if (tag != "as_expr") sym_int.fail(Code::not_an_export, "an integer is expected");
  if (symbolic) *symbolic = readable(value.at("expr_str").text());
  return -1;
}

}  // namespace

std::optional<DType> dtype_of_scalar_type(int64_t t) { return scalar_type(t).dtype; }

std::string name_of_scalar_type(int64_t t) {
  const char* name = scalar_type(t).name;
  return name ? name : fmt::format("number {}", t);
}

std::string refused_type(const std::string& name) { return fmt::format("the type {} is not supported", name); }

TensorMeta read_tensor_meta(const Json& json, bool with_strides) {
  TensorMeta meta;
  const Json type = json.at("dtype");
  const auto dtype = dtype_of_scalar_type(type.integer());
  if (dtype)
    meta.dtype = *dtype;
  else
    meta.refused = name_of_scalar_type(type.integer());
  if (const auto layout = json.find("layout"); layout && layout->integer() != 7) {
    layout->fail(Code::unsupported_dtype, "only strided (dense) tensors are supported", "call .to_dense() before the export");
  }
  int64_t count = 1;
  const auto sizes = json.at("sizes").items();
  if (sizes.size() > kMaxRank) json.fail(Code::not_an_export, fmt::format("{} dimensions are too many", sizes.size()));
  for (const Json& size : sizes) {
    std::string symbolic;
    int64_t n = read_int(size, &symbolic);
    if (!symbolic.empty()) {
      if (meta.symbolic_dim < 0) meta.symbolic = symbolic, meta.symbolic_dim = int(meta.shape.size());
      n = 1;
    }
    if (n < 0) size.fail(Code::not_an_export, fmt::format("the size {} is negative", n));
    meta.shape.push_back(n);
    if (__builtin_mul_overflow(count, n, &count) || count > kMaxElements)
      json.fail(Code::too_large, "the tensor is too large: " + to_text(meta.shape));
  }
  if (!with_strides) return meta;
  for (const Json& stride : json.at("strides").items()) meta.strides.push_back(read_int(stride, nullptr));
  meta.offset = read_int(json.at("storage_offset"), nullptr);
  if (meta.strides.size() != meta.shape.size())
    json.fail(Code::not_an_export, fmt::format("{} sizes, but {} strides", meta.shape.size(), meta.strides.size()));
  return meta;
}

std::shared_ptr<Tensor> materialise(const std::vector<uint8_t>& storage, const TensorMeta& meta, const std::string& name,
                                    const std::string& subject) {
  std::vector<int64_t> strides = meta.strides;
  for (size_t d = 0; d < strides.size(); d++)
    if (meta.shape[d] == 1) strides[d] = 0;  // never stepped along, so it may be anything
  const int64_t size = size_of(meta.dtype), count = elements(meta.shape), held = int64_t(storage.size()) / size;
  int64_t last = meta.offset;  // the farthest element that is read
  bool wrong = meta.offset < 0;
  for (size_t d = 0; d < meta.shape.size() && count > 0; d++) {
    int64_t reach = 0;
    wrong |= strides[d] < 0 || __builtin_mul_overflow(meta.shape[d] - 1, strides[d], &reach) ||
             __builtin_add_overflow(last, reach, &last);
  }
  if (wrong) {
    fail_file(
        subject, Code::damaged_archive,
        fmt::format("'{}' has sizes {}, strides {} and offset {}", name, to_text(meta.shape), to_text(meta.strides), meta.offset));
  }
  if (count > 0 && last >= held) {
    fail_file(subject, Code::damaged_archive,
              fmt::format("the data of '{}' is too short: {} elements are there, sizes {} and strides {} ask for element {}", name,
                          held, to_text(meta.shape), to_text(meta.strides), last));
  }
  const bool is_float =
      meta.dtype == DType::f32 || meta.dtype == DType::f64 || meta.dtype == DType::f16 || meta.dtype == DType::bf16;
  auto out = make_tensor(is_float ? DType::f32 : meta.dtype, meta.shape);
  std::vector<int64_t> index(meta.shape.size(), 0);
  int64_t from = meta.offset;
  for (int64_t to = 0; to < count; to++) {
    const uint8_t* element = storage.data() + from * size;
    if (is_float) {
      const float f = to_float(element, meta.dtype);
      if (!std::isfinite(f)) {
        fail_file(subject, Code::nonfinite_weight,
                  fmt::format("'{}' holds {} at {}", name, std::isnan(f) ? "NaN" : "infinity", index_text(meta.shape, to)),
                  std::isnan(f) ? "check the training; NaN cannot be quantised" : "replace infinities by a large finite number");
      }
      memcpy(out->bytes.data() + to * 4, &f, 4);
    } else {
      memcpy(out->bytes.data() + to * size, element, size_t(size));
    }
    for (size_t d = meta.shape.size(); d-- > 0;) {
      from += strides[d];
      if (++index[d] < meta.shape[d]) break;
      from -= strides[d] * meta.shape[d];
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace corten
