#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/loopnest/counting.h"
#include "core/loopnest/wide.h"

// From counts to cycles and energy: the part that both ways of counting share.

namespace assay {

/// Rounded to the nearest whole count; InputError when it exceeds 2^63.
std::int64_t whole_count(double v);
std::int64_t whole_count(Int128 v);
std::int64_t count_sum(std::int64_t a, std::int64_t b);  ///< a + b, or InputError

/// Words that the busiest instance of a level moves, by tensor.
struct LevelDemand {
  std::vector<double> reads, writes;
  std::optional<double> together;  ///< reads and writes of the one that is busiest with both; unset: their sum
};

/// Fills energy of tensors and levels, cycles of levels, the binding one and the sums. `cost` holds MACs, compute
/// cycles and all counts. With `by_slowdown`, cycles follow from the ratio of a limit to the demand per compute cycle,
/// in that order of roundings; else they are words / rate.
void finish_cost(NestCost& cost, const Hierarchy& h, const std::vector<LevelDemand>& demand, bool by_slowdown);

}  // namespace assay
