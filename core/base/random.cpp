#include "core/base/random.h"

#include <cmath>
#include <numbers>

#include "core/base/check.h"

namespace assay {

Random::Random(std::uint64_t seed, std::string_view stream) : state_(seed) {
  // FNV-1a of the name, mixed into the seed.
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : stream) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  state_ ^= h;
  next();
}

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::int64_t Random::between(std::int64_t lo, std::int64_t hi) {
  ASSAY_CHECK(lo <= hi, std::to_string(lo) + " > " + std::to_string(hi));
  const auto span = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo) + 1;
  // The bias of the modulo is below 2^-32 for every span used here (< 2^32).
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + (span == 0 ? next() : next() % span));
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Random::normal() {
  const double u = 1.0 - uniform();  // (0, 1]: the logarithm exists
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace assay
