#include "tests/oracle/record.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/base/hash.h"
#include "core/base/random.h"

namespace assay {

Record load_record(const RecordedNetwork& network) {
  const std::string path = std::string(ASSAY_SOURCE_DIR "/tests/data/onnxruntime/") + network.record + ".json";
  std::ifstream in(path);
  if (!in) throw std::runtime_error("no record " + path);
  const nlohmann::json j = nlohmann::json::parse(in);
  const std::runtime_error other("not a record of one input and one output in fp32: " + path);
  if (j.at("schema_version") != 1 || j.at("inputs").size() != 1 || j.at("outputs").size() != 1) throw other;
  const auto input = j.at("inputs").begin(), output = j.at("outputs").begin();
  const nlohmann::json &i = input.value(), &o = output.value();
  if (i.at("dtype") != "float32" || o.at("dtype") != "float32" || o.at("not_finite") != 0) throw other;
  Record r;
  r.oracle = j.at("oracle");
  r.model_sha256 = j.at("model").at("sha256");
  r.input = input.key();
  r.input_sha256 = i.at("sha256");
  r.input_shape = i.at("shape").get<Shape>();
  r.seed = i.at("seed");
  r.low = i.at("low");
  r.high = i.at("high");
  r.output = output.key();
  r.output_shape = o.at("shape").get<Shape>();
  r.min = o.at("min");
  r.max = o.at("max");
  r.mean = o.at("mean");
  r.rms = o.at("rms");
  r.indices = o.at("indices").get<std::vector<std::int64_t>>();
  r.values = o.at("values").get<std::vector<double>>();
  return r;
}

Tensor recorded_input(const Record& r) {
  Random random(r.seed, r.input);
  Tensor t(TensorType{DType::f32, r.input_shape});
  for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, r.low + (r.high - r.low) * random.uniform());
  return t;
}

std::string sha256_of(const Tensor& t) {
  const auto bytes = t.bytes();
  return sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

double distance(const Record& r, const Tensor& got) {
  if (got.shape() != r.output_shape) return INFINITY;
  double worst = 0, low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
  for (std::size_t k = 0; k < r.indices.size(); ++k)
    worst = std::max(worst, std::abs(got.get(r.indices[k]) - r.values[k]));
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double v = got.get(i);
    if (!std::isfinite(v)) return INFINITY;
    low = std::min(low, v);
    high = std::max(high, v);
    sum += v;
    squares += v * v;
  }
  const auto n = static_cast<double>(got.size());
  worst = std::max({worst, std::abs(low - r.min), std::abs(high - r.max), std::abs(sum / n - r.mean),
                    std::abs(std::sqrt(squares / n) - r.rms)});
  return worst / std::max(std::abs(r.min), std::abs(r.max));
}

}  // namespace assay
