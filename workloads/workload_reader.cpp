#include "workloads/workload_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "core/spec/file_kind.h"
#include "core/spec/plain_values.h"
#include "core/spec/quantity.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class Reader {
 public:
  Reader(const std::string& path, const WorkloadOptions& options) : path_(path), options_(options) {}

  WorkloadFile run() {
    const YamlNode root = parse_yaml_file(path_);
    WorkloadFile out;
    if (!root.is_map()) {
      problem(root.pos, {}, "found " + root.describe() + ", expected a map with the key 'workload' or 'suite'");
      throw InputError(problems_);
    }
    expect_kind(root, FileKind::workload, FileKind::suite);
    if (root.find("suite") != nullptr) {
      out.suite = suite(root);
    } else {
      out.workload = workload(root);
    }
    if (!problems_.empty()) throw InputError(distinct(problems_));
    return out;
  }

 private:
  void problem(const SourcePos& pos, std::string path, std::string message, std::string suggestion = {}) {
    problems_.push_back(
        {.pos = pos, .path = std::move(path), .message = std::move(message), .suggestion = std::move(suggestion)});
  }

  /// The twin's block and the command line are applied to every phase: each problem once, in the file's order.
  static std::vector<Diagnostic> distinct(const std::vector<Diagnostic>& all) {
    std::vector<Diagnostic> out;
    std::set<std::string> seen;
    for (const Diagnostic& d : all)
      if (seen.insert(d.to_string()).second) out.push_back(d);
    std::stable_sort(out.begin(), out.end(), [](const Diagnostic& a, const Diagnostic& b) {
      return std::pair(a.pos.line, a.pos.column) < std::pair(b.pos.line, b.pos.column);
    });
    return out;
  }

  /// Unknown keys of a map.
  void check_keys(const YamlNode& map, const std::string& at, const std::vector<std::string>& known) {
    for (const YamlEntry& e : map.entries)
      if (std::find(known.begin(), known.end(), e.key) == known.end())
        problem(e.pos, at + e.key, fmt::format("unknown key; expected one of {}", fmt::join(known, ", ")),
                nearest_name(e.key, known).value_or(""));
  }

  bool want_map(const YamlNode& node, const std::string& at) {
    if (node.is_map()) return true;
    problem(node.pos, at, "found " + node.describe() + ", expected a map");
    return false;
  }

  std::optional<std::string> text(const YamlNode& node, const std::string& at) {
    if (node.is_scalar() && !node.text.empty()) return node.text;
    problem(node.pos, at, "found " + node.describe() + ", expected text");
    return std::nullopt;
  }

  /// Names of workloads and phases become names of files (traces), so they hold no separators.
  std::optional<std::string> name(const YamlNode& node, const std::string& at) {
    const auto n = text(node, at);
    if (!n || is_file_name(*n)) return n;
    problem(node.pos, at, fmt::format("found {}, expected {}", node.describe(), kFileName));
    return std::nullopt;
  }

  std::optional<std::int64_t> whole(const YamlNode& node, const std::string& at, std::int64_t low, std::int64_t high) {
    std::int64_t v = 0;
    const std::string& s = node.text;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (node.is_scalar() && !node.quoted && error == std::errc() && end == s.data() + s.size() &&
        (s.size() == 1 || s[0] != '0') && v >= low && v <= high)
      return v;
    problem(node.pos, at, fmt::format("found {}, expected a whole number, {} … {}", node.describe(), low, high));
    return std::nullopt;
  }

  std::optional<std::string> choice(const YamlNode& node, const std::string& at, const std::vector<std::string>& all) {
    if (node.is_scalar() && std::find(all.begin(), all.end(), node.text) != all.end()) return node.text;
    problem(node.pos, at, fmt::format("found {}, expected one of {}", node.describe(), fmt::join(all, ", ")),
            node.is_scalar() ? nearest_name(node.text, all).value_or("") : "");
    return std::nullopt;
  }

  std::optional<Shape> shape(const YamlNode& node, const std::string& at) {
    if (node.is_scalar())
      if (auto s = parse_shape(node.text)) return s;
    if (node.is_sequence()) {
      Shape out;
      for (const YamlNode& item : node.items) {
        const auto d = whole(item, at, 1, std::int64_t{1} << 40);
        if (!d) return std::nullopt;
        out.push_back(*d);
      }
      if (!out.empty()) return out;
    }
    problem(node.pos, at, "found " + node.describe() + ", expected a shape such as 1x3x64x64");
    return std::nullopt;
  }

  /// `5 ms`.
  std::optional<double> seconds(const YamlNode& node, const std::string& at) {
    if (node.is_scalar()) {
      try {
        const Value v = evaluate_scalar(node.text, node.quoted, [](std::string_view, std::size_t offset) -> Value {
          throw ValueError("there are no parameters here", offset);
        });
        const Quantity* q = std::get_if<Quantity>(&v);
        Dimension time;
        time.second = 1;
        if (q != nullptr && q->dim == time && q->value > 0) return static_cast<double>(q->value);
      } catch (const ValueError&) {
        // reported below with what is expected
      }
    }
    problem(node.pos, at, "found " + node.describe() + ", expected a time with a unit, for example 5 ms");
    return std::nullopt;
  }

  /// `params`, `bind` and `shapes` of a map: sizes on top of those that `spec` has.
  void sizes(const YamlNode& map, const std::string& at, ModelSpec& spec) {
    const YamlNode* params = map.find("params");
    const YamlNode* bind = map.find("bind");
    const YamlNode* shapes = map.find("shapes");
    if (spec.family == nullptr && params != nullptr)
      problem(params->pos, at + "params", "an ONNX model has no parameters; it takes 'bind' and 'shapes'");
    if (spec.family != nullptr)
      for (const auto& [key, node] : {std::pair{"bind", bind}, std::pair{"shapes", shapes}})
        if (node != nullptr)
          problem(node->pos, at + key, "a model family takes its sizes as 'params', not as '" + std::string(key) + "'");
    if (spec.family != nullptr && params != nullptr && want_map(*params, at + "params")) {
      for (const YamlEntry& e : params->entries) set_param(e, at + "params.", spec);
      check_rules(params->pos, at + "params", spec);
    }
    if (spec.family == nullptr && bind != nullptr && want_map(*bind, at + "bind"))
      for (const YamlEntry& e : bind->entries)
        if (const auto v = whole(e.value, at + "bind." + e.key, 1, std::int64_t{1} << 40)) spec.import.bind[e.key] = *v;
    if (spec.family == nullptr && shapes != nullptr && want_map(*shapes, at + "shapes"))
      for (const YamlEntry& e : shapes->entries)
        if (auto s = shape(e.value, at + "shapes." + e.key)) spec.import.shapes[e.key] = std::move(*s);
  }

  void set_param(const YamlEntry& e, const std::string& at, ModelSpec& spec) {
    if (!e.value.is_scalar()) {
      problem(e.value.pos, at + e.key, "found " + e.value.describe() + ", expected a value");
      return;
    }
    auto d = spec.family->set(spec.params, e.key, e.value.text);
    if (!d) return;
    const bool known = std::any_of(spec.family->params.begin(), spec.family->params.end(),
                                   [&](const ParamSpec& p) { return p.name == e.key; });
    problem(known ? e.value.pos : e.pos, at + d->path, d->message, d->suggestion);
  }

  void check_rules(const SourcePos& pos, const std::string& at, const ModelSpec& spec) {
    if (spec.family == nullptr || !spec.family->check) return;
    if (const auto broken = spec.family->check(spec.params)) problem(pos, at, *broken);
  }

  ModelSpec model(const YamlNode& root, WorkloadSpec& out) {
    ModelSpec spec;
    const YamlNode* onnx = root.find("onnx");
    const YamlNode* family = root.find("family");
    if ((onnx == nullptr) == (family == nullptr))
      problem(root.pos, {},
              onnx == nullptr ? "expected one of the keys 'onnx' and 'family'"
                              : "has both 'onnx' and 'family'; expected one of them");
    if (onnx != nullptr && family == nullptr) {
      if (const auto file = text(*onnx, "onnx")) {
        spec.onnx = (fs::path(path_).parent_path() / *file).lexically_normal().string();
        out.onnx = spec.onnx;
        std::error_code error;
        if (!fs::is_regular_file(spec.onnx, error)) problem(onnx->pos, "onnx", "there is no file '" + spec.onnx + "'");
      }
    } else if (family != nullptr && onnx == nullptr) {
      if (const auto name = choice(*family, "family", families().names())) {
        spec.family = families().find(*name);
        spec.params = spec.family->defaults();
      }
    }
    return spec;
  }

  void weights(const YamlNode& root, ModelSpec& spec) {
    if (const YamlNode* n = root.find("weights")) {
      const std::vector<std::string> all = spec.family != nullptr
                                               ? std::vector<std::string>{"seeded", "absent"}
                                               : std::vector<std::string>{"as_in_file", "seeded", "absent"};
      if (const auto mode = choice(*n, "weights", all)) spec.set_weights(*parse_weight_mode(*mode));
    }
    if (const YamlNode* n = root.find("seed"))
      if (const auto v = whole(*n, "seed", 0, INT64_MAX)) spec.set_seed(static_cast<std::uint64_t>(*v));
    if (const YamlNode* n = root.find("dtype")) {
      if (spec.family == nullptr) {
        problem(n->pos, "dtype", "an ONNX model has the types of its file; 'precision' converts them");
      } else if (const auto t = choice(*n, "dtype", {"fp32", "fp16", "bf16"})) {
        spec.options.dtype = *parse_dtype(*t);
      }
    }
  }

  void twin(const YamlNode& block, const std::string& at, ModelSpec& spec) {
    if (!want_map(block, at)) return;
    check_keys(block, at + ".", {"params", "bind", "shapes"});
    sizes(block, at + ".", spec);
    // A twin is there to be executed, so it has values.
    if (spec.weights() == WeightMode::absent) spec.set_weights(WeightMode::seeded);
  }

  WorkloadSpec workload(const YamlNode& root) {
    WorkloadSpec out;
    check_keys(root, {},
               {"workload", "description", "onnx", "family", "params", "dtype", "bind", "shapes", "weights", "seed",
                "precision", "twin", "phases", "latency_limit"});
    if (const YamlNode* n = root.find("workload")) {
      out.name = name(*n, "workload").value_or("");
    } else {
      problem(root.pos, {}, "has no key 'workload' (its name)");
    }
    if (const YamlNode* n = root.find("description")) out.description = text(*n, "description").value_or("");
    if (const YamlNode* n = root.find("precision"))
      out.precision = choice(*n, "precision", precisions()).value_or("native");
    if (const YamlNode* n = root.find("latency_limit")) out.latency_limit_s = seconds(*n, "latency_limit");
    ModelSpec base = model(root, out);
    if (base.family == nullptr && base.onnx.empty()) return out;
    weights(root, base);
    sizes(root, {}, base);

    const YamlNode* twin_block = root.find("twin");
    const YamlNode* phases = root.find("phases");
    if (phases == nullptr) {
      out.phases.push_back(phase(nullptr, {}, base, twin_block));
      out.phases.back().name = out.name;
      return out;
    }
    if (!phases->is_sequence() || phases->items.empty()) {
      problem(phases->pos, "phases", "found " + phases->describe() + ", expected a list of at least one phase");
      return out;
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < phases->items.size(); ++i) {
      const YamlNode& item = phases->items[i];
      const std::string at = fmt::format("phases[{}]", i);
      if (!want_map(item, at)) continue;
      check_keys(item, at + ".", {"name", "repeat", "params", "bind", "shapes", "twin"});
      out.phases.push_back(phase(&item, at + ".", base, twin_block));
      if (!names.insert(out.phases.back().name).second)
        problem(item.pos, at + ".name", "another phase is called '" + out.phases.back().name + "'");
    }
    return out;
  }

  PhaseSpec phase(const YamlNode* item, const std::string& at, const ModelSpec& base, const YamlNode* twin_block) {
    PhaseSpec out;
    out.full = base;
    const YamlNode* own_twin = nullptr;
    if (item != nullptr) {
      const YamlNode* own_name = item->find("name");
      if (own_name == nullptr) {
        problem(item->pos, at + "name", "every phase has a name");
      } else {
        out.name = name(*own_name, at + "name").value_or("");
      }
      if (const YamlNode* n = item->find("repeat")) out.repeat = whole(*n, at + "repeat", 1, 1'000'000'000).value_or(1);
      sizes(*item, at, out.full);
      own_twin = item->find("twin");
    }
    apply_options(out.full, options_, problems_);
    if (twin_block == nullptr && own_twin == nullptr) return out;
    // The twin's sizes come last: what the command line makes larger must not make the twin large.
    out.twin = out.full;
    if (twin_block != nullptr) twin(*twin_block, "twin", *out.twin);
    if (own_twin != nullptr) twin(*own_twin, at + "twin", *out.twin);
    return out;
  }

  std::vector<SuiteEntry> suite(const YamlNode& root) {
    check_keys(root, {}, {"suite", "description"});
    const YamlNode& list = *root.find("suite");
    std::vector<SuiteEntry> out;
    if (!list.is_sequence() || list.items.empty()) {
      problem(list.pos, "suite", "found " + list.describe() + ", expected a list of at least one workload");
      return out;
    }
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const YamlNode& item = list.items[i];
      const std::string at = fmt::format("suite[{}]", i);
      if (!want_map(item, at)) continue;
      check_keys(item, at + ".", {"workload", "weight"});
      SuiteEntry e;
      const YamlNode* file = item.find("workload");
      if (file == nullptr) {
        problem(item.pos, at, "has no key 'workload' (a file)");
      } else if (const auto name = text(*file, at + ".workload")) {
        e.path = (fs::path(path_).parent_path() / *name).lexically_normal().string();
        e.pos = file->pos;
        std::error_code error;
        if (!fs::is_regular_file(e.path, error))
          problem(file->pos, at + ".workload", "there is no file '" + e.path + "'");
      }
      if (const YamlNode* w = item.find("weight")) e.weight = weight(*w, at + ".weight");
      out.push_back(std::move(e));
    }
    return out;
  }

  double weight(const YamlNode& node, const std::string& at) {
    if (const auto v = plain_number(node); v && *v > 0 && *v <= 1e9) return *v;
    problem(node.pos, at, "found " + node.describe() + ", expected a number above 0");
    return 1;
  }

  const std::string& path_;
  const WorkloadOptions& options_;
  std::vector<Diagnostic> problems_;
};

}  // namespace

WorkloadFile read_workload_file(const std::string& path, const WorkloadOptions& options) {
  return Reader(path, options).run();
}

}  // namespace assay
