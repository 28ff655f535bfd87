#include "explorers/evaluate.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/isa/text.h"
#include "core/isa/verify.h"
#include "core/spec/peak.h"
#include "explorers/ablation.h"
#include "explorers/fingerprint.h"
#include "explorers/whatif.h"
#include "hwmodels/energy.h"
#include "hwmodels/timing.h"

namespace assay {
namespace {

Waterfall waterfall(const LossBreakdown& l, const TickBase& base) {
  return {base.seconds(l.ideal_compute), base.seconds(l.padding),        base.seconds(l.fill_drain),
          base.seconds(l.vector),        base.seconds(l.exposed_memory), base.seconds(l.contention),
          base.seconds(l.sync),          base.seconds(l.launch)};
}

Waterfall sum(const Waterfall& a, const Waterfall& b) {
  return {a.ideal_compute + b.ideal_compute,
          a.padding + b.padding,
          a.fill_drain + b.fill_drain,
          a.vector + b.vector,
          a.exposed_memory + b.exposed_memory,
          a.contention + b.contention,
          a.sync + b.sync,
          a.launch + b.launch};
}

std::vector<NamedValue> busy(const std::vector<ResourceTime>& resources, const TickBase& base) {
  std::vector<NamedValue> out;
  for (const ResourceTime& r : resources) out.push_back({r.name, base.seconds(r.busy)});
  return out;
}

std::string busiest(const std::vector<ResourceTime>& resources) {
  const auto it = std::max_element(resources.begin(), resources.end(),
                                   [](const ResourceTime& a, const ResourceTime& b) { return a.busy < b.busy; });
  return it == resources.end() ? "none" : it->name;
}

/// MACs per second of all cores at the type that most of the model's products have.
double peak_macs_per_s(const Machine& m, const CompiledModel& c) {
  std::map<DType, std::int64_t> by_type;
  for (const CompiledKernel& k : c.kernels) {
    if (k.contraction) by_type[k.operand] += k.macs;
  }
  if (by_type.empty()) return 0;
  const DType operand = std::max_element(by_type.begin(), by_type.end(), [](const auto& a, const auto& b) {
                          return a.second < b.second;
                        })->first;
  double peak = 0;
  for (const MatrixUnit& u : m.matrix_units) {
    const MatrixType* t = u.type_for(operand);
    if (t == nullptr) continue;
    peak += static_cast<double>(u.macs_per_cycle()) * u.count * t->rate *
            static_cast<double>(m.clocks[static_cast<std::size_t>(u.clock)].hz) * static_cast<double>(m.grid.cores());
  }
  return peak;
}

std::string engine_of(const CompiledKernel& k) {
  return k.host ? "host" : k.contraction ? "matrix" : k.dma_only ? "dma" : "vector";
}

void dram_bytes(const GroupActivity& a, const Program& p, const Machine& m, std::int64_t& read, std::int64_t& write) {
  for (const auto& [buffer, count] : a.by_buffer) {
    if (m.memory(p.buffers[buffer].memory).kind != MemoryKind::dram) continue;
    read += count.read_bytes;
    write += count.write_bytes;
  }
}

std::int64_t macs(const GroupActivity& a) {
  std::int64_t n = 0;
  for (const auto& [unit, count] : a.macs) n += count;
  return n;
}

std::vector<MemoryUse> memory_use(const Program& p, const Machine& m) {
  std::vector<MemoryUse> out;
  constexpr std::size_t kMostBlocks = 400;
  for (std::size_t i = 0; i < m.memories.size(); ++i) {
    MemoryUse use{m.memories[i].name, m.memories[i].capacity, 0, {}};
    for (const Buffer& b : p.buffers) {
      if (b.memory != MemoryId(i)) continue;
      use.peak = std::max(use.peak, b.address + b.bytes);
      const char* kinds[] = {"input", "output", "constant", "state", "intermediate", "tile"};
      if (use.blocks.size() < kMostBlocks)
        use.blocks.push_back({b.name, kinds[static_cast<int>(b.kind)], b.first_step, b.last_step, b.address, b.bytes});
    }
    if (!use.blocks.empty()) out.push_back(std::move(use));
  }
  return out;
}

std::vector<TimelineSpan> timeline(const TimingResult& t, const Program& p) {
  std::vector<TimelineSpan> out;
  for (const TimelineEvent& e : t.timeline) {
    out.push_back({fmt::format("core {} / {}", e.core, p.engines[e.engine].name),
                   e.trail >= 0 ? p.trail[static_cast<std::size_t>(e.trail)].group : "", t.base.seconds(e.start),
                   t.base.seconds(e.end)});
  }
  return out;
}

/// The proof of a program for a grid keeps a clock per queue of every core, up to a gigabyte in small pieces: one at a
/// time, and the allocator is asked to give the pieces back, which it does not do by itself.
VerifyResult prove(const Program& p, const Machine& m) {
  if (m.grid.cores() == 1) return verify_program(p, m, {.max_instances = kVerifiedInstances});
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  VerifyResult result = verify_program(p, m, {.max_instances = kVerifiedInstances});
  malloc_trim(0);
  return result;
}

class PhaseEvaluation {
 public:
  PhaseEvaluation(const Machine& machine, const PreparedPhase& phase, const PointOptions& options,
                  const CostTable& costs, MappingCache& cache)
      : machine_(machine), phase_(phase), options_(options), costs_(costs), cache_(cache) {}

