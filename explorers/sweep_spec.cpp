#include "explorers/sweep_spec.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/math.h"
#include "core/spec/file_kind.h"
#include "core/spec/plain_values.h"
#include "core/spec/yaml.h"

namespace assay {
namespace {

constexpr std::int64_t kMostValues = 100'000;
constexpr std::size_t kTriedValues = 500;

/// `12 MiB` → 12 and ` MiB`.
std::optional<std::pair<double, std::string>> number_and_unit(const YamlNode& n) {
  if (!n.is_scalar() || has_leading_zero(n.text)) return std::nullopt;
  double v = 0;
  const auto [end, error] = std::from_chars(n.text.data(), n.text.data() + n.text.size(), v);
  if (error != std::errc() || !std::isfinite(v)) return std::nullopt;
  return std::pair{v, std::string(end, n.text.data() + n.text.size())};
}

class Reader {
 public:
  explicit Reader(const std::string& path) : root_(parse_yaml_file(path)) {
    spec_.source_path = path;
    spec_.source_sha256 = sha256_file(path);
    folder_ = std::filesystem::path(path).parent_path();
  }

  SweepSpec run() {
    if (!root_.is_map()) {
      add(root_.pos, "",
          fmt::format("expected a map with 'sweep', 'workloads' and 'machines', found {}", root_.describe()));
      throw InputError(std::move(problems_));
    }
    expect_kind(root_, FileKind::sweep);
    std::vector<SweepAxis> common;
    keys(root_, "",
         {"sweep", "description", "objective", "precision", "strategy", "samples", "seed", "check", "cycle_points",
          "detail_points", "full_check_macs", "workloads", "machines", "axes", "constraints"});
    text("sweep", spec_.name, {}, true);
    if (!spec_.name.empty() && !is_file_name(spec_.name))
      add(root_.find("sweep")->pos, "sweep", fmt::format("expected {}, found '{}'", kFileName, spec_.name));
    text("objective", spec_.objective, {"latency", "energy", "edp"}, false);
    std::string precision;
    text("precision", precision, {"native", "fp16", "bf16", "int8"}, false);
    if (!precision.empty()) spec_.precision = precision;
    text("strategy", spec_.strategy, {"exhaustive", "random"}, false);
    text("check", spec_.check, {"none", "static", "twin", "full"}, false);
    integer("samples", spec_.samples, 1);
    integer("cycle_points", spec_.cycle_points, 0);
    integer("detail_points", spec_.detail_points, 0);
    integer("full_check_macs", spec_.full_check_macs, 0);
    std::int64_t seed = 1;
    integer("seed", seed, 0);
    spec_.seed = static_cast<std::uint64_t>(seed);
    if (const YamlNode* a = root_.find("axes")) {
      common = axes(*a, "axes");
      for (const YamlEntry& e : a->entries) common_pos_.emplace(e.key, e.pos);
    }
    workloads();
    machines(common);
    constraints();
    if (spec_.strategy == "random" && root_.find("samples") == nullptr)
      add(root_.find("strategy")->pos, "samples", "the random strategy needs 'samples', the number of points to draw");
    if (problems_.empty()) check_axes();
    if (!problems_.empty()) throw InputError(std::move(problems_));
    return std::move(spec_);
  }

 private:
  void add(const SourcePos& pos, std::string path, std::string message, std::string suggestion = {}) {
    problems_.push_back({pos, std::move(path), std::move(message), std::move(suggestion)});
  }

  void keys(const YamlNode& map, const std::string& path, const std::vector<std::string>& known) {
    for (const YamlEntry& e : map.entries) {
      if (std::find(known.begin(), known.end(), e.key) != known.end()) continue;
      std::string list;
      for (const std::string& k : known) list += (list.empty() ? "" : ", ") + k;
      add(e.pos, path.empty() ? e.key : path + "." + e.key, "unknown key; known are " + list,
          nearest_name(e.key, known).value_or(""));
    }
  }

