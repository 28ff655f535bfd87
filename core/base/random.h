#pragma once

#include <cstdint>
#include <string_view>

namespace assay {

/// SplitMix64: the one generator of the project. Same seed, same numbers, everywhere (the standard library's
/// distributions are not portable, so sampling is done here).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// A generator whose stream depends on a name, so that adding a tensor does not shift the others' weights.
  Random(std::uint64_t seed, std::string_view stream);
  std::uint64_t next();
  std::int64_t between(std::int64_t lo, std::int64_t hi);  ///< lo <= result <= hi
  double uniform();                                        ///< [0, 1)
  double normal();                                         ///< mean 0, deviation 1 (Box-Muller)

 private:
  std::uint64_t state_;
};

}  // namespace assay
