#include <fmt/format.h>

#include "core/base/error.h"
#include "core/ir/graph.h"

namespace assay {
namespace {

template <class T>
const T* look_up(const std::map<std::string, AttributeValue>& values, const std::string& name, const char* wanted) {
  const auto it = values.find(name);
  if (it == values.end()) return nullptr;
  const T* v = std::get_if<T>(&it->second);
  if (v == nullptr) throw InputError("attribute '" + name + "'", fmt::format("expected {}", wanted));
  return v;
}

}  // namespace

std::int64_t Attributes::integer(const std::string& name, std::int64_t fallback) const {
  const auto* v = look_up<std::int64_t>(values_, name, "an integer");
  return v != nullptr ? *v : fallback;
}

double Attributes::real(const std::string& name, double fallback) const {
  const auto* v = look_up<double>(values_, name, "a real number");
  return v != nullptr ? *v : fallback;
}

std::string Attributes::text(const std::string& name, const std::string& fallback) const {
  const auto* v = look_up<std::string>(values_, name, "a string");
  return v != nullptr ? *v : fallback;
}

std::vector<std::int64_t> Attributes::integers(const std::string& name, std::vector<std::int64_t> fallback) const {
  const auto* v = look_up<std::vector<std::int64_t>>(values_, name, "a list of integers");
  return v != nullptr ? *v : fallback;
}

std::vector<double> Attributes::reals(const std::string& name, std::vector<double> fallback) const {
  const auto* v = look_up<std::vector<double>>(values_, name, "a list of real numbers");
  return v != nullptr ? *v : fallback;
}

std::shared_ptr<const Tensor> Attributes::tensor(const std::string& name) const {
  const auto* v = look_up<std::shared_ptr<const Tensor>>(values_, name, "a tensor");
  return v != nullptr ? *v : nullptr;
}

std::shared_ptr<const Graph> Attributes::graph(const std::string& name) const {
  const auto* v = look_up<std::shared_ptr<const Graph>>(values_, name, "a graph");
  return v != nullptr ? *v : nullptr;
}

}  // namespace assay