  WorkloadResult run(double weight) {
    WorkloadResult r;
    r.workload = phase_.workload();
    r.phase = phase_.phase();
    r.weight = weight;
    r.repeat = phase_.repeat();
    r.precision = phase_.precision();
    compiled_ = compile(phase_.full().graph, machine_, options_.compile, cache_);
    const Program& p = compiled_.program;
    const TimingResult analytical = analyse(p, machine_);
    CycleOptions co;
    co.timeline.max_events = options_.detail ? options_.timeline_events : 0;
    std::optional<TimingResult> cycle;
    if (options_.cycle) cycle = simulate(p, machine_, co);
    const TimingResult& t = cycle ? *cycle : analytical;
    r.analytical_seconds = analytical.seconds();
    r.cycle_seconds = cycle ? cycle->seconds() : -1;
    r.seconds = t.seconds();
    r.lower_bound_seconds = t.base.seconds(t.lower_bound);
    r.macs = macs(t.activity.total());
    std::int64_t read = 0, write = 0;
    dram_bytes(t.activity.total(), p, machine_, read, write);
    r.dram_bytes = read + write;
    peak_ = peak_macs_per_s(machine_, compiled_);
    r.utilisation = peak_ > 0 && r.seconds > 0 ? static_cast<double>(r.macs) / (peak_ * r.seconds) : 0;
    r.mapper_tier = "searched: stated space, analytical";
    mapping_gap(r);
    r.binding = busiest(t.resources);
    r.resources = busy(t.resources, t.base);
    for (const GroupTime& g : t.groups) r.waterfall = sum(r.waterfall, waterfall(g.loss, t.base));
    energy(r, t);
    r.free_ops = compiled_.free_ops;
    r.host_ops = compiled_.host_ops;
    r.program_sha256 = sha256_hex(print_program(p));
    r.remarks = compiled_.remarks;
    r.notes = t.notes;
    note_states(r);
    if (options_.detail) detail(r, t, analytical);
    check(r);
    return r;
  }

 private:
  void note_states(WorkloadResult& r) const {
    for (const TensorId t : compiled_.graph.inputs()) {
      const GraphTensor& state = compiled_.graph.tensor(t);
      if (state.state_alias.empty()) continue;
      r.notes.push_back(
          fmt::format("state '{}': its new part '{}' is written as an output of its own; placing it inside the "
                      "state's memory is not compiled",
                      state.name, state.state_alias));
    }
  }

  /// Weighted by time: how far the searched mappings are from what no mapping could beat.
  void mapping_gap(WorkloadResult& r) const {
    double cycles = 0, bound = 0;
    for (const CompiledKernel& k : compiled_.kernels) {
      if (k.host) continue;
      if (k.lower_bound <= 0) return;  // given by hand: unknown
      cycles += k.cost.cycles;
      bound += k.lower_bound;
    }
    r.mapping_gap = bound > 0 ? cycles / bound - 1 : -1;
  }

  void energy(WorkloadResult& r, const TimingResult& t) {
    std::vector<double> spans;
    for (const GroupTime& g : t.groups) spans.push_back(t.base.seconds(g.span));
    energy_ = energy_of(machine_, costs_, compiled_.program, t.activity, r.seconds, spans);
    r.energy_pj = energy_.total_pj;
    r.average_w = energy_.average_w;
    r.peak_w = energy_.peak_w;
    std::map<std::string, double> by_part;
    for (const EnergyTerm& e : energy_.terms) by_part[e.part] += e.pj();
    for (const auto& [part, pj] : by_part) r.energy_by_part.push_back({part, pj});
  }