  void text(const std::string& key, std::string& out, const std::vector<std::string>& allowed, bool required) {
    const YamlNode* n = root_.find(key);
    if (n == nullptr) {
      if (required) add(root_.pos, key, "is missing");
      return;
    }
    if (!n->is_scalar() || n->text.empty()) return add(n->pos, key, "expected a name, found " + n->describe());
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), n->text) == allowed.end()) {
      std::string list;
      for (const std::string& a : allowed) list += (list.empty() ? "" : ", ") + a;
      return add(n->pos, key, fmt::format("expected one of {}, found {}", list, n->describe()),
                 nearest_name(n->text, allowed).value_or(""));
    }
    out = n->text;
  }

  void integer(const std::string& key, std::int64_t& out, std::int64_t low) {
    const YamlNode* n = root_.find(key);
    if (n == nullptr) return;
    const auto v = plain_number(*n);
    if (!v || *v != std::floor(*v) || *v < static_cast<double>(low) || *v > 1e15) {
      return add(n->pos, key, fmt::format("expected an integer >= {}, found {}", low, n->describe()));
    }
    out = static_cast<std::int64_t>(*v);
  }

  std::string resolve(const std::string& p) const {
    const std::filesystem::path path(p);
    return path.is_absolute() || folder_.empty() ? p : (folder_ / path).lexically_normal().string();
  }

  /// A path to an existing file, or a problem.
  std::optional<std::string> file(const YamlNode& n, const std::string& path) {
    if (!n.is_scalar() || n.text.empty()) {
      add(n.pos, path, "expected a file, found " + n.describe());
      return std::nullopt;
    }
    std::string p = resolve(n.text);
    std::error_code error;
    if (!std::filesystem::is_regular_file(p, error)) {
      add(n.pos, path, fmt::format("there is no file '{}'", p));
      return std::nullopt;
    }
    return p;
  }

  void workloads() {
    const YamlNode* list = root_.find("workloads");
    if (list == nullptr || !list->is_sequence() || list->items.empty()) {
      return add(
          list != nullptr ? list->pos : root_.pos, "workloads",
          "expected a list of workload files, found " + (list != nullptr ? list->describe() : std::string("nothing")));
    }
    double sum = 0;
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const YamlNode& item = list->items[i];
      const std::string path = fmt::format("workloads[{}]", i);
      SweepWorkload w;
      const YamlNode* f = &item;
      if (item.is_map()) {
        keys(item, path, {"workload", "weight"});
        f = item.find("workload");
        if (f == nullptr) {
          add(item.pos, path + ".workload", "is missing");
          continue;
        }
        if (const YamlNode* weight = item.find("weight")) {
          const auto v = plain_number(*weight);
          if (!v || *v < 0) add(weight->pos, path + ".weight", "expected a number >= 0, found " + weight->describe());
          w.weight = v.value_or(1);
        }
      }
      sum += w.weight;
      if (auto p = file(*f, path)) {
        w.path = *p;
        spec_.workloads.push_back(std::move(w));
      }
    }
    if (sum <= 0) add(list->pos, "workloads", "the weights sum to 0: nothing would be ranked");
  }

  std::vector<SweepAxis> axes(const YamlNode& map, const std::string& path) {
    std::vector<SweepAxis> out;
    if (!map.is_map()) {
      add(map.pos, path, "expected a map of parameter paths to values, found " + map.describe());
      return out;
    }
    for (const YamlEntry& e : map.entries) {
      SweepAxis a{e.key, values(e.value, path + "." + e.key)};
      if (!a.values.empty()) out.push_back(std::move(a));
    }
    return out;
  }

  std::vector<std::string> values(const YamlNode& n, const std::string& path) {
    std::vector<std::string> out;
    if (n.is_scalar()) return {n.text};
    if (n.is_sequence()) {
      for (const YamlNode& v : n.items) {
        if (!v.is_scalar()) {
          add(v.pos, path, "expected a value, found " + v.describe());
          return {};
        }
        if (std::find(out.begin(), out.end(), v.text) != out.end())
          add(v.pos, path, fmt::format("'{}' is listed twice", v.text));
        out.push_back(v.text);
      }
      if (out.empty()) add(n.pos, path, "the axis has no values");
      return out;
    }
    if (!n.is_map()) {
      add(n.pos, path, "expected a list of values, a range or powers_of_two, found " + n.describe());
      return {};
    }
    keys(n, path, {"from", "to", "step", "powers_of_two"});
    if (const YamlNode* p = n.find("powers_of_two")) {
      if (!p->is_sequence() || p->items.size() != 2) {
        add(p->pos, path, "expected [lowest, highest], found " + p->describe());
        return {};
      }
      const auto lo = number_and_unit(p->items[0]), hi = number_and_unit(p->items[1]);
      if (!lo || !hi || lo->second != hi->second || lo->first <= 0 || hi->first < lo->first) {
        add(p->pos, path, "expected [lowest, highest] with the same unit and 0 < lowest <= highest");
        return {};
      }
      for (double v = lo->first; v <= hi->first; v *= 2) out.push_back(fmt::format("{}{}", v, lo->second));
      return out;
    }
    const YamlNode *from = n.find("from"), *to = n.find("to"), *step = n.find("step");
    if (from == nullptr || to == nullptr || step == nullptr) {
      add(n.pos, path, "a range needs 'from', 'to' and 'step'");
      return {};
    }
    const auto a = number_and_unit(*from), b = number_and_unit(*to), s = number_and_unit(*step);
    if (!a || !b || !s || a->second != b->second || a->second != s->second || s->first <= 0 || b->first < a->first) {
      add(n.pos, path, "expected from <= to and step > 0, all with the same unit");
      return {};
    }
    const double count = std::floor((b->first - a->first) / s->first + 1e-9) + 1;
    if (count > static_cast<double>(kMostValues)) {
      add(n.pos, path, fmt::format("{} values; an axis may have up to {}", count, kMostValues));
      return {};
    }
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i)
      out.push_back(fmt::format("{}{}", a->first + static_cast<double>(i) * s->first, a->second));
    return out;
  }

  void machines(const std::vector<SweepAxis>& common) {
    const YamlNode* list = root_.find("machines");
    if (list == nullptr || !list->is_sequence() || list->items.empty()) {
      return add(
          list != nullptr ? list->pos : root_.pos, "machines",
          "expected a list of descriptions, found " + (list != nullptr ? list->describe() : std::string("nothing")));
    }
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const YamlNode& item = list->items[i];
      const std::string path = fmt::format("machines[{}]", i);
      SweepMachine m;
      const YamlNode* f = &item;
      if (item.is_map()) {
        keys(item, path, {"machine", "axes"});
        f = item.find("machine");
        if (f == nullptr) {
          add(item.pos, path + ".machine", "is missing");
          continue;
        }
        if (const YamlNode* a = item.find("axes")) {
          m.axes = axes(*a, path + ".axes");
          for (const YamlEntry& e : a->entries) axis_pos_.push_back({spec_.machines.size(), e.key, e.pos});
        }
      }
      for (const SweepAxis& a : common) {
        if (std::none_of(m.axes.begin(), m.axes.end(), [&](const SweepAxis& own) { return own.path == a.path; }))
          m.axes.push_back(a);
      }
      if (auto p = file(*f, path)) {
        m.path = *p;
        spec_.machines.push_back(std::move(m));
      }
    }
  }

  void constraints() {
    const YamlNode* map = root_.find("constraints");
    if (map == nullptr) return;
    if (!map->is_map())
      return add(map->pos, "constraints", "expected a map of quantities to limits, found " + map->describe());
    keys(*map, "constraints", {"area_mm2", "average_w", "peak_w", "latency_s", "energy_j"});
    for (const YamlEntry& e : map->entries) {
      const auto v = plain_number(e.value);
      if (!v || *v <= 0) {
        add(e.value.pos, "constraints." + e.key, "expected a number > 0, found " + e.value.describe());
        continue;
      }
      spec_.constraints.push_back({e.key, *v});
    }
  }

  /// Every axis must name something in its description: each value is tried alone until one gives a machine. Of a long
  /// axis only as many as a second or so allows; where none of them does, its points will say why.
  void check_axes() {
    for (std::size_t m = 0; m < spec_.machines.size(); ++m) {
      load_machine(spec_.machines[m].path);  // its own errors first
      for (const SweepAxis& a : spec_.machines[m].axes) {
        bool any = a.values.size() > kTriedValues;
        std::string reason;
        for (std::size_t v = 0; v < std::min(a.values.size(), kTriedValues); ++v) {
          try {
            load_machine(spec_.machines[m].path, {{a.path, a.values[v]}});
            any = true;
            break;
          } catch (const InputError& e) {
            const Diagnostic& d = e.diagnostics().front();
            if (reason.empty())
              reason = d.message + (d.suggestion.empty() ? "" : fmt::format(" (did you mean '{}'?)", d.suggestion));
            if (d.message == kNamesNothing) break;  // whatever the value
          }
        }
        if (!any || reason.starts_with(kNamesNothing))
          add(axis_position(m, a.path), fmt::format("machines[{}].axes.{}", m, a.path),
              "no value of this axis gives a machine: " + reason);
      }
    }
  }

  SourcePos axis_position(std::size_t machine, const std::string& path) const {
    for (const AxisPos& p : axis_pos_) {
      if (p.machine == machine && p.key == path) return p.pos;
    }
    return common_pos_.at(path);
  }

  struct AxisPos {
    std::size_t machine;
    std::string key;
    SourcePos pos;
  };

  YamlNode root_;
  std::filesystem::path folder_;
  SweepSpec spec_;
  std::vector<Diagnostic> problems_;
  std::vector<AxisPos> axis_pos_;                ///< of the machines' own axes
  std::map<std::string, SourcePos> common_pos_;  ///< of the axes of all machines
};

