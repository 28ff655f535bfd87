#include "core/spec/plain_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace assay {

bool has_leading_zero(std::string_view number) {
  if (number.starts_with('-')) number.remove_prefix(1);
  return number.size() > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9';
}

std::optional<double> plain_number(const YamlNode& node) {
  const std::string& s = node.text;
  if (!node.is_scalar() || node.quoted || s.empty() || has_leading_zero(s)) return std::nullopt;
  double v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || end != s.data() + s.size() || !std::isfinite(v)) return std::nullopt;
  return v;
}

bool is_file_name(std::string_view name) {
  constexpr std::size_t kLongest = 100;
  if (name.empty() || name.size() > kLongest || name[0] == '.') return false;
  return std::none_of(name.begin(), name.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u < 0x20 || u == 0x7f || c == '/' || c == '\\';
  });
}

}  // namespace assay
