#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"
#include "core/ops/onnx_types.h"

// Resize (opset 10 and on) and Upsample (7 to 9): separable interpolation. Every axis that changes gets, for each
// output coordinate, a short list of (input coordinate, weight); axes are done one after the other.

namespace assay {
namespace {

struct Axis {
  std::int64_t in = 0, out = 0;
  double scale = 1;
  double roi_start = 0, roi_end = 1;
};

struct Plan {
  std::vector<Axis> axes;  // all axes of the tensor
  std::string mode, transform, nearest, policy;
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

constexpr std::int64_t kLimit = std::int64_t{1} << 40;

std::vector<double> constant_reals(const OpContext& c, std::size_t i) {
  if (!is_constant(c, i)) c.constant_ints(i);  // rejects by name
  return c.values[i]->to_doubles();
}

Plan plan_of(const OpContext& c) {
  const Shape& x = c.shape(0);
  const std::size_t rank = x.size();
  const Attributes& a = *c.attributes;
  Plan p;
  const bool upsample = c.op == "Upsample";
  const bool v10 = upsample || c.version < 11;
  p.mode = a.text("mode", "nearest");
  if (p.mode == "bilinear" || p.mode == "trilinear") p.mode = "linear";
  p.transform = v10 ? "asymmetric" : a.text("coordinate_transformation_mode", "half_pixel");
  p.nearest = v10 ? "floor" : a.text("nearest_mode", "round_prefer_floor");
  p.policy = a.text("keep_aspect_ratio_policy", "stretch");
  p.cubic = a.real("cubic_coeff_a", -0.75);
  p.extrapolation = a.real("extrapolation_value", 0);
  p.exclude_outside = a.integer("exclude_outside", 0) != 0;
  p.antialias = a.integer("antialias", 0) != 0;
  const auto known = [&](const std::string& what, const std::string& v, std::initializer_list<const char*> all) {
    for (const char* k : all)
      if (v == k) return;
    c.reject(fmt::format("unknown {} '{}'", what, v));
  };
  known("mode", p.mode, {"nearest", "linear", "cubic"});
  known("coordinate_transformation_mode", p.transform,
        {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
         "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  known("nearest_mode", p.nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  known("keep_aspect_ratio_policy", p.policy, {"stretch", "not_larger", "not_smaller"});
  for (const std::int64_t d : x) p.axes.push_back({d, d, 1, 0, 1});

  std::vector<std::size_t> axes;
  for (const std::int64_t i : a.integers("axes")) axes.push_back(normal_axis(c, i, rank));
  if (axes.empty())
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
  const std::size_t scales_at = v10 ? 1 : 2, sizes_at = 3;
  std::vector<double> scales;
  if (upsample && c.version < 9)
    scales = a.reals("scales");
  else if (c.has(scales_at) && element_count(c.shape(scales_at)) > 0)
    scales = constant_reals(c, scales_at);
  const bool sized = !v10 && c.has(sizes_at) && element_count(c.shape(sizes_at)) > 0;
  if (sized == !scales.empty()) c.reject("needs either scales or sizes");
  if (sized) {
    const std::vector<std::int64_t> sizes = c.constant_ints(sizes_at);
    if (sizes.size() != axes.size()) c.reject(fmt::format("{} sizes for {} axes", sizes.size(), axes.size()));
    double common = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      Axis& axis = p.axes[axes[i]];
      if (sizes[i] < 0 || sizes[i] > kLimit) c.reject(fmt::format("a size is {}", sizes[i]));
      axis.out = sizes[i];
      axis.scale = axis.in == 0 ? 1 : static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
      common = i == 0                     ? axis.scale
               : p.policy == "not_larger" ? std::min(common, axis.scale)
                                          : std::max(common, axis.scale);
    }
    if (p.policy != "stretch")
      for (const std::size_t i : axes) {
        p.axes[i].scale = common;
        p.axes[i].out = static_cast<std::int64_t>(std::floor(common * static_cast<double>(p.axes[i].in) + 0.5));
      }
  } else {
    if (scales.size() != axes.size()) c.reject(fmt::format("{} scales for {} axes", scales.size(), axes.size()));
    for (std::size_t i = 0; i < axes.size(); ++i) {
      Axis& axis = p.axes[axes[i]];
      const double size = std::floor(static_cast<double>(axis.in) * scales[i]);
      if (!(scales[i] > 0) || size > static_cast<double>(kLimit)) c.reject(fmt::format("a scale is {}", scales[i]));
      axis.scale = scales[i];
      axis.out = static_cast<std::int64_t>(size);
    }
  }
  if (p.transform == "tf_crop_and_resize") {
    if (!c.has(1)) c.reject("tf_crop_and_resize needs the region of interest");
    const std::vector<double> roi = constant_reals(c, 1);
    if (roi.size() != 2 * axes.size())
      c.reject(fmt::format("{} values of the region for {} axes", roi.size(), axes.size()));
    for (const double r : roi)
      if (!(std::abs(r) < 1e6)) c.reject(fmt::format("the region of interest holds {}", r));
    for (std::size_t i = 0; i < axes.size(); ++i) {
      p.axes[axes[i]].roi_start = roi[i];
      p.axes[axes[i]].roi_end = roi[axes.size() + i];
    }
  }
  for (const Axis& axis : p.axes)
    if (axis.in == 0 && axis.out > 0) c.reject("an empty axis cannot be resized");
  return p;
}

double source_coordinate(const Plan& p, const Axis& a, std::int64_t i) {
  const auto x = static_cast<double>(i), in = static_cast<double>(a.in), out = static_cast<double>(a.out);
  if (p.transform == "asymmetric") return x / a.scale;
  if (p.transform == "align_corners") return a.out <= 1 ? 0 : x * (in - 1) / (out - 1);
  if (p.transform == "pytorch_half_pixel") return a.out <= 1 ? -0.5 : (x + 0.5) / a.scale - 0.5;
  if (p.transform == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (p.transform == "tf_crop_and_resize")
    return a.out > 1 ? a.roi_start * (in - 1) + x * (a.roi_end - a.roi_start) * (in - 1) / (out - 1)
                     : 0.5 * (a.roi_start + a.roi_end) * (in - 1);
  if (p.transform == "half_pixel_symmetric") {
    // The output is centred on the exact (not rounded) output size.
    const double adjustment = out / (a.scale * in), center = in / 2;
    return center * (1 - adjustment) + (x + 0.5) / a.scale - 0.5;
  }
  return (x + 0.5) / a.scale - 0.5;
}

std::int64_t nearest_coordinate(const Plan& p, double x) {
  double r = 0;
  if (p.nearest == "floor")
    r = std::floor(x);
  else if (p.nearest == "ceil")
    r = std::ceil(x);
  else if (p.nearest == "round_prefer_ceil")
    r = std::floor(x + 0.5);
  else
    r = std::ceil(x - 0.5);
  return static_cast<std::int64_t>(r);
}

double cubic_weight(double a, double d) {
  d = std::abs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

using Tap = std::pair<std::int64_t, double>;

std::vector<Tap> taps_for(const Plan& p, const Axis& a, std::int64_t i) {
  const double x = source_coordinate(p, a, i);
  std::vector<Tap> taps;
  if (p.mode == "nearest") {
    taps.emplace_back(std::clamp<std::int64_t>(nearest_coordinate(p, x), 0, a.in - 1), 1.0);
    return taps;
  }
  // With antialiasing the kernel is stretched to cover the pixels that one output stands for.
  const double stretch = p.antialias && a.scale < 1 ? 1 / a.scale : 1;
  const double reach = (p.mode == "linear" ? 1 : 2) * stretch;
  const auto first = static_cast<std::int64_t>(std::floor(x - reach)) + (stretch == 1 ? 1 : 0);
  const auto last = static_cast<std::int64_t>(std::ceil(x + reach)) - (stretch == 1 && std::floor(x) != x ? 1 : 0);
  double total = 0;
  for (std::int64_t k = first; k <= last; ++k) {
    const double d = (static_cast<double>(k) - x) / stretch;
    double weight = p.mode == "linear" ? std::max(0.0, 1 - std::abs(d)) : cubic_weight(p.cubic, d);
    const bool outside = k < 0 || k >= a.in;
    if (p.exclude_outside && outside) weight = 0;
    if (weight == 0) continue;
    taps.emplace_back(std::clamp<std::int64_t>(k, 0, a.in - 1), weight);
    total += weight;
  }
  if (p.exclude_outside || p.antialias)
    for (Tap& t : taps) t.second /= total;
  return taps;
}

bool beyond(const Plan& p, const Axis& a, std::int64_t i) {
  if (p.transform != "tf_crop_and_resize") return false;
  const double x = source_coordinate(p, a, i);
  return x < 0 || x > static_cast<double>(a.in - 1);
}

// Resamples one axis of a [outer, in, inner] array.
std::vector<double> resampled(const Plan& p, const Axis& a, const std::vector<double>& from, std::int64_t outer,
                              std::int64_t inner) {
  std::vector<double> to(static_cast<std::size_t>(outer * a.out * inner));
  for (std::int64_t i = 0; i < a.out; ++i) {
    const std::vector<Tap> taps = taps_for(p, a, i);
    for (std::int64_t o = 0; o < outer; ++o) {
      double* row = to.data() + (o * a.out + i) * inner;
      for (const auto& [k, weight] : taps) {
        const double* src = from.data() + (o * a.in + k) * inner;
        for (std::int64_t j = 0; j < inner; ++j) row[j] += weight * src[j];
      }
    }
  }
  return to;
}

void evaluate(EvalContext& c) {
  const Plan p = plan_of(c.op);
  const Tensor& in = c.in(0);
  Tensor& out = c.out[0];
  if (out.size() == 0) return;
  const bool crop = p.transform == "tf_crop_and_resize";
  if (p.mode == "nearest") {
    std::vector<std::vector<std::int64_t>> maps;
    for (const Axis& a : p.axes) {
      std::vector<std::int64_t> map;
      for (std::int64_t i = 0; i < a.out; ++i)
        map.push_back(a.in == a.out && !crop ? i : beyond(p, a, i) ? -1 : taps_for(p, a, i)[0].first);
      maps.push_back(std::move(map));
    }
    if (crop) fill_with(out, Tensor::scalar(out.dtype(), p.extrapolation));
    read_mapped(in, maps, out);
    return;
  }
  std::vector<double> values = in.to_doubles();
  Shape shape = in.shape();
  for (std::size_t i = 0; i < p.axes.size(); ++i) {
    const Axis& a = p.axes[i];
    if (a.in == a.out && a.scale == 1 && !crop) continue;
    values = resampled(p, a, values, product(shape, 0, i), product(shape, i + 1, shape.size()));
    shape[i] = a.out;
  }
  Tensor wide({DType::f64, shape});
  std::copy(values.begin(), values.end(), wide.data<double>().begin());
  if (crop) {
    const auto w = wide.data<double>();
    for (std::size_t flat = 0; flat < w.size(); ++flat) {
      auto rest = static_cast<std::int64_t>(flat);
      for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d])
        if (beyond(p, p.axes[d], rest % shape[d])) w[flat] = p.extrapolation;
    }
  }
  out = wide.cast(out.dtype());
}

// Nearest with an index map that is affine: every axis copies each pixel `repeat` times, or takes every `step`-th.
std::optional<NestProgram> nests(const OpContext& c) {
  const Plan p = plan_of(c);
  if (p.mode != "nearest" || p.transform == "tf_crop_and_resize") return std::nullopt;
  const DType t = c.outputs[0].dtype;
  Nest nest;
  std::vector<AccessDim> from, to;
  for (std::size_t i = 0; i < p.axes.size(); ++i) {
    const Axis& a = p.axes[i];
    const auto source = [&](std::int64_t x) { return a.in == a.out ? x : taps_for(p, a, x)[0].first; };
    const std::string suffix = std::to_string(i);
    if (a.out > a.in && a.in > 0 && a.out % a.in == 0) {
      const std::int64_t repeat = a.out / a.in;
      for (std::int64_t x = 0; x < a.out; ++x)
        if (source(x) != x / repeat) return std::nullopt;
      const int d = add_dim(nest, "d" + suffix, a.in), r = add_dim(nest, "r" + suffix, repeat);
      from.push_back(at(d));
      to.push_back(at({{d, repeat}, {r, 1}}));
      continue;
    }
    const std::int64_t first = a.out > 0 ? source(0) : 0, step = a.out > 1 ? source(1) - first : 1;
    for (std::int64_t x = 0; x < a.out; ++x)
      if (source(x) != first + x * step) return std::nullopt;
    const int d = add_dim(nest, "d" + suffix, a.out);
    from.push_back(at(d, step, first));
    to.push_back(at(d));
  }
  nest.ins = {access(input_slot(0), std::move(from))};
  nest.out = access(output_slot(0), std::move(to));
  nest.body = identity_body(t);
  nest.accumulator = t;
  return single(std::move(nest));
}

}  // namespace

void register_resize(OpRegistry& r) {
  for (const char* name : {"Resize", "Upsample"}) {
    OpDef def;
    def.name = name;
    def.kind = OpKind::nest;
    def.max_inputs = 4;
    def.infer = [](const OpContext& c) {
      require_type(c, 0, kNumbers);
      TensorType t{c.type(0).dtype, {}};
      for (const Axis& a : plan_of(c).axes) t.shape.push_back(a.out);
      return std::vector{t};
    };
    def.evaluate = evaluate;
    def.nests = nests;
    r.add(std::move(def));
  }
}

}  // namespace assay
