#pragma once

#include <cstdint>
#include <string>

// What the printer and the reader of the graph's text form agree on.
//
//   graph resnet
//   input %x : fp32[1, 3]
//   input %kv : fp32[4] state %kv_out
//   constant %s : fp32[2] = [1, 0.5]
//   constant %big : fp32[64, 3] = sha256 9f86d0…
//   weight %w : fp32[64, 3]
//   node conv1 : %y : fp32[1, 64], _ = Gemm 13(%x, %w, _) {alpha = 1.0, axes = [1], mode = "x"} from [conv1, relu1]
//   output %y
//
// Names that are not plain words are quoted as in C.

namespace assay {

/// Constants with at most this many elements are printed inline.
inline constexpr std::int64_t kInlineElements = 16;

inline bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '/' || c == '-';
}

}  // namespace assay
