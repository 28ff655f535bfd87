#include <fmt/format.h>

#include <cmath>

#include "workloads/families/transformer.h"

// Touvron et al. 2023: pre-norm decoder with RMSNorm, rotary positions, grouped-query attention and SwiGLU.
//
// prefill: s tokens at once; the caches k [b, kv_heads, d, s] and v [b, kv_heads, s, d] of each layer are outputs.
// decode: one token against caches that hold `context` tokens. The caches are state inputs; the new column of k and
// row of v are the outputs that they are aliased to: they are appended at position `context`. Scores against cache and
// new token are computed apart and joined before the softmax, so a cache is read once and never copied.
// k is cached transposed, so that q · k needs no transpose of the cache.

namespace assay {
namespace {

struct Sizes {
  std::int64_t batch, tokens, hidden, heads, kv_heads, head_dim, context;
  std::int64_t group() const { return heads / kv_heads; }
};

struct Rotation {
  TensorId cosine, sine;  ///< [tokens, 1, d / 2]
};

Rotation rotation(Net& net, const Sizes& z, std::int64_t first_position, std::int64_t base) {
  const std::int64_t half = z.head_dim / 2;
  std::vector<double> cosine, sine;
  for (std::int64_t t = 0; t < z.tokens; ++t)
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(first_position + t) *
          std::pow(static_cast<double>(base), -2.0 * static_cast<double>(i) / static_cast<double>(z.head_dim));
      cosine.push_back(std::cos(angle));
      sine.push_back(std::sin(angle));
    }
  return {net.table("rotary.cos", {z.tokens, 1, half}, cosine), net.table("rotary.sin", {z.tokens, 1, half}, sine)};
}

/// x [b, s, h, d], halves (a, b) → (a cos − b sin, b cos + a sin) (Su et al. 2021, the halves' form).
TensorId rotate(Net& net, const std::string& name, TensorId x, const Rotation& r) {
  const std::int64_t half = net.shape(x).back() / 2;
  const std::vector<TensorId> part = net.split(name + ".halves", x, 3, {half, half});
  const TensorId ac = net.op(name + ".ac", "Mul", {part[0], r.cosine});
  const TensorId bs = net.op(name + ".bs", "Mul", {part[1], r.sine});
  const TensorId bc = net.op(name + ".bc", "Mul", {part[1], r.cosine});
  const TensorId as = net.op(name + ".as", "Mul", {part[0], r.sine});
  const TensorId left = net.op(name + ".left", "Sub", {ac, bs});
  const TensorId right = net.op(name + ".right", "Add", {bc, as});
  return net.op(name, "Concat", {left, right}, {{"axis", std::int64_t{3}}});
}

TensorId softmax(Net& net, const std::string& name, TensorId scores, const Sizes& z) {
  const TensorId scale = net.number(name + ".scale", 1 / std::sqrt(static_cast<double>(z.head_dim)));
  return net.op(name, "Softmax", {net.op(name + ".scaled", "Mul", {scores, scale})}, {{"axis", std::int64_t{-1}}});
}

/// q, k [b, s, h, d] after rotation, v [b, s, kv, d]. Marks the caches as outputs.
TensorId attend_prefill(Net& net, const std::string& at, TensorId q, TensorId k, TensorId v, const Sizes& z,
                        TensorId mask) {
  const std::int64_t rows = z.group() * z.tokens;
  TensorId queries = net.transpose(at + "q.by_head", q, {0, 2, 1, 3});
  if (z.group() > 1) queries = net.reshape(at + "q.by_group", queries, {z.batch, z.kv_heads, rows, z.head_dim});
  const TensorId keys = net.transpose(at + "k_cache", k, {0, 2, 3, 1});
  const TensorId values = net.transpose(at + "v_cache", v, {0, 2, 1, 3});
  net.output(keys);
  net.output(values);
  TensorId scores = net.op(at + "scores", "MatMul", {queries, keys});
  if (z.group() > 1) scores = net.reshape(at + "scores.by_head", scores, {z.batch, z.heads, z.tokens, z.tokens});
  const TensorId scale = net.number(at + "scale", 1 / std::sqrt(static_cast<double>(z.head_dim)));
  const TensorId scaled = net.op(at + "scaled", "Mul", {scores, scale});
  const TensorId masked = net.op(at + "masked", "Add", {scaled, mask});
  TensorId weights = net.op(at + "softmax", "Softmax", {masked}, {{"axis", std::int64_t{-1}}});
  if (z.group() > 1) weights = net.reshape(at + "softmax.by_group", weights, {z.batch, z.kv_heads, rows, z.tokens});
  TensorId mixed = net.op(at + "mixed", "MatMul", {weights, values});
  if (z.group() > 1) mixed = net.reshape(at + "mixed.by_head", mixed, {z.batch, z.heads, z.tokens, z.head_dim});
  return net.transpose(at + "by_token", mixed, {0, 2, 1, 3});
}

/// The same for one token and caches of `context` tokens; all rearrangements are of one token and therefore views.
TensorId attend_decode(Net& net, const std::string& at, TensorId q, TensorId k, TensorId v, const Sizes& z) {
  const TensorId past_k = net.input(at + "past_k", {z.batch, z.kv_heads, z.head_dim, z.context});
  const TensorId past_v = net.input(at + "past_v", {z.batch, z.kv_heads, z.context, z.head_dim});
  const TensorId queries = net.reshape(at + "q.by_group", q, {z.batch, z.kv_heads, z.group(), z.head_dim});
  const TensorId key = net.reshape(at + "new_k", k, {z.batch, z.kv_heads, z.head_dim, 1});
  const TensorId value = net.reshape(at + "new_v", v, {z.batch, z.kv_heads, 1, z.head_dim});
  net.output(key);
  net.output(value);
  net.state(past_k, key);
  net.state(past_v, value);
  const TensorId old_scores = net.op(at + "scores.past", "MatMul", {queries, past_k});
  const TensorId new_score = net.op(at + "scores.new", "MatMul", {queries, key});
  const TensorId scores = net.op(at + "scores", "Concat", {old_scores, new_score}, {{"axis", std::int64_t{3}}});
  const std::vector<TensorId> weights =
      net.split(at + "weights", softmax(net, at + "softmax", scores, z), 3, {z.context, 1});
  const TensorId old_part = net.op(at + "mixed.past", "MatMul", {weights[0], past_v});
  const TensorId new_part = net.op(at + "mixed.new", "MatMul", {weights[1], value});
  return net.op(at + "mixed", "Add", {old_part, new_part});
}

Graph make_llama(const FamilyParams& p, const FamilyOptions& options) {
  const bool decode = p["phase"] == 1;
  Net net(decode ? "llama_decode" : "llama_prefill", options);
  const Sizes z{.batch = p["batch"],
                .tokens = decode ? 1 : p["seq"],
                .hidden = p["hidden"],
                .heads = p["heads"],
                .kv_heads = p["kv_heads"],
                .head_dim = p["hidden"] / p["heads"],
                .context = p["context"]};
  const TensorId ids = net.input("input_ids", {z.batch, z.tokens}, DType::i32);
  const TensorId words = net.weight("embed.weight", {p["vocab"], z.hidden}, WeightRole::table);
  TensorId x = net.op("embed", "Gather", {words, ids}, {{"axis", std::int64_t{0}}});
  const Rotation r = rotation(net, z, decode ? z.context : 0, p["rope_base"]);
  std::optional<TensorId> mask;
  if (!decode) mask = causal_mask(net, "causal_mask", z.tokens);
  for (std::int64_t l = 0; l < p["layers"]; ++l) {
    const std::string at = "layers." + std::to_string(l) + ".";
    const TensorId normal = rms_norm(net, at + "attention_norm", x, 1e-5);
    const auto project = [&](const std::string& which, std::int64_t heads) {
      const TensorId y = linear(net, at + which + "_proj", normal, heads * z.head_dim, false);
      return net.reshape(at + which + ".heads", y, {z.batch, z.tokens, heads, z.head_dim});
    };
    const TensorId q = rotate(net, at + "q.rotated", project("q", z.heads), r);
    const TensorId k = rotate(net, at + "k.rotated", project("k", z.kv_heads), r);
    const TensorId v = project("v", z.kv_heads);
    const TensorId mixed = decode ? attend_decode(net, at, q, k, v, z) : attend_prefill(net, at, q, k, v, z, *mask);
    const TensorId merged = net.reshape(at + "merged", mixed, {z.batch, z.tokens, z.heads * z.head_dim});
    x = net.op(at + "attention_residual", "Add", {x, linear(net, at + "o_proj", merged, z.hidden, false)});
    const TensorId inner = rms_norm(net, at + "ffn_norm", x, 1e-5);
    const TensorId gate = linear(net, at + "gate_proj", inner, p["ffn"], false);
    const TensorId up = linear(net, at + "up_proj", inner, p["ffn"], false);
    const TensorId swish = net.op(at + "silu", "Mul", {gate, net.op(at + "sigmoid", "Sigmoid", {gate})});
    const TensorId product = net.op(at + "swiglu", "Mul", {swish, up});
    x = net.op(at + "ffn_residual", "Add", {x, linear(net, at + "down_proj", product, z.hidden, false)});
  }
  x = rms_norm(net, "norm", x, 1e-5);
  if (!decode && p["logits"] == 1) x = last_token(net, "last", x);
  net.output(linear(net, "logits", x, p["vocab"], false));
  return net.finish();
}

std::optional<std::string> check_llama(const FamilyParams& p) {
  if (const auto broken = must_divide(p, "hidden", "heads")) return broken;
  if (const auto broken = must_divide(p, "heads", "kv_heads")) return broken;
  const std::int64_t d = p["hidden"] / p["heads"];
  if (d % 2 != 0) return fmt::format("hidden / heads ({}) must be even: rotary positions turn pairs of channels", d);
  return std::nullopt;
}

}  // namespace

