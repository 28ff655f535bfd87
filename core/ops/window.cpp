#include "core/ops/window.h"

#include <fmt/format.h>

#include "core/base/math.h"

namespace assay {
namespace {

// Far above any sensible attribute, far below where products overflow.
constexpr std::int64_t kLimit = std::int64_t{1} << 30;

std::vector<std::int64_t> per_axis(const OpContext& ctx, const char* attribute, std::size_t count,
                                   std::int64_t fallback, std::int64_t lowest) {
  std::vector<std::int64_t> v = ctx.attributes->integers(attribute, std::vector<std::int64_t>(count, fallback));
  if (v.size() != count) ctx.reject(fmt::format("{} has {} values, expected {}", attribute, v.size(), count));
  for (const std::int64_t x : v)
    if (x < lowest || x > kLimit)
      ctx.reject(fmt::format("{} holds {}, expected {} to {}", attribute, x, lowest, kLimit));
  return v;
}

}  // namespace

Window window_of(const OpContext& ctx, const Shape& x, const std::vector<std::int64_t>& kernel, bool ceil_mode) {
  const std::size_t rank = x.size();
  if (rank < 1 || rank > 3) ctx.reject(fmt::format("{} spatial axes, expected 1 to 3", rank));
  Window w;
  w.in = x;
  w.kernel = kernel;
  if (kernel.empty() || ctx.attributes->has("kernel_shape")) {
    if (!ctx.attributes->has("kernel_shape")) ctx.reject("attribute 'kernel_shape' is missing");
    w.kernel = per_axis(ctx, "kernel_shape", rank, 1, 1);
    if (!kernel.empty() && w.kernel != kernel)
      ctx.reject(fmt::format("kernel_shape is {}, but the weights are {}", to_string(w.kernel), to_string(kernel)));
  }
  w.stride = per_axis(ctx, "strides", rank, 1, 1);
  w.dilation = per_axis(ctx, "dilations", rank, 1, 1);
  const std::vector<std::int64_t> pads = per_axis(ctx, "pads", 2 * rank, 0, 0);
  const std::string mode = ctx.attributes->text("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!same && mode != "VALID" && mode != "NOTSET" && !mode.empty()) ctx.reject("unknown auto_pad '" + mode + "'");
  for (std::size_t i = 0; i < rank; ++i) {
    if (w.kernel[i] < 1 || w.kernel[i] > kLimit) ctx.reject(fmt::format("a kernel extent is {}", w.kernel[i]));
    const std::int64_t reach = (w.kernel[i] - 1) * w.dilation[i] + 1;
    std::int64_t begin = 0, end = 0;
    if (same) {
      const std::int64_t out = ceil_div(x[i], w.stride[i]);
      const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * w.stride[i] + reach - x[i]);
      begin = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
    } else if (mode != "VALID") {
      begin = pads[i];
      end = pads[rank + i];
    }
    const std::int64_t room = x[i] + begin + end - reach;
    if (room < 0)
      ctx.reject(
          fmt::format("a window of {} does not fit axis {} of {} padded by {} and {}", reach, i, x[i], begin, end));
    std::int64_t out = room / w.stride[i] + 1;
    if (ceil_mode) {
      out = ceil_div(room, w.stride[i]) + 1;
      if ((out - 1) * w.stride[i] >= x[i] + begin) --out;
    }
    w.pad_begin.push_back(begin);
    w.pad_end.push_back(end);
    w.out.push_back(out);
  }
  return w;
}

Window with_rank_3(const Window& w) {
  Window r = w;
  const std::size_t missing = 3 - w.rank();
  for (auto* v : {&r.in, &r.kernel, &r.stride, &r.dilation, &r.out}) v->insert(v->begin(), missing, 1);
  for (auto* v : {&r.pad_begin, &r.pad_end}) v->insert(v->begin(), missing, 0);
  return r;
}

std::vector<std::string> output_dim_names(std::size_t rank) {
  const std::vector<std::string> all{"o", "p", "q"};
  return rank == 1 ? std::vector<std::string>{"p"}
                   : std::vector<std::string>(all.end() - static_cast<std::ptrdiff_t>(rank), all.end());
}

std::vector<std::string> kernel_dim_names(std::size_t rank) {
  const std::vector<std::string> all{"t", "r", "s"};
  return rank == 1 ? std::vector<std::string>{"r"}
                   : std::vector<std::string>(all.end() - static_cast<std::ptrdiff_t>(rank), all.end());
}

}  // namespace assay
