#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "core/base/check.h"
#include "core/spec/fields.h"

namespace assay {
namespace {

constexpr Dimension kBytes{.byte = 1}, kSeconds{.second = 1}, kCycles{.cycle = 1};

KindInfo number_kind(std::string noun, std::string short_name, std::vector<std::string> units, Dimension dim,
                     std::optional<Dimension> by_clock = {}) {
  return {std::move(noun), std::move(short_name), std::move(units), dim, by_clock, true};
}

KindInfo word_kind(std::string noun, std::string short_name) {
  return {std::move(noun), std::move(short_name), {}, {}, {}, false};
}

std::map<FieldKind, KindInfo> make_kinds() {
  using K = FieldKind;
  std::map<K, KindInfo> k;
  k[K::boolean] = word_kind("true or false", "true/false");
  k[K::integer] = number_kind("a whole number", "whole number", {""}, {});
  k[K::real] = number_kind("a number", "number", {""}, {});
  k[K::bytes] = number_kind("a size with a unit, for example 128 KiB", "size", {"GiB", "MiB", "KiB", "B"}, kBytes);
  k[K::bandwidth] = number_kind("a bandwidth with a unit, for example 176 GB/s or 64 B/cycle", "bandwidth",
                                {"TB/s", "GB/s", "MB/s", "B/s"}, kBytes - kSeconds, kBytes - kCycles);
  k[K::frequency] = number_kind("a frequency with a unit, for example 800 MHz", "frequency",
                                {"GHz", "MHz", "kHz", "Hz"}, kCycles - kSeconds);
  k[K::time] = number_kind("a time with a unit, for example 45 ns or 3 cycle", "time", {"s", "ms", "us", "ns"},
                           kSeconds, kCycles);
  k[K::cycles] = number_kind("a number of cycles, for example 4 cycle", "cycles", {"cycle"}, kCycles);
  k[K::energy] = number_kind("an energy with a unit, for example 0.2 pJ", "energy", {"pJ", "J"}, {.joule = 1});
  k[K::energy_per_byte] = number_kind("an energy per byte with a unit, for example 1.2 pJ/B or 4 pJ/bit",
                                      "energy per byte", {"pJ/B", "J/B"}, {.byte = -1, .joule = 1});
  k[K::power] = number_kind("a power with a unit, for example 85 W", "power", {"W", "mW"}, {.second = -1, .joule = 1});
  k[K::area] = number_kind("an area with a unit, for example 1.5 mm2", "area", {"mm2"}, {.metre = 2});
  k[K::length] = number_kind("a length with a unit, for example 28 nm", "length", {"nm"}, {.metre = 1});
  k[K::voltage] = number_kind("a voltage with a unit, for example 0.85 V", "voltage", {"V"}, {.volt = 1});
  k[K::op_rate] = number_kind("an operation rate with a unit, for example 92 TOPS or 8 GFLOP/s", "operation rate",
                              {"TOPS", "GOPS", "OP/s"}, {.second = -1, .op = 1});
  k[K::text] = word_kind("text", "text");
  k[K::name] = word_kind("a name of letters, digits and '_' that starts with a letter", "name");
  k[K::choice] = word_kind("one of the choices", "choice");
  k[K::dtype] = word_kind("a type (fp32, fp16, bf16, int8, int32, …)", "type");
  k[K::size_pair] = word_kind("a pair [rows, columns] of whole numbers", "[rows, columns]");
  k[K::choice_list] = word_kind("a list of choices", "list of choices");
  k[K::memory] = word_kind("the name of a memory", "memory");
  k[K::memory_list] = word_kind("a list of memories", "list of memories");
  k[K::link] = word_kind("the name of a link", "link");
  k[K::link_list] = word_kind("a list of links", "list of links");
  k[K::clock] = word_kind("the name of a clock", "clock");
  k[K::matrix_types] =
      word_kind("a map of operand types, for example {int8: int32, fp16: {accumulator: fp32, rate: 0.5}}",
                "map type: accumulator");
  k[K::vector_ops] = word_kind("'any', a list of operations, or a map {add: 1, exp: 0.25}", "operations");
  k[K::vector_types] = word_kind("a list of types or a map {fp32: 1, fp16: 2}", "types with rates");
  return k;
}

std::string digits_of(double number, const FieldSpec& spec) {
  return spec.whole && number == std::floor(number) && std::abs(number) < 1e18
             ? fmt::format("{}", static_cast<std::int64_t>(number))
             : fmt::format("{}", number);
}

/// The value as it would be read from `digits unit`, in the stored scale. The reader is more precise than a double:
/// what is read is the decimal, not the double that it was printed from.
Real reread(const std::string& digits, const Unit& unit, const FieldSpec& spec) {
  const Real stored = std::strtold(digits.c_str(), nullptr) * unit.numerator / unit.denominator * spec.scale;
  return spec.whole ? std::round(stored) : stored;
}

bool same_stored(Real a, Real b, const FieldSpec& spec) {
  if (spec.whole) return a == b;
  return static_cast<double>(a) == static_cast<double>(b);
}

std::string rate_text(Real rate) { return fmt::format("{}", static_cast<double>(rate)); }

std::string join(const std::vector<std::string>& items) { return fmt::format("[{}]", fmt::join(items, ", ")); }

}  // namespace

std::size_t field_detail::index_of(const std::vector<std::string>& names, const std::string& name) {
  const auto it = std::find(names.begin(), names.end(), name);
  ASSAY_CHECK(it != names.end(), "the reader let the unknown name " + name + " through");
  return static_cast<std::size_t>(it - names.begin());
}

const KindInfo& kind_info(FieldKind kind) {
  static const std::map<FieldKind, KindInfo> kinds = make_kinds();
  return kinds.at(kind);
}

std::string format_number(const FieldSpec& spec, Real stored) {
  const KindInfo& info = kind_info(spec.kind);
  std::string best;
  for (const std::string& name : info.units) {
    const Unit unit = name.empty() ? Unit{} : *find_unit(name);
    const Real in_unit = stored / spec.scale * unit.denominator / unit.numerator;
    // 15 digits are enough where the value came from a decimal; all of them otherwise.
    auto number = std::strtod(fmt::format("{:.15g}", static_cast<double>(in_unit)).c_str(), nullptr);
    if (!same_stored(reread(digits_of(number, spec), unit, spec), stored, spec)) number = static_cast<double>(in_unit);
    const std::string digits = digits_of(number, spec);
    if (!same_stored(reread(digits, unit, spec), stored, spec)) continue;
    std::string text = name.empty() ? digits : digits + " " + name;
    // The largest unit in which the number is short; sizes in binary units only if whole.
    const bool pleasant = std::abs(number) >= 1 || stored == 0;
    const bool whole_size = spec.kind != FieldKind::bytes || number == std::floor(number);
    if (pleasant && whole_size && digits.size() <= 9) return text;
    if (best.empty() || text.size() < best.size()) best = text;
  }
  ASSAY_CHECK(!best.empty(), "no text reads back as the value of " + spec.name);
  return best;
}

std::string quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
          out += c;
    }
  }
  return out + '"';
}

