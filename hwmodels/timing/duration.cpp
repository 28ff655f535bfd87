#include "hwmodels/timing/duration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/math.h"

namespace assay {
namespace {

// ceil(x / rate) of a positive decimal rate: 1e-9 absorbs the rounding of sums such as 1/3 + 1/3 + 1/3.
std::int64_t ceil_scaled(std::int64_t x, double factor) {
  const double v = static_cast<double>(x) * factor;
  if (!(v < 9e18)) throw InputError("size", "a command takes more than 9e18 cycles");
  return static_cast<std::int64_t>(std::ceil(v - 1e-9 * std::max(1.0, v)));
}

double positive_rate(double rate, const std::string& unit) {
  if (!(rate > 0)) throw InputError(unit, "a relative rate of " + std::to_string(rate) + ", expected one above 0");
  return rate;
}

// Throughput of the first of the names that the unit lists.
double throughput(const VectorUnit& unit, std::string_view op, std::string_view op_class) {
  for (const std::string_view key : {op, op_class, std::string_view("any")}) {
    const auto at = unit.ops.find(std::string(key));
    if (at != unit.ops.end()) return positive_rate(at->second, unit.name);
  }
  throw InputError(unit.name, "does not execute '" + std::string(op) + "' (class " + std::string(op_class) + ")");
}

double type_rate(const VectorUnit& unit, DType type) {
  if (unit.types.empty()) return 1.0;
  const auto at = unit.types.find(type);
  if (at != unit.types.end()) return positive_rate(at->second, unit.name);
  double slowest = std::numeric_limits<double>::infinity();
  for (const auto& [t, rate] : unit.types) slowest = std::min(slowest, rate);
  return positive_rate(slowest, unit.name);
}

}  // namespace

Cycles systolic_cycles(Dataflow dataflow, std::int64_t rows, std::int64_t cols, std::int64_t folds, std::int64_t stream,
                       bool double_buffered, double rate) {
  if (folds == 0) return {};
  const std::int64_t t = ceil_scaled(stream, 1.0 / rate);
  const std::int64_t step = double_buffered ? std::max(t, rows) : t + rows;
  const std::int64_t one = dataflow == Dataflow::output_stationary ? 2 * rows + cols + t - 1 : 2 * rows + cols + t - 2;
  const std::int64_t others = checked_mul(folds - 1, step);
  Cycles c;
  c.latency = others + one;
  c.occupancy = std::min(others + step, c.latency);
  return c;
}

Cycles intrinsic_cycles(std::int64_t issues, std::int64_t every, double rate) {
  const std::int64_t n = ceil_scaled(checked_mul(issues, every), 1.0 / rate);
  return {n, n};
}

Cycles pe_array_cycles(std::int64_t steps, double rate) {
  const std::int64_t n = ceil_scaled(steps, 1.0 / rate);
  return {n, n};
}

Cycles contract_cycles(const Command& c, const MatrixUnit& unit, std::span<const std::int64_t> extents) {
  const MatrixType* type = unit.type_for(c.in.at(0).type);
  if (!type) throw InputError(unit.name, "does not multiply operands of type " + std::string(name(c.in[0].type)));
  const double rate = positive_rate(type->rate, unit.name);
  const std::vector<GemmRole> roles = gemm_roles(c);
  Cycles slowest;
  const auto take = [&](Cycles x) {
    slowest.occupancy = std::max(slowest.occupancy, x.occupancy);
    slowest.latency = std::max(slowest.latency, x.latency);
  };
  if (unit.style == ArrayStyle::pe_array) {
    for (const SplitExtents& part : split_extents(roles, unit, extents))
      take(pe_array_cycles(pe_nest(c, unit, part.extents).steps(), rate));
  } else {
    const Dataflow flow = unit.style == ArrayStyle::systolic ? dataflow_of(c, unit) : Dataflow::weight_stationary;
    const GemmShape shape = gemm_shape(c, roles, extents);
    const Share share = shares_of(shape.n_axis, unit.count).front();
    const Folds f = folds_of(shape, unit, flow, share.n);
    if (unit.style == ArrayStyle::intrinsic)
      take(intrinsic_cycles(checked_mul(f.total(), ceil_div(f.stream, unit.m)), unit.every, rate));
    else
      take(systolic_cycles(flow, unit.rows, unit.cols, f.total(), f.stream, unit.double_buffered_weights, rate));
  }
  slowest.occupancy += unit.issue_cycles;
  slowest.latency += unit.issue_cycles + unit.pipeline_cycles;
  return slowest;
}

Cycles vector_cycles(const Command& c, const VectorUnit& unit, std::int64_t points) {
  double per_batch = 0;
  for (const ScalarInstr& i : c.body.code) {
    if (i.op == ScalarOp::input || i.op == ScalarOp::constant || i.op == ScalarOp::index) continue;
    per_batch += 1.0 / (throughput(unit, name(i.op), op_class(i.op)) * type_rate(unit, i.type));
  }
  if (c.combine != Combine::none) {
    // A fold is one operation per point: `reduce` where the unit has it, else the plain operation.
    const std::string_view plain = c.combine == Combine::sum       ? "add"
                                   : c.combine == Combine::product ? "mul"
                                                                   : name(c.combine);
    const bool has_reduce = unit.ops.contains("reduce");
    per_batch += 1.0 / (throughput(unit, has_reduce ? "reduce" : plain, "arithmetic") * type_rate(unit, c.accumulator));
  }
  if (per_batch == 0) per_batch = 1.0 / type_rate(unit, c.out.type);
  const std::int64_t batches = ceil_div(points, checked_mul(unit.lanes, unit.count));
  const std::int64_t n = ceil_scaled(batches, per_batch) + unit.issue_cycles + unit.pipeline_cycles;
  return {n, n};
}

std::int64_t transfer_ticks(std::int64_t bytes, std::int64_t bytes_per_second, std::int64_t ticks_per_second) {
  ASSAY_CHECK(bytes_per_second > 0, "rate " + std::to_string(bytes_per_second));
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(bytes) * static_cast<Wide>(ticks_per_second);
  const Wide ticks = (product + static_cast<Wide>(bytes_per_second) - 1) / static_cast<Wide>(bytes_per_second);
  if (ticks > static_cast<Wide>(std::numeric_limits<std::int64_t>::max()))
    throw InputError("size", "a transfer of " + std::to_string(bytes) + " bytes takes more ticks than 64 bits hold");
  return static_cast<std::int64_t>(ticks);
}

std::int64_t latency_ticks(double seconds, std::int64_t ticks_per_second) {
  const double t = seconds * static_cast<double>(ticks_per_second);
  if (!(t < 9e18)) throw InputError("latency", std::to_string(seconds) + " s are more ticks than 64 bits hold");
  return static_cast<std::int64_t>(std::ceil(std::max(0.0, t - 1e-6)));
}

}  // namespace assay
