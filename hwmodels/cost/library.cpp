#include "hwmodels/cost/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/base/error.h"

namespace assay {
namespace {

// Stillmaker & Baas, Integration 58 (2017): relative to 45 nm.
struct NodeFactor {
  double node, energy, area;
};
constexpr std::array<NodeFactor, 10> kNodes{{{7, 0.0943, 0.059},
                                             {10, 0.1178, 0.1},
                                             {14, 0.1388, 0.17},
                                             {16, 0.1735, 0.19},
                                             {20, 0.2211, 0.21},
                                             {32, 0.6593, 0.46},
                                             {45, 1.0, 1.0},
                                             {65, 1.2407, 1.5},
                                             {90, 1.8973, 2.8},
                                             {130, 3.0681, 6.4}}};

double factor(double node, double NodeFactor::*member) {
  if (node <= kNodes.front().node) return kNodes.front().*member;
  if (node >= kNodes.back().node) return kNodes.back().*member;
  std::size_t i = 1;
  while (kNodes[i].node < node) ++i;
  const NodeFactor &a = kNodes[i - 1], &b = kNodes[i];
  const double t = std::log(node / a.node) / std::log(b.node / a.node);
  return std::exp(std::log(a.*member) + t * (std::log(b.*member) - std::log(a.*member)));
}

// pJ at 45 and 7 nm: Horowitz ISSCC 2014, Jouppi et al. ISCA 2021 table 2.
struct OpEnergy {
  double at45, at7;
};
constexpr OpEnergy kAdd8{0.03, 0.007}, kAdd32{0.1, 0.03}, kAddF16{0.4, 0.16}, kAddF32{0.9, 0.38};
constexpr OpEnergy kMul8{0.2, 0.07}, kMul32{3.1, 1.48}, kMulF16{1.1, 0.34}, kMulF32{3.7, 1.31};
// bf16 is published at 7 nm only; 45 nm by the gain of fp16.
constexpr OpEnergy kAddBf16{0.11 * 2.5, 0.11}, kMulBf16{0.21 * 3.2, 0.21};
constexpr double kMulExponent = 1.98;  // log(3.1 / 0.2) / log(4)

OpEnergy scaled(OpEnergy e, double f) { return {e.at45 * f, e.at7 * f}; }

OpEnergy add_op(DType t) {
  switch (t) {
    case DType::f16:
      return kAddF16;
    case DType::bf16:
      return kAddBf16;
    case DType::f32:
      return kAddF32;
    case DType::f64:
      return scaled(kAddF32, 2);
    default:
      break;
  }
  const double width = bits(t);
  return width <= 8 ? scaled(kAdd8, width / 8) : scaled(kAdd32, width / 32);
}

OpEnergy mul_op(DType t) {
  switch (t) {
    case DType::f16:
      return kMulF16;
    case DType::bf16:
      return kMulBf16;
    case DType::f32:
      return kMulF32;
    case DType::f64:
      return scaled(kMulF32, 4);
    default:
      break;
  }
  const double width = bits(t);
  return width <= 16 ? scaled(kMul8, std::pow(width / 8, kMulExponent))
                     : scaled(kMul32, std::pow(width / 32, kMulExponent));
}

double at_node(OpEnergy e, double node) {
  ASSAY_CHECK(node > 0, "node " + std::to_string(node));
  if (node > 45) return e.at45 * stillmaker_energy(45, node);
  const double t = std::clamp(std::log(45 / node) / std::log(45.0 / 7.0), 0.0, 1.0);
  return std::exp(std::log(e.at45) + t * (std::log(e.at7) - std::log(e.at45)));
}

std::string arithmetic_source(double node) {
  std::string s = "Horowitz ISSCC 2014 / ISCA 2021 table 2";
  if (node > 45) return s + fmt::format(", 45 nm scaled to {:g} nm by Stillmaker & Baas", node);
  if (node < 7) return s + fmt::format(", 7 nm held for {:g} nm", node);
  return s + fmt::format(", 45-7 nm interpolated at {:g} nm", node);
}

double mac16(double node) { return at_node(mul_op(DType::i16), node) + at_node(add_op(DType::i32), node); }

constexpr double kAladdinNode = 40;
// µm² at 40 nm, 1 GHz (Aladdin).
constexpr double kAdder32 = 278, kMultiplier32 = 6350, kFpAdder = 4360, kFpMultiplier = 4360, kComparator = 71,
                 kShifter = 250, kRegisterBit = 5.98;

double adder_um2(DType t) {
  if (!is_float(t)) return kAdder32 * bits(t) / 32;
  return kFpAdder * bits(t) / 32;
}
double multiplier_um2(DType t) {
  const double width = bits(t) / 32.0;
  return (is_float(t) ? kFpMultiplier : kMultiplier32) * width * width;
}
std::string area_source(double node) {
  return fmt::format("Aladdin 40 nm, scaled to {:g} nm by Stillmaker & Baas", node);
}
double um2_to_mm2(double um2, double node) { return um2 * 1e-6 * stillmaker_area(kAladdinNode, node); }

}  // namespace

double stillmaker_energy(double from, double to) {
  return factor(to, &NodeFactor::energy) / factor(from, &NodeFactor::energy);
}
double stillmaker_area(double from, double to) {
  return factor(to, &NodeFactor::area) / factor(from, &NodeFactor::area);
}

Cost mac_energy(DType operand, DType accumulator, double node) {
  return {at_node(mul_op(operand), node) + at_node(add_op(accumulator), node),
          fmt::format("multiply {} + add {}: {}", name(operand), name(accumulator), arithmetic_source(node))};
}

Cost lane_energy(std::string_view op_class, DType type, double node) {
  const double add = at_node(add_op(type), node), mul = at_node(mul_op(type), node);
  const std::string source = arithmetic_source(node);
  if (op_class == "arithmetic") return {(add + mul) / 2, "mean of add and multiply: " + source};
  if (op_class == "compare")
    return {at_node(add_op(bits(type) > 16 ? DType::i32 : DType::i16), node), "integer add: " + source};
  if (op_class == "convert") return {at_node(add_op(DType::i32), node), "int32 add: " + source};
  if (op_class == "reduce") return {add, "add: " + source};
  if (op_class == "transcendental") return {4 * (add + mul), "assumed: table and cubic, 4 multiply-adds: " + source};
  ASSAY_CHECK(false, "operation class '" + std::string(op_class) + "'");
  return {};
}

Cost dram_energy(const std::string& type, const std::string& memory) {
  struct Row {
    const char* type;
    double pj_per_bit;
    const char* source;
  };
  constexpr const char* kTable2 = "1300 pJ per 64 bits, ISCA 2021 table 2";
  constexpr const char* kAccelergy = "as used by Accelergy (CACTI plug-in)";
  static const std::vector<Row> rows = {
      {"DDR3", 20.3, kTable2},
      {"DDR4", 20.3, kTable2},
      {"DDR5", 20.3, "DDR4's figure held (1300 pJ per 64 bits, ISCA 2021 table 2)"},
      {"LPDDR", 40, "Malladi et al. ISCA 2012, as used by Accelergy"},
      {"LPDDR4", 8, kAccelergy},
      {"LPDDR4X", 8, "LPDDR4's figure held, as used by Accelergy"},
      {"LPDDR5", 8, "LPDDR4's figure held, as used by Accelergy"},
      {"LPDDR5X", 8, "LPDDR4's figure held, as used by Accelergy"},
      {"GDDR5", 14, kAccelergy},
      {"GDDR6", 6.5, "middle of 350-480 pJ per 64 bits, ISCA 2021 table 2"},
      {"HBM", 7.0, "upper end of HBM2's 3.9-7.0 pJ/bit, ISCA 2021 table 2"},
      {"HBM2", 3.9, "250 pJ per 64 bits, lower end in ISCA 2021 table 2, and as used by Accelergy"},
      {"HBM2E", 3.9, "HBM2's figure held"},
      {"HBM3", 3.9, "HBM2's figure held"},
      {"HBM3E", 3.9, "HBM2's figure held"},
  };
  const std::string wanted = type.empty() ? "DDR4" : type;
  std::vector<std::string> names;
  for (const Row& r : rows) {
    names.emplace_back(r.type);
    if (wanted == r.type)
      return {r.pj_per_bit * 8, fmt::format("{}{}: {}", r.type, type.empty() ? " (type not stated)" : "", r.source)};
  }
  throw InputError(Diagnostic{{},
                              "memories." + memory + ".type",
                              "the component library has no energy for DRAM type '" + type +
                                  "'; state cost.read and cost.write, or use one of " +
                                  fmt::format("{}", fmt::join(names, ", ")),
                              nearest_name(type, names).value_or("")});
}

Cost register_energy(double bytes, double node) {
  const double per_byte = mac16(node) / 2 * std::sqrt(std::max(bytes, 1.0) / 512.0);
  return {per_byte,
          fmt::format("Eyeriss ISCA 2016 (512 B file: one 16-bit MAC per 16 bits), by the square root of {:g} B; {}",
                      bytes, arithmetic_source(node))};
}

Cost wire_energy(bool router, double node) {
  const double wire = 2 * mac16(node) / 2;
  if (!router) return {wire, "Eyeriss ISCA 2016: 1-2 mm for 16 bits cost two 16-bit MACs; " + arithmetic_source(node)};
  const double crossbar = 0.6804 / 4 * mac16(node) / mac16(kAladdinNode);
  return {wire + crossbar,
          "per hop: Eyeriss wire + Aladdin crossbar (0.68 pJ per 32 bits at 40 nm); " + arithmetic_source(node)};
}

Cost mac_area(DType operand, DType accumulator, double node) {
  // Two operand registers and one for the partial sum, as in a systolic cell.
  const double registers = kRegisterBit * (2 * bits(operand) + bits(accumulator));
  return {um2_to_mm2(multiplier_um2(operand) + adder_um2(accumulator) + registers, node), area_source(node)};
}

Cost lane_area(DType widest, double node) {
  const double width = bits(widest) / 32.0;
  return {um2_to_mm2(multiplier_um2(widest) + adder_um2(widest) + (kComparator + kShifter) * width, node),
          area_source(node)};
}

Cost register_area(double bytes, double node) {
  return {um2_to_mm2(kRegisterBit * 8 * bytes, node), area_source(node)};
}

}  // namespace assay
