#include "workloads/weights.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/random.h"

namespace assay {
namespace {

// Sum of four uniform integers in [0, 65535], centred, scaled to deviation 1: each has variance (2^32 − 1) / 12.
constexpr double kToDeviation = 1.0 / 37837.22723720648;  // sqrt(4 · (2^32 − 1) / 12)

double bounded_normal(Random& random) {
  const std::uint64_t bits = random.next();
  const auto sum =
      static_cast<std::int64_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48));
  return static_cast<double>(2 * sum - 4 * 65535) * (0.5 * kToDeviation);
}

template <class Draw>
void fill(Tensor& t, Draw draw) {
  switch (t.dtype()) {
    case DType::f32:
      for (float& v : t.data<float>()) v = static_cast<float>(draw());
      return;
    case DType::f64:
      for (double& v : t.data<double>()) v = draw();
      return;
    case DType::f16:
      for (std::uint16_t& v : t.data<std::uint16_t>()) v = to_f16(static_cast<float>(draw()));
      return;
    case DType::bf16:
      for (std::uint16_t& v : t.data<std::uint16_t>()) v = to_bf16(static_cast<float>(draw()));
      return;
    default:
      ASSAY_CHECK(false, "seeded weights are floats, not " + std::string(name(t.dtype())));
  }
}

}  // namespace

Tensor seeded_weight(const std::string& name, const TensorType& type, WeightRole role, std::int64_t fan_in,
                     std::uint64_t seed) {
  Random random(seed, name);
  Tensor t(type);
  const auto around = [&](double mean, double deviation) {
    fill(t, [&random, mean, deviation] { return mean + deviation * bounded_normal(random); });
  };
  switch (role) {
    case WeightRole::none:
      ASSAY_CHECK(false, "'" + name + "' is no weight");
    case WeightRole::matrix:
      around(0, std::sqrt(2.0 / static_cast<double>(std::max<std::int64_t>(fan_in, 1))));
      break;
    case WeightRole::table:
      around(0, 0.5);
      break;
    case WeightRole::bias:
      around(0, 0.1);
      break;
    case WeightRole::scale:
      around(1, 0.1);
      break;
    case WeightRole::variance:
      fill(t, [&random] { return 0.5 + random.uniform(); });
      break;
  }
  return t;
}

}  // namespace assay