void register_llama(FamilyRegistry& registry) {
  registry.add({.name = "llama",
                .summary =
                    "Llama decoder: `phase: prefill` takes `seq` tokens, `phase: decode` one token against caches of "
                    "`context` tokens. Defaults: Llama-2-7B.",
                .params = {{"phase", 0, 0, 1, "a whole prompt, or one token more", {"prefill", "decode"}},
                           {"batch", 1, 1, 4096, "sequences at once", {}},
                           {"seq", 512, 1, 8192, "prefill: tokens of the prompt", {}},
                           {"context", 512, 1, 1 << 20, "decode: tokens in the caches", {}},
                           {"layers", 32, 1, 512, "decoder layers", {}},
                           {"hidden", 4096, 2, 65536, "channels of a token", {}},
                           {"heads", 32, 1, 1024, "query heads; divides hidden", {}},
                           {"kv_heads", 32, 1, 1024, "key and value heads; divides heads", {}},
                           {"ffn", 11008, 1, 262144, "channels inside the feed-forward part", {}},
                           {"vocab", 32000, 2, 1 << 20, "rows of the embedding table", {}},
                           {"rope_base", 10000, 1, 100'000'000, "base of the rotary frequencies", {}},
                           {"logits", 1, 0, 1, "prefill: for every token or the last one", {"all", "last"}}},
                .check = check_llama,
                .make = make_llama});
}

}  // namespace assay
