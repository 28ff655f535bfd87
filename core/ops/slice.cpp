#include <fmt/format.h>

#include <algorithm>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// Slice: starts, ends, axes and steps are attributes (without steps) up to opset 9, operands from 10.

namespace assay {
namespace {

struct Range {
  std::int64_t start = 0, step = 1, count = 0;
};

std::vector<Range> ranges_of(const OpContext& c) {
  const Shape& x = c.shape(0);
  std::vector<Range> out;
  for (const std::int64_t d : x) out.push_back({0, 1, d});
  if (c.version < 10 && !c.attributes->has("starts")) c.reject("attribute 'starts' is missing");
  const std::vector<std::int64_t> starts = ints_from(c, "starts", 1), ends = ints_from(c, "ends", 2);
  std::vector<std::int64_t> all(starts.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  const std::vector<std::int64_t> axes = ints_from(c, "axes", 3, all);
  const std::vector<std::int64_t> steps = ints_from(c, "steps", 4, std::vector<std::int64_t>(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    c.reject(
        fmt::format("{} starts, {} ends, {} axes and {} steps", starts.size(), ends.size(), axes.size(), steps.size()));
  normal_axes(c, axes, x.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = normal_axis(c, axes[i], x.size());
    const std::int64_t d = x[axis];
    if (steps[i] == 0) c.reject("a step is 0");
    const std::int64_t step = std::clamp<std::int64_t>(steps[i], -(std::int64_t{1} << 60), std::int64_t{1} << 60);
    const auto position = [d](std::int64_t p, std::int64_t lo, std::int64_t hi) {
      return std::clamp(p < 0 ? p + d : p, lo, hi);
    };
    Range r{.start = 0, .step = step, .count = 0};
    if (step > 0) {
      r.start = position(starts[i], 0, d);
      r.count = std::max<std::int64_t>(0, (position(ends[i], 0, d) - r.start + step - 1) / step);
    } else if (d > 0) {
      r.start = position(starts[i], 0, d - 1);
      r.count = std::max<std::int64_t>(0, (r.start - position(ends[i], -1, d - 1) - step - 1) / -step);
    }
    out[axis] = r;
  }
  return out;
}

}  // namespace

void register_slice(OpRegistry& r) {
  OpDef def;
  def.name = "Slice";
  def.kind = OpKind::nest;
  def.max_inputs = 5;
  def.infer = [](const OpContext& c) {
    TensorType t{c.type(0).dtype, {}};
    for (const Range& each : ranges_of(c)) t.shape.push_back(each.count);
    return std::vector{t};
  };
  def.evaluate = [](EvalContext& c) {
    const std::vector<std::int64_t> dense = strides_of(c.in(0).shape());
    const std::vector<Range> ranges = ranges_of(c.op);
    std::vector<std::int64_t> strides;
    std::int64_t base = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      // An axis with one element is not stepped along; the step may be absurdly large.
      strides.push_back(ranges[i].count > 1 ? dense[i] * ranges[i].step : 0);
      base += ranges[i].start * dense[i];
    }
    read_strided(c.in(0), base, strides, c.out[0]);
  };
  def.nests = [](const OpContext& c) {
    const TensorType& t = c.outputs[0];
    const std::vector<Range> ranges = ranges_of(c);
    Nest nest = nest_over(t.shape);
    std::vector<AccessDim> from;
    for (std::size_t i = 0; i < ranges.size(); ++i)
      from.push_back(ranges[i].count > 1 ? at(static_cast<int>(i), ranges[i].step, ranges[i].start)
                                         : fixed(ranges[i].start));
    nest.ins = {access(input_slot(0), std::move(from))};
    nest.out = identity_access(output_slot(0), t.shape.size());
    nest.body = identity_body(t.dtype);
    nest.accumulator = t.dtype;
    return single(std::move(nest));
  };
  r.add(std::move(def));
}

}  // namespace assay
