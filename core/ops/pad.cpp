#include <fmt/format.h>

#include <algorithm>

#include "core/base/math.h"
#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// Pad. Negative pads cut. Pads are an attribute up to opset 10 and an operand from 11; axes are operand 3 from 18.

namespace assay {
namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 40;

struct Pads {
  std::vector<std::int64_t> begin, end;
  std::string mode;
};

Pads pads_of(const OpContext& c) {
  const std::size_t rank = c.shape(0).size();
  const std::vector<std::int64_t> given = ints_from(c, c.attributes->has("paddings") ? "paddings" : "pads", 1);
  std::vector<std::size_t> axes;
  if (c.has(3)) {
    const std::vector<std::int64_t> listed = c.constant_ints(3);
    normal_axes(c, listed, rank);
    for (const std::int64_t a : listed) axes.push_back(normal_axis(c, a, rank));
  } else {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  if (given.size() != 2 * axes.size()) c.reject(fmt::format("{} pads for {} axes", given.size(), axes.size()));
  Pads p;
  p.begin.assign(rank, 0);
  p.end.assign(rank, 0);
  p.mode = c.attributes->text("mode", "constant");
  if (p.mode != "constant" && p.mode != "reflect" && p.mode != "edge" && p.mode != "wrap")
    c.reject("unknown mode '" + p.mode + "'");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    p.begin[axes[i]] = given[i];
    p.end[axes[i]] = given[axes.size() + i];
    if (std::abs(given[i]) > kLimit || std::abs(given[axes.size() + i]) > kLimit) c.reject("a pad is absurdly large");
  }
  return p;
}

std::vector<TensorType> infer(const OpContext& c) {
  const Pads p = pads_of(c);
  TensorType t = c.type(0);
  for (std::size_t i = 0; i < t.shape.size(); ++i) {
    const std::int64_t extent = t.shape[i];
    t.shape[i] += p.begin[i] + p.end[i];
    if (t.shape[i] < 0 || -p.begin[i] > extent || -p.end[i] > extent)
      c.reject(fmt::format("pads {} and {} cut more than axis {} of {} has", p.begin[i], p.end[i], i, extent));
    if (p.mode != "constant" && extent == 0 && t.shape[i] > 0) c.reject("an empty axis cannot be continued");
  }
  if (c.has(2)) {
    require_same_type(c, 0, 2);
    if (element_count(c.shape(2)) != 1) c.reject("the value must be one element");
  }
  return {t};
}

std::int64_t continued(const std::string& mode, std::int64_t x, std::int64_t n) {
  if (x >= 0 && x < n) return x;
  if (mode == "edge") return std::clamp<std::int64_t>(x, 0, n - 1);
  if (mode == "wrap") return floor_mod(x, n);
  if (n == 1) return 0;
  const std::int64_t m = floor_mod(x, 2 * (n - 1));  // reflect: the edge is not repeated
  return m < n ? m : 2 * (n - 1) - m;
}

void evaluate(EvalContext& c) {
  const Pads p = pads_of(c.op);
  const Tensor& in = c.in(0);
  if (p.mode == "constant") {
    if (c.op.has(2))
      fill_with(c.out[0], c.in(2));
    else
      fill_with(c.out[0], Tensor::scalar(in.dtype(), c.op.attributes->real("value", 0)));
  }
  std::vector<std::vector<std::int64_t>> maps;
  for (std::size_t i = 0; i < in.shape().size(); ++i) {
    const std::int64_t n = in.shape()[i];
    std::vector<std::int64_t> map;
    for (std::int64_t j = 0; j < c.out[0].shape()[i]; ++j) {
      const std::int64_t x = j - p.begin[i];
      map.push_back(p.mode != "constant" ? continued(p.mode, x, n) : x >= 0 && x < n ? x : -1);
    }
    maps.push_back(std::move(map));
  }
  if (in.size() > 0) read_mapped(in, maps, c.out[0]);
}

std::optional<NestProgram> nests(const OpContext& c) {
  const Pads p = pads_of(c);
  if (p.mode != "constant" || (c.has(2) && !is_constant(c, 2))) return std::nullopt;
  const TensorType& t = c.outputs[0];
  Nest nest = nest_over(t.shape);
  std::vector<AccessDim> from;
  for (std::size_t i = 0; i < t.shape.size(); ++i) from.push_back(at(static_cast<int>(i), 1, -p.begin[i]));
  const double value = c.has(2) ? c.values[2]->get(0) : c.attributes->real("value", 0);
  nest.ins = {access(input_slot(0), std::move(from), value)};
  nest.out = identity_access(output_slot(0), t.shape.size());
  nest.body = identity_body(t.dtype);
  nest.accumulator = t.dtype;
  return single(std::move(nest));
}

}  // namespace

void register_pad(OpRegistry& r) {
  OpDef def;
  def.name = "Pad";
  def.kind = OpKind::nest;
  def.max_inputs = 4;
  def.infer = infer;
  def.evaluate = evaluate;
  def.nests = nests;
  r.add(std::move(def));
}

}  // namespace assay
