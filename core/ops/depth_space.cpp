#include <fmt/format.h>

#include "core/ops/build_nest.h"
#include "core/ops/eval.h"

// DepthToSpace and SpaceToDepth: one permutation of (n, channel, row block, column block, row, column), read one way
// or the other. In DCR order a deep channel is (i · b + j) · C + c, in CRD order (c · b + i) · b + j, for the pixel
// (i, j) of a b × b block.

namespace assay {
namespace {

struct Blocks {
  std::int64_t n = 0, c = 0, h = 0, w = 0, b = 1;  // shallow tensor [n, c, h·b, w·b], deep [n, c·b·b, h, w]
  bool crd = false;
};

Blocks blocks_of(const OpContext& ctx, bool to_space) {
  require_rank(ctx, 0, 4);
  const Shape& x = ctx.shape(0);
  Blocks s;
  s.b = ctx.attributes->integer("blocksize", 0);
  if (s.b < 1 || s.b > (1 << 15)) ctx.reject(fmt::format("blocksize is {}", s.b));
  const std::string mode = ctx.attributes->text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") ctx.reject("unknown mode '" + mode + "'");
  s.crd = to_space && mode == "CRD";
  s.n = x[0];
  if (to_space) {
    if (x[1] % (s.b * s.b) != 0) ctx.reject(fmt::format("{} channels in blocks of {}", x[1], s.b * s.b));
    s.c = x[1] / (s.b * s.b);
    s.h = x[2];
    s.w = x[3];
  } else {
    if (x[2] % s.b != 0 || x[3] % s.b != 0) ctx.reject(fmt::format("{} in blocks of {}", to_string(x), s.b));
    s.c = x[1];
    s.h = x[2] / s.b;
    s.w = x[3] / s.b;
  }
  return s;
}

void evaluate(EvalContext& c, bool to_space) {
  const Blocks s = blocks_of(c.op, to_space);
  const auto width = static_cast<std::size_t>(storage_size(c.in(0).dtype()));
  const std::byte* from = c.in(0).bytes().data();
  std::byte* to = c.out[0].bytes().data();
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t ch = 0; ch < s.c; ++ch)
      for (std::int64_t y = 0; y < s.h * s.b; ++y)
        for (std::int64_t x = 0; x < s.w * s.b; ++x) {
          const std::int64_t i = y % s.b, j = x % s.b;
          const std::int64_t deep_channel = s.crd ? (ch * s.b + i) * s.b + j : (i * s.b + j) * s.c + ch;
          const auto shallow = static_cast<std::size_t>(((n * s.c + ch) * s.h * s.b + y) * s.w * s.b + x);
          const auto deep =
              static_cast<std::size_t>(((n * s.c * s.b * s.b + deep_channel) * s.h + y / s.b) * s.w + x / s.b);
          std::copy_n(from + (to_space ? deep : shallow) * width, width, to + (to_space ? shallow : deep) * width);
        }
}

NestProgram nests(const OpContext& c, bool to_space) {
  const Blocks s = blocks_of(c, to_space);
  Nest nest;
  const int n = add_dim(nest, "n", s.n), ch = add_dim(nest, "c", s.c), h = add_dim(nest, "h", s.h),
            i = add_dim(nest, "i", s.b), w = add_dim(nest, "w", s.w), j = add_dim(nest, "j", s.b);
  const AccessDim channel = s.crd ? at({{ch, s.b * s.b}, {i, s.b}, {j, 1}}) : at({{i, s.b * s.c}, {j, s.c}, {ch, 1}});
  Access shallow = access(input_slot(0), {at(n), at(ch), at({{h, s.b}, {i, 1}}), at({{w, s.b}, {j, 1}})});
  Access deep = access(input_slot(0), {at(n), channel, at(h), at(w)});
  (to_space ? shallow : deep).slot = output_slot(0);
  nest.ins = {to_space ? deep : shallow};
  nest.out = to_space ? shallow : deep;
  nest.body = identity_body(c.type(0).dtype);
  nest.accumulator = c.type(0).dtype;
  return single(std::move(nest));
}

void add(OpRegistry& r, const std::string& name, bool to_space) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::nest;
  def.infer = [to_space](const OpContext& c) {
    const Blocks s = blocks_of(c, to_space);
    const Shape out = to_space ? Shape{s.n, s.c, s.h * s.b, s.w * s.b} : Shape{s.n, s.c * s.b * s.b, s.h, s.w};
    return std::vector<TensorType>{{c.type(0).dtype, out}};
  };
  def.evaluate = [to_space](EvalContext& c) { evaluate(c, to_space); };
  def.nests = [to_space](const OpContext& c) { return nests(c, to_space); };
  r.add(std::move(def));
}

}  // namespace

void register_depth_space(OpRegistry& r) {
  add(r, "DepthToSpace", true);
  add(r, "SpaceToDepth", false);
}

}  // namespace assay