std::int64_t machine_size(const SweepMachine& m) {
  std::int64_t n = 1;
  for (const SweepAxis& a : m.axes) {
    if (mul_overflows(n, static_cast<std::int64_t>(a.values.size()), n))
      return std::numeric_limits<std::int64_t>::max();
  }
  return n;
}

}  // namespace

SweepSpec load_sweep(const std::string& path) { return Reader(path).run(); }

std::int64_t space_size(const SweepSpec& spec) {
  std::int64_t n = 0;
  for (const SweepMachine& m : spec.machines) {
    if (__builtin_add_overflow(n, machine_size(m), &n)) return std::numeric_limits<std::int64_t>::max();
  }
  return n;
}

DesignPoint point_at(const SweepSpec& spec, std::int64_t index) {
  DesignPoint p;
  p.index = index;
  for (const SweepMachine& m : spec.machines) {
    const std::int64_t n = machine_size(m);
    if (index >= n) {
      index -= n;
      ++p.machine;
      continue;
    }
    p.overrides.resize(m.axes.size());
    for (std::size_t a = m.axes.size(); a-- > 0;) {
      const auto count = static_cast<std::int64_t>(m.axes[a].values.size());
      p.overrides[a] = {m.axes[a].path, m.axes[a].values[static_cast<std::size_t>(index % count)]};
      index /= count;
    }
    return p;
  }
  ASSAY_CHECK(false, fmt::format("point {} of {}", index, space_size(spec)));
}

std::string DesignPoint::label() const {
  std::string text;
  for (const Override& o : overrides) {
    const std::size_t dot = o.path.rfind('.');
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", dot == std::string::npos ? o.path : o.path.substr(dot + 1),
                        o.value);
  }
  return text;
}

}  // namespace assay
