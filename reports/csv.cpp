#include "reports/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/format.h"
#include "reports/summary.h"

namespace assay {
namespace {

class CsvLine {
 public:
  CsvLine& operator<<(const std::string& text) { return raw(escape_csv(text)); }
  CsvLine& operator<<(const char* text) { return *this << std::string(text); }
  CsvLine& operator<<(double v) { return raw(v != v ? std::string() : exact_number(v)); }
  CsvLine& operator<<(std::int64_t v) { return raw(fmt::format("{}", v)); }
  CsvLine& operator<<(bool v) { return raw(v ? "true" : "false"); }
  std::string end() {
    empty_ = true;
    return std::move(line_) + "\n";
  }

 private:
  CsvLine& raw(const std::string& field) {
    if (!empty_) line_ += ',';
    empty_ = false;
    line_ += field;
    return *this;
  }
  std::string line_;
  bool empty_ = true;
};

/// The sweep's axes, then parameters that points carry beyond them, by name.
std::vector<std::string> parameter_names(const SweepResult& sweep) {
  std::vector<std::string> names = sweep.axes;
  std::set<std::string> extra;
  for (const auto& p : sweep.points) {
    for (const auto& parameter : p.parameters) {
      if (std::find(names.begin(), names.end(), parameter.first) == names.end()) extra.insert(parameter.first);
    }
  }
  names.insert(names.end(), extra.begin(), extra.end());
  return names;
}

}  // namespace

std::string points_csv(const SweepResult& sweep) {
  const auto names = parameter_names(sweep);
  std::vector<std::int64_t> rank(sweep.points.size(), 0);
  for (std::size_t i = 0; i < sweep.ranking.size(); ++i)
    rank.at(sweep.ranking[i].point) = static_cast<std::int64_t>(i + 1);
  std::set<std::size_t> frontier(sweep.frontier.begin(), sweep.frontier.end());
  CsvLine line;
  line << "index"
       << "rank"
       << "design"
       << "machine"
       << "family";
  for (const auto& name : names) line << "param:" + name;
  line << "status"
       << "reason"
       << "latency_s"
       << "energy_j"
       << "edp_js"
       << "area_mm2"
       << "average_w"
       << "peak_w"
       << "tdp_w"
       << "peak_tops"
       << "mapping_gap"
       << "model_error"
       << "p_better_than_next"
       << "tied_with_next"
       << "on_frontier"
       << "fully_checked"
       << "checked"
       << "binding"
       << "mapper"
       << "key";
  std::string out = line.end();
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const PointResult& p = sweep.points[i];
    line << p.index << (rank[i] ? fmt::format("{}", rank[i]) : std::string()) << p.design << p.machine << p.family;
    for (const auto& name : names) line << parameter(p, name);
    const bool ranked = rank[i] != 0;
    const RankRow* row = ranked ? &sweep.ranking[static_cast<std::size_t>(rank[i] - 1)] : nullptr;
    line << p.status << p.reason << p.latency_s << p.energy_pj * 1e-12 << p.edp << p.area_mm2 << p.average_w << p.peak_w
         << p.tdp_w << p.peak_tops << known(p.mapping_gap) << p.model_error
         << (row ? exact_number(row->p_better_than_next) : std::string())
         << (row ? (row->tied_with_next ? "true" : "false") : "") << frontier.contains(i) << p.fully_checked
         << *check_summary(p).text() << binding_summary(p) << mapper_summary(p) << p.key;
    out += line.end();
  }
  return out;
}

std::string layers_csv(const SweepResult& sweep) {
  CsvLine line;
  line << "index"
       << "design"
       << "workload"
       << "phase"
       << "weight"
       << "repeat"
       << "precision"
       << "position"
       << "layer"
       << "kind"
       << "engine"
       << "nodes"
       << "seconds"
       << "share"
       << "analytical_s"
       << "macs"
       << "utilisation"
       << "ops_per_dram_byte"
       << "dram_read_b"
       << "dram_write_b"
       << "energy_j"
       << "binding"
       << "gain_same_program_s"
       << "gain_recompiled_s"
       << "mapping_gap"
       << "mapping"
       << "ideal_compute_s"
       << "padding_s"
       << "fill_drain_s"
       << "vector_s"
       << "exposed_memory_s"
       << "contention_s"
       << "sync_s"
       << "launch_s";
  std::string out = line.end();
  for (const auto& p : sweep.points) {
    for (const auto& w : p.workloads) {
      std::int64_t position = 0;
      for (const auto& l : w.layers) {
        line << p.index << p.design << w.workload << w.phase << w.weight << w.repeat << w.precision << position++
             << l.name << l.kind << l.engine << fmt::format("{}", fmt::join(l.nodes, " ")) << l.seconds
             << (w.seconds > 0 ? l.seconds / w.seconds : 0) << l.analytical_seconds << l.macs << l.utilisation
             << l.arithmetic_intensity << l.dram_read_bytes << l.dram_write_bytes << l.energy_pj * 1e-12 << l.binding
             << l.gain_same_program << known(l.gain_recompiled) << known(l.mapping_gap) << l.mapping;
        const Waterfall& f = l.waterfall;
        line << f.ideal_compute << f.padding << f.fill_drain << f.vector << f.exposed_memory << f.contention << f.sync
             << f.launch;
        out += line.end();
      }
    }
  }
  return out;
}

}  // namespace assay