std::string format_value(const FieldSpec& spec, const FieldValue& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* r = std::get_if<Real>(&value)) return format_number(spec, *r);
  if (const auto* s = std::get_if<std::string>(&value)) return spec.kind == FieldKind::text ? quote(*s) : *s;
  if (const auto* pair = std::get_if<std::vector<Real>>(&value)) {
    return fmt::format("[{}, {}]", static_cast<std::int64_t>(pair->at(0)), static_cast<std::int64_t>(pair->at(1)));
  }
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return join(*list);
  if (const auto* rates = std::get_if<std::vector<TypeRate>>(&value)) {
    std::vector<std::string> items;
    for (const TypeRate& t : *rates) {
      items.push_back(t.accumulator.empty()
                          ? fmt::format("{}: {}", t.key, rate_text(t.rate))
                          : fmt::format("{}: {{accumulator: {}, rate: {}}}", t.key, t.accumulator, rate_text(t.rate)));
    }
    return fmt::format("{{{}}}", fmt::join(items, ", "));
  }
  return {};
}

std::string describe_range(const FieldSpec& spec) {
  const KindInfo& info = kind_info(spec.kind);
  if (!info.numeric && spec.kind != FieldKind::size_pair) return {};
  FieldSpec base = spec;
  base.scale = 1;
  base.whole = false;
  if (spec.kind == FieldKind::size_pair) base.kind = FieldKind::integer;
  const bool unbounded = spec.high >= 0x1p60L;
  const std::string low = format_number(base, spec.low);
  if (spec.above_low)
    return unbounded ? "> " + low : fmt::format("> {} and <= {}", low, format_number(base, spec.high));
  if (unbounded) return ">= " + low;
  return fmt::format("{} … {}", low, format_number(base, spec.high));
}

}  // namespace assay
