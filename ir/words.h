// Words and types that printing and parsing the text form share. Private to ir/.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace corten {

inline bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

inline bool is_word_start(char c) { return is_word_char(c) && c != '.' && !(c >= '0' && c <= '9'); }

// Names that need no quotes: "conv2d", "layers.0.weight", "0.weight".
inline bool is_word(std::string_view s) {
  if (s.empty() || s[0] == '.') return false;
  for (char c : s)
    if (!is_word_char(c)) return false;
  return true;
}

inline std::optional<DType> dtype_named(std::string_view s) {
  for (DType t :
       {DType::f32, DType::i8, DType::i32, DType::i64, DType::u8, DType::i16, DType::b8, DType::f64, DType::f16, DType::bf16})
    if (to_text(t) == s) return t;
  return std::nullopt;
}

// An operator without a note of its origin is its own when it has an ATen name ("aten.relu.default"), else it has none.
inline std::string default_aten(const std::string& op) { return op.find('.') == std::string::npos ? std::string() : op; }

// Calls f with a null pointer of the C type that holds one element; false for the types without one.
template <class F>
bool with_element_type(DType t, F&& f) {
  switch (t) {
    case DType::f32:
      return f(static_cast<float*>(nullptr)), true;
    case DType::f64:
      return f(static_cast<double*>(nullptr)), true;
    case DType::i8:
      return f(static_cast<int8_t*>(nullptr)), true;
    case DType::u8:
      return f(static_cast<uint8_t*>(nullptr)), true;
    case DType::b8:
      return f(static_cast<uint8_t*>(nullptr)), true;
    case DType::i16:
      return f(static_cast<int16_t*>(nullptr)), true;
    case DType::i32:
      return f(static_cast<int32_t*>(nullptr)), true;
    case DType::i64:
      return f(static_cast<int64_t*>(nullptr)), true;
    case DType::f16:
    case DType::bf16:
      return false;
  }
  return false;
}

}  // namespace corten
