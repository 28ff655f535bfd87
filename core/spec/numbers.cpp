#include "core/spec/numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "core/spec/reader.h"

namespace assay {
namespace {

SourcePos shifted(const YamlNode& node, std::size_t offset) {
  SourcePos pos = node.pos;
  pos.column += static_cast<int>(offset) + (node.quoted ? 1 : 0);
  return pos;
}

Quantity scalar_number(const YamlNode& node, const ParamLookup& look) {
  if (!node.is_scalar()) throw NodeError(node.pos, fmt::format("expected a number, found {}", node.describe()));
  try {
    const Value v = evaluate_scalar(node.text, node.quoted, look);
    if (const auto* q = std::get_if<Quantity>(&v)) return *q;
  } catch (const ValueError& e) {
    if (e.reported) throw;
    throw NodeError(shifted(node, e.offset), fmt::format("{} (in {})", e.what(), node.describe()), e.suggestion);
  }
  throw NodeError(node.pos, fmt::format("expected a number, found {}", node.describe()));
}

/// The geometric middle (the arithmetic one if the interval starts at 0 or below), to four digits unless it is a size:
/// more would only pretend to know.
Real middle(const Quantity& q) {
  const Real exact = q.low > 0 ? std::sqrt(q.low * q.high) : (q.low + q.high) / 2;
  if (q.dim == Dimension{.byte = 1}) return exact;
  const Real rounded = std::strtold(fmt::format("{:.4g}", static_cast<double>(exact)).c_str(), nullptr);
  return rounded >= q.low && rounded <= q.high ? rounded : exact;
}

Quantity interval(const YamlNode& list, const ParamLookup& look) {
  if (!list.is_sequence() || list.items.size() != 2) {
    throw NodeError(list.pos,
                    fmt::format("expected an interval of two values [low, high], found {}",
                                list.is_sequence() ? fmt::format("{} values", list.items.size()) : list.describe()));
  }
  const Quantity low = scalar_number(list.items[0], look);
  const Quantity high = scalar_number(list.items[1], look);
  if (low.dim != high.dim) {
    throw NodeError(list.pos, fmt::format("the ends of the interval differ in kind: {} and {}", dimension_name(low.dim),
                                          dimension_name(high.dim)));
  }
  if (low.low > high.high) throw NodeError(list.pos, "the interval ends below its start; expected [low, high]");
  Quantity q{0, low.low, high.high, low.dim};
  q.value = middle(q);
  return q;
}

}  // namespace

bool is_wrapper(const YamlNode& node) {
  return node.is_map() && (node.find("value") != nullptr || node.find("range") != nullptr);
}

ValueParts split_value(const YamlNode& node) {
  ValueParts parts;
  parts.node = &node;
  if (!is_wrapper(node)) {
    parts.value = &node;
    return parts;
  }
  static const std::vector<std::string> keys{"value", "range", "source"};
  for (const YamlEntry& e : node.entries) {
    if (e.key == "value") {
      parts.value = &e.value;
    } else if (e.key == "range") {
      parts.range = &e.value;
    } else if (e.key == "source") {
      if (!e.value.is_scalar()) {
        throw NodeError(e.value.pos, fmt::format("expected the source as text, found {}", e.value.describe()));
      }
      parts.source = e.value.text;
    } else {
      throw NodeError(e.pos, fmt::format("unknown key '{}' beside a value; expected value, range, source", e.key),
                      nearest_name(e.key, keys).value_or(""));
    }
  }
  return parts;
}

Quantity evaluate_number(const ValueParts& parts, const ParamLookup& look) {
  if (parts.value == nullptr) return interval(*parts.range, look);
  if (parts.value->is_null()) throw NodeError(parts.value->pos, "expected a value, found nothing");
  const Quantity q = parts.value->is_sequence() ? interval(*parts.value, look) : scalar_number(*parts.value, look);
  if (parts.range == nullptr) return q;
  Quantity r = interval(*parts.range, look);
  if (r.dim != q.dim) {
    throw NodeError(parts.range->pos,
                    fmt::format("the range is {}, but the value is {}", dimension_name(r.dim), dimension_name(q.dim)));
  }
  if (q.value < r.low || q.value > r.high) throw NodeError(parts.range->pos, "the value lies outside its range");
  r.value = q.value;
  return r;
}

}  // namespace assay
