#include "core/spec/quantity.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace assay {
namespace {

constexpr Dimension kByte{.byte = 1};
constexpr Dimension kSecond{.second = 1};
constexpr Dimension kCycle{.cycle = 1};
constexpr Dimension kJoule{.joule = 1};
constexpr Dimension kMetre{.metre = 1};
constexpr Dimension kArea{.metre = 2};
constexpr Dimension kVolt{.volt = 1};
constexpr Dimension kOp{.op = 1};
constexpr Dimension kHertz{.second = -1, .cycle = 1};
constexpr Dimension kWatt{.second = -1, .joule = 1};
constexpr Dimension kOpRate{.second = -1, .op = 1};

struct NamedUnit {
  std::string_view name;
  Unit unit;
};

constexpr Real kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024, kTi = kGi * 1024;

constexpr std::array kUnits{
    NamedUnit{"B", {1, 1, kByte}},
    NamedUnit{"kB", {1e3L, 1, kByte}},
    NamedUnit{"MB", {1e6L, 1, kByte}},
    NamedUnit{"GB", {1e9L, 1, kByte}},
    NamedUnit{"TB", {1e12L, 1, kByte}},
    NamedUnit{"KiB", {kKi, 1, kByte}},
    NamedUnit{"MiB", {kMi, 1, kByte}},
    NamedUnit{"GiB", {kGi, 1, kByte}},
    NamedUnit{"TiB", {kTi, 1, kByte}},
    NamedUnit{"bit", {1, 8, kByte}},
    NamedUnit{"kbit", {1e3L, 8, kByte}},
    NamedUnit{"Mbit", {1e6L, 8, kByte}},
    NamedUnit{"Gbit", {1e9L, 8, kByte}},
    NamedUnit{"s", {1, 1, kSecond}},
    NamedUnit{"ms", {1, 1e3L, kSecond}},
    NamedUnit{"us", {1, 1e6L, kSecond}},
    NamedUnit{"ns", {1, 1e9L, kSecond}},
    NamedUnit{"ps", {1, 1e12L, kSecond}},
    NamedUnit{"cycle", {1, 1, kCycle}},
    NamedUnit{"cycles", {1, 1, kCycle}},
    NamedUnit{"Hz", {1, 1, kHertz}},
    NamedUnit{"kHz", {1e3L, 1, kHertz}},
    NamedUnit{"MHz", {1e6L, 1, kHertz}},
    NamedUnit{"GHz", {1e9L, 1, kHertz}},
    NamedUnit{"J", {1, 1, kJoule}},
    NamedUnit{"mJ", {1, 1e3L, kJoule}},
    NamedUnit{"uJ", {1, 1e6L, kJoule}},
    NamedUnit{"nJ", {1, 1e9L, kJoule}},
    NamedUnit{"pJ", {1, 1e12L, kJoule}},
    NamedUnit{"fJ", {1, 1e15L, kJoule}},
    NamedUnit{"kW", {1e3L, 1, kWatt}},
    NamedUnit{"W", {1, 1, kWatt}},
    NamedUnit{"mW", {1, 1e3L, kWatt}},
    NamedUnit{"uW", {1, 1e6L, kWatt}},
    NamedUnit{"mm", {1, 1e3L, kMetre}},
    NamedUnit{"um", {1, 1e6L, kMetre}},
    NamedUnit{"nm", {1, 1e9L, kMetre}},
    NamedUnit{"mm2", {1, 1e6L, kArea}},
    NamedUnit{"um2", {1, 1e12L, kArea}},
    NamedUnit{"V", {1, 1, kVolt}},
    NamedUnit{"mV", {1, 1e3L, kVolt}},
    NamedUnit{"OP", {1, 1, kOp}},
    NamedUnit{"GOP", {1e9L, 1, kOp}},
    NamedUnit{"TOP", {1e12L, 1, kOp}},
    NamedUnit{"FLOP", {1, 1, kOp}},
    NamedUnit{"MFLOP", {1e6L, 1, kOp}},
    NamedUnit{"GFLOP", {1e9L, 1, kOp}},
    NamedUnit{"TFLOP", {1e12L, 1, kOp}},
    NamedUnit{"MAC", {2, 1, kOp}},
    NamedUnit{"GMAC", {2e9L, 1, kOp}},
    NamedUnit{"TMAC", {2e12L, 1, kOp}},
    NamedUnit{"GOPS", {1e9L, 1, kOpRate}},
    NamedUnit{"TOPS", {1e12L, 1, kOpRate}},
    NamedUnit{"GFLOPS", {1e9L, 1, kOpRate}},
    NamedUnit{"TFLOPS", {1e12L, 1, kOpRate}},
};

std::optional<Unit> find_simple(std::string_view name) {
  for (const NamedUnit& u : kUnits) {
    if (u.name == name) return u.unit;
  }
  return std::nullopt;
}

}  // namespace

Dimension Dimension::operator+(const Dimension& o) const {
  return {byte + o.byte,   second + o.second, cycle + o.cycle, joule + o.joule,
          metre + o.metre, volt + o.volt,     op + o.op};
}

Dimension Dimension::operator-(const Dimension& o) const {
  return {byte - o.byte,   second - o.second, cycle - o.cycle, joule - o.joule,
          metre - o.metre, volt - o.volt,     op - o.op};
}

std::optional<Unit> find_unit(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return find_simple(text);
  const auto top = find_simple(text.substr(0, slash));
  const auto bottom = find_simple(text.substr(slash + 1));
  if (!top || !bottom) return std::nullopt;
  return Unit{top->numerator * bottom->denominator, top->denominator * bottom->numerator, top->dim - bottom->dim};
}

const std::vector<std::string>& unit_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const NamedUnit& u : kUnits) out.emplace_back(u.name);
    return out;
  }();
  return names;
}

std::string dimension_name(const Dimension& d) {
  static const std::vector<std::pair<Dimension, std::string_view>> names{
      {{}, "a plain number"},
      {kByte, "a size"},
      {kByte - kSecond, "a bandwidth"},
      {kByte - kCycle, "a width per cycle"},
      {kSecond, "a time"},
      {kCycle, "a number of cycles"},
      {kHertz, "a frequency"},
      {kJoule, "an energy"},
      {kJoule - kByte, "an energy per byte"},
      {kWatt, "a power"},
      {kMetre, "a length"},
      {kArea, "an area"},
      {kVolt, "a voltage"},
      {kOp, "a number of operations"},
      {kOpRate, "an operation rate"},
  };
  for (const auto& [dim, name] : names) {
    if (dim == d) return std::string(name);
  }
  return "a quantity of another kind";
}

}  // namespace assay
