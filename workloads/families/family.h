#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/ir/graph.h"
#include "workloads/weights.h"

// A model family: a table of parameters and a function that makes the graph. One file here, one line in this folder's
// CMakeLists.txt.

namespace assay {

struct ParamSpec {
  std::string name;
  std::int64_t fallback = 0;             ///< with `choices`: the number of the choice
  std::int64_t low = 1, high = 1 << 20;  ///< inclusive
  std::string doc;
  std::vector<std::string> choices;  ///< not empty: the value is one of these words
};

/// Values of a family's parameters; every parameter of the table has one.
class FamilyParams {
 public:
  std::int64_t operator[](const std::string& name) const;  ///< InternalError if the table has no such parameter
  void set(const std::string& name, std::int64_t value) { values_[name] = value; }
  const std::map<std::string, std::int64_t>& values() const { return values_; }

 private:
  std::map<std::string, std::int64_t> values_;
};

struct FamilyOptions {
  DType dtype = DType::f32;                 ///< of weights and activations: fp32, fp16 or bf16
  WeightMode weights = WeightMode::seeded;  ///< seeded or absent
  std::uint64_t seed = 1;
  std::int64_t max_weight_bytes = std::int64_t{4} << 30;
};

struct Family {
  std::string name;
  std::string summary;
  std::vector<ParamSpec> params;
  /// Rules between parameters; a message where one is broken (`hidden (100) must be a multiple of heads (12)`).
  std::function<std::optional<std::string>(const FamilyParams&)> check;
  std::function<Graph(const FamilyParams&, const FamilyOptions&)> make;

  FamilyParams defaults() const;
  /// Sets one parameter from text. Nothing if all is well, else what is wrong (unknown name, no number, out of range).
  std::optional<Diagnostic> set(FamilyParams& params, const std::string& param, const std::string& text) const;
  /// check, then make. InputError on a broken rule or weights larger than allowed.
  Graph build(const FamilyParams& params, const FamilyOptions& options) const;
};

class FamilyRegistry {
 public:
  void add(Family f);  ///< a second family of a name is an InternalError
  const Family* find(const std::string& name) const;
  std::vector<std::string> names() const;  ///< sorted

 private:
  std::map<std::string, Family> families_;
};

/// All families. Built once, immutable.
const FamilyRegistry& families();

/// Markdown table of a family's parameters: name, default, range, meaning.
std::string describe(const Family& f);

}  // namespace assay
