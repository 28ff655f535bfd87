#include "workloads/model_spec.h"

#include <algorithm>
#include <charconv>

namespace assay {

void ModelSpec::set_weights(WeightMode mode) {
  import.weights = mode;
  options.weights = mode;
}

void ModelSpec::set_seed(std::uint64_t seed) {
  import.seed = seed;
  options.seed = seed;
}

Graph ModelSpec::build() const {
  return family != nullptr ? family->build(params, options) : import_onnx(onnx, import);
}

void apply_options(ModelSpec& spec, const WorkloadOptions& options, std::vector<Diagnostic>& problems) {
  const auto problem = [&problems](const std::string& path, const std::string& message) {
    problems.push_back({.pos = {}, .path = path, .message = message, .suggestion = {}});
  };
  if (spec.family != nullptr) {
    if (!options.bind.empty()) problem("--bind", "a model family has no symbolic dimensions; use --param");
    if (!options.shapes.empty()) problem("--shape", "a model family takes its sizes as parameters; use --param");
    if (options.weights == WeightMode::as_in_file)
      problem("--weights", "found 'as_in_file', but a model family has no file; expected seeded or absent");
    for (const auto& [name, text] : options.params)
      if (auto d = spec.family->set(spec.params, name, text)) {
        d->path = "--param " + d->path;
        problems.push_back(*d);
      }
  } else {
    if (!options.params.empty()) problem("--param", "an ONNX model has no parameters; use --bind or --shape");
    for (const auto& [name, extent] : options.bind) spec.import.bind[name] = extent;
    for (const auto& [name, shape] : options.shapes) spec.import.shapes[name] = shape;
  }
  if (options.weights) spec.set_weights(*options.weights);
  if (options.seed) spec.set_seed(*options.seed);
}

const std::vector<std::string>& precisions() {
  static const std::vector<std::string> all = {"native", "fp16", "bf16", "int8"};
  return all;
}

bool is_precision(const std::string& text) {
  return std::find(precisions().begin(), precisions().end(), text) != precisions().end();
}

std::optional<WeightMode> parse_weight_mode(const std::string& text) {
  if (text == "as_in_file") return WeightMode::as_in_file;
  if (text == "seeded") return WeightMode::seeded;
  if (text == "absent") return WeightMode::absent;
  return std::nullopt;
}

std::optional<Shape> parse_shape(const std::string& text) {
  Shape out;
  const char* at = text.data();
  const char* const stop = at + text.size();
  while (true) {
    std::int64_t d = 0;
    const auto [end, error] = std::from_chars(at, stop, d);
    if (error != std::errc() || d < 1 || *at == '0') return std::nullopt;
    out.push_back(d);
    if (end == stop) return out;
    if (*end != 'x') return std::nullopt;
    at = end + 1;
  }
}

}  // namespace assay