  void detail(WorkloadResult& r, const TimingResult& t, const TimingResult& analytical) {
    const Program& p = compiled_.program;
    std::map<std::string, double> same, recompiled;  // by binding resource
    std::vector<double> group_pj(p.trail.size(), 0);
    for (const EnergyTerm& e : energy_.terms) {
      if (e.group >= 0) group_pj[static_cast<std::size_t>(e.group)] += e.pj();
    }
    for (std::size_t i = 0; i < p.trail.size(); ++i) {
      const GroupTime& g = t.groups[i];
      LayerResult l;
      l.name = p.trail[i].group;
      l.kind = p.trail[i].layer_kind;
      l.nodes = p.trail[i].nodes;
      l.engine = engine_of(compiled_.kernels[i]);
      l.seconds = t.base.seconds(g.span);
      l.analytical_seconds = analytical.base.seconds(analytical.groups[i].span);
      l.macs = macs(t.activity.groups[i]);
      l.utilisation = peak_ > 0 && l.seconds > 0 ? static_cast<double>(l.macs) / (peak_ * l.seconds) : 0;
      dram_bytes(t.activity.groups[i], p, machine_, l.dram_read_bytes, l.dram_write_bytes);
      const auto bytes = static_cast<double>(l.dram_read_bytes + l.dram_write_bytes);
      l.arithmetic_intensity = bytes > 0 ? 2 * static_cast<double>(l.macs) / bytes : 0;
      l.binding = g.binding;
      l.energy_pj = group_pj[i];
      const CompiledKernel& k = compiled_.kernels[i];
      l.mapping_gap = k.lower_bound > 0 ? k.cost.cycles / k.lower_bound - 1 : -1;
      l.mapping = k.mapping;
      l.resources = busy(g.resources, t.base);
      l.waterfall = waterfall(g.loss, t.base);
      what_if(l, analytical, same, recompiled);
      r.layers.push_back(std::move(l));
    }
    r.memories = memory_use(p, machine_);
    r.timeline = timeline(t, p);
    r.timeline_truncated = t.timeline_truncated;
    r.graph_dot = compiled_.graph_dot;
    if (options_.ablate) ablate(r);
  }

  void ablate(WorkloadResult& r) {
    for (const CompilerSwitch& s : compiler_switches()) {
      CompileOptions without = options_.compile;
      s.off(without);
      if (without.describe() == options_.compile.describe()) continue;  // off already
      try {
        const CompiledModel c = compile(phase_.full().graph, machine_, without, cache_);
        const double seconds = analyse(c.program, machine_).seconds();
        r.ablation.push_back({s.name, r.analytical_seconds > 0 ? seconds / r.analytical_seconds - 1 : 0});
      } catch (const Infeasible& e) {
        r.notes.push_back(fmt::format("without {} nothing fits: {}", s.name, e.what()));
      }
    }
  }

  /// Seconds of the whole model saved by doubling the layer's binding resource; analytical on both sides.
  void what_if(LayerResult& l, const TimingResult& analytical, std::map<std::string, double>& same,
               std::map<std::string, double>& recompiled) {
    l.gain_recompiled = -1;
    const std::string& resource = l.binding;
    if (resource.empty() || resource == "latency" || resource == "none") return;
    const auto it = same.find(resource);
    if (it == same.end()) {
      const double before = analytical.seconds();
      double saved = 0, saved_recompiled = -1;
      const auto doubled = double_resource(machine_, compiled_.program, resource);
      if (doubled) {
        saved = before - analyse(compiled_.program, *doubled).seconds();
        if (options_.recompile_gains) {
          try {
            const CompiledModel again = compile(phase_.full().graph, *doubled, options_.compile, cache_);
            // A new search need not win: the old program still runs on the better machine.
            saved_recompiled = std::max(saved, before - analyse(again.program, *doubled).seconds());
          } catch (const Infeasible&) {
            saved_recompiled = saved;
          }
        }
      }
      same[resource] = saved;
      recompiled[resource] = saved_recompiled;
    }
    l.gain_same_program = same[resource];
    l.gain_recompiled = recompiled[resource];
  }

