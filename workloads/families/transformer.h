#pragma once

#include <optional>
#include <string>

#include "workloads/families/net.h"

// Pieces that the transformer families share. Activations are [batch, tokens, channels].

namespace assay {

/// y = x · W [+ b], W: [in, out] named `name.weight`.
TensorId linear(Net& net, const std::string& name, TensorId x, std::int64_t out, bool bias = true);
TensorId layer_norm(Net& net, const std::string& name, TensorId x, double epsilon);
/// x / sqrt(mean(x²) + epsilon) · scale (Zhang and Sennrich 2019), in basic operations.
TensorId rms_norm(Net& net, const std::string& name, TensorId x, double epsilon);
/// x · Φ(x), by erf.
TensorId gelu_erf(Net& net, const std::string& name, TensorId x);
/// 0.5 x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))), as GPT-2 has it.
TensorId gelu_tanh(Net& net, const std::string& name, TensorId x);

/// Multi-head attention between projected q, k, v [b, s, h·d]: softmax(q kᵀ / sqrt(d) [+ mask]) v, heads merged again.
TensorId attend(Net& net, const std::string& name, TensorId q, TensorId k, TensorId v, std::int64_t heads,
                std::optional<TensorId> mask);
/// [1, 1, s, s]: 0 on and below the diagonal, -10000 above (fp16 holds it; exp of it is 0).
TensorId causal_mask(Net& net, const std::string& name, std::int64_t tokens);
/// The activations of the last token: [b, s, c] → [b, 1, c].
TensorId last_token(Net& net, const std::string& name, TensorId x);

/// `hidden (100) must be a multiple of heads (12)`, or nothing.
std::optional<std::string> must_divide(const FamilyParams& p, const std::string& whole, const std::string& part);

}  // namespace assay