  void check(WorkloadResult& r) {
    r.check.level = "none";
    if (options_.check == CheckLevel::none) return;
    const bool full =
        options_.check == CheckLevel::full && r.macs <= options_.full_check_macs && phase_.full().executable();
    if (options_.earlier != nullptr) {
      for (const WorkloadResult& w : options_.earlier->workloads) {
        if (w.workload == r.workload && w.phase == r.phase) r.check = w.check;
      }
      if (full && r.check.static_ok) {
        const std::string note = r.check.static_note;
        r.check = check_phase(machine_, phase_, true, options_.compile, cache_);
        r.check.static_note = note;
      }
      return;
    }
    const VerifyResult v = prove(compiled_.program, machine_);
    if (v.too_large) {
      // Neither proven nor refuted: the point stands, but never counts as checked.
      r.check.detail = "not proven: " + v.violations.front().message;
      return;
    }
    r.check.level = "static";
    r.check.static_ok = r.check.passed = v.ok();
    r.check.static_note =
        fmt::format("{} command instances walked{}", v.instances, v.sampled ? ", long loops cut" : "");
    if (!v.ok()) {
      const Violation& first = v.violations.front();
      r.check.detail = fmt::format("{}: {}: {}", first.rule, first.where, first.message);
      return;
    }
    if (options_.check == CheckLevel::statically) return;
    if (!full && !phase_.has_twin()) {
      r.check.detail = "not executed: the workload has no twin";
      return;
    }
    const std::string note = r.check.static_note;
    r.check = check_phase(machine_, phase_, full, options_.compile, cache_);
    r.check.static_note = note;
  }

  const Machine& machine_;
  const PreparedPhase& phase_;
  const PointOptions& options_;
  const CostTable& costs_;
  MappingCache& cache_;
  CompiledModel compiled_;
  EnergyResult energy_;
  double peak_ = 0;
};

void totals(PointResult& p) {
  double error = 0, error_weight = 0, gap = 0;
  p.fully_checked = !p.workloads.empty();
  for (const WorkloadResult& w : p.workloads) {
    const double share = w.weight * static_cast<double>(w.repeat);
    p.latency_s += share * w.seconds;
    p.energy_pj += share * w.energy_pj;
    p.peak_w = std::max(p.peak_w, w.peak_w);
    gap += share * w.seconds * std::max(0.0, w.mapping_gap);
    if (w.cycle_seconds > 0) {
      error += share * std::abs(w.analytical_seconds - w.cycle_seconds);
      error_weight += share * w.cycle_seconds;
    }
    p.fully_checked = p.fully_checked && w.cycle_seconds > 0 && w.check.passed &&
                      (w.check.level == "twin" || w.check.level == "full");
  }
  p.model_error = error_weight > 0 ? error / error_weight : 0;
  p.mapping_gap = p.latency_s > 0 ? gap / p.latency_s : -1;
  p.average_w = p.latency_s > 0 ? p.energy_pj * 1e-12 / p.latency_s : 0;
  p.edp = p.latency_s * p.energy_pj * 1e-12;
}

}  // namespace

std::string model_version() { return std::string("assay 0.1.0, sources ") + source_fingerprint(); }

PointResult evaluate_point(const Machine& machine, const std::vector<WeightedPhase>& phases,
                           const PointOptions& options, MappingCache& cache) {
  PointResult r;
  r.machine = machine.name;
  r.family = machine.family;
  r.design = machine.name;
  r.tdp_w = machine.process.tdp_w;
  const CostTable costs = cost_table(machine);
  r.area_mm2 = costs.area_mm2;
  for (const PartCost& c : costs.parts) {
    const auto n = static_cast<double>(c.instances);
    r.parts.push_back({c.part, c.instances, c.area_mm2 * n, c.leakage_mw * 1e-3 * n, c.source});
  }
  for (const MatrixUnit& u : machine.matrix_units) {
    double best = 0;
    for (const MatrixType& t : u.types) best = std::max(best, t.rate);
    r.peak_tops += 2e-12 * static_cast<double>(u.macs_per_cycle() * u.count * machine.grid.cores()) * best *
                   static_cast<double>(machine.clocks[static_cast<std::size_t>(u.clock)].hz);
  }
  for (const WeightedPhase& wp : phases) {
    const auto where = [&] {
      return fmt::format("{}{}", wp.phase->workload(),
                         wp.phase->phase() == wp.phase->workload() ? "" : "/" + wp.phase->phase());
    };
    try {
      r.workloads.push_back(PhaseEvaluation(machine, *wp.phase, options, costs, cache).run(wp.weight));
    } catch (const Infeasible& e) {
      r.status = "infeasible";
      r.reason = where() + ": " + e.what();
      return r;
    } catch (const InputError& e) {
      r.status = "failed";
      r.reason = where() + ": " + e.what();
      return r;
    }
    const CheckResult& c = r.workloads.back().check;
    if (c.level != "none" && !c.passed) {
      r.status = "mismatch";
      r.reason = where() + ": " + c.detail;
      return r;
    }
  }
  totals(r);
  return r;
}

}  // namespace assay
