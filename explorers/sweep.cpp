#include "explorers/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "explorers/rank.h"
#include "explorers/result_json.h"
#include "explorers/store.h"
#include "explorers/strategy.h"

namespace assay {
namespace {

CheckLevel level(const std::string& text) {
  if (text == "none") return CheckLevel::none;
  if (text == "static") return CheckLevel::statically;
  return text == "full" ? CheckLevel::full : CheckLevel::twin;
}

/// How much is done for a point; later stages include earlier ones.
enum class Stage : std::uint8_t { timed, detailed, checked_in_full };
const char* name(Stage s) { return s == Stage::timed ? "1-timed" : s == Stage::detailed ? "2-detailed" : "3-full"; }

class SweepRun {
 public:
  SweepRun(const SweepSpec& spec, const SweepOptions& options) : spec_(spec), options_(options) {}

  SweepResult run() {
    load_inputs();
    auto strategy = strategies().make(spec_.strategy, {space_size(spec_), spec_.samples, spec_.seed});
    // A model that can't be read is said before anything is written. A sweep that goes on may need none of them.
    std::error_code error;
    if (options_.fresh || !std::filesystem::exists(options_.store_path, error)) {
      const bool twins = level(spec_.check) >= CheckLevel::twin;
      for (const WeightedPhase& p : phases_) {
        p.phase->full();
        if (twins && p.phase->has_twin()) p.phase->twin();
      }
    }
    if (options_.ready) options_.ready();
    if (!options_.store_path.empty()) store_ = std::make_unique<Store>(options_.store_path, options_.fresh);
    std::vector<std::int64_t> indices;
    for (;;) {
      const auto batch = strategy->ask(4096);
      if (batch.empty()) break;
      indices.insert(indices.end(), batch.begin(), batch.end());
      strategy->tell({});
    }
    std::sort(indices.begin(), indices.end());
    points_.resize(indices.size());
    std::vector<std::size_t> all(indices.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = i;
      designs_.push_back(point_at(spec_, indices[i]));
    }
    evaluate(all, Stage::timed, "points");
    finish_ranking();
    if (!stopped()) refine();
    return finish();
  }

 private:
  bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  void load_inputs() {
    result_.name = spec_.name;
    result_.objective = spec_.objective;
    WorkloadOptions wo;
    wo.precision = spec_.precision;
    manifest("sweep file", fmt::format("{} sha256:{}", spec_.source_path, spec_.source_sha256));
    double sum = 0;
    for (const SweepWorkload& w : spec_.workloads) sum += w.weight;
    for (const SweepWorkload& w : spec_.workloads) {
      for (const Workload& loaded : load_workloads(w.path, wo)) {
        for (const WorkloadPhase& p : loaded.phases) {
          phases_.push_back({std::make_shared<PreparedPhase>(loaded.name, p, loaded.precision, spec_.seed),
                             w.weight / sum * loaded.weight});
        }
        for (const WorkloadSource& s : loaded.sources) {
          inputs_hash_.update(s.sha256);
          manifest("workload " + loaded.name, fmt::format("{} sha256:{}", s.path, s.sha256));
        }
        inputs_hash_.update(loaded.name).update(loaded.precision);
      }
      inputs_hash_.update(w.weight);
    }
    for (const SweepMachine& m : spec_.machines) {
      manifest("machine", fmt::format("{} sha256:{}", m.path, sha256_file(m.path)));
      for (const SweepAxis& a : m.axes) {
        if (std::find(result_.axes.begin(), result_.axes.end(), a.path) == result_.axes.end())
          result_.axes.push_back(a.path);
      }
    }
    manifest("objective", spec_.objective);
    manifest("strategy", fmt::format("{} samples={} seed={}", spec_.strategy, spec_.samples, spec_.seed));
    manifest("check", spec_.check);
    manifest("compiler options", options_.compile.describe());
    manifest("model version", model_version());
    inputs_hash_.update(options_.compile.describe())
        .update(model_version())
        .update(spec_.check)
        .update(static_cast<std::int64_t>(spec_.seed))
        .update(spec_.full_check_macs);
    inputs_key_ = inputs_hash_.hex();
  }

  void manifest(std::string key, std::string value) { result_.manifest.push_back({std::move(key), std::move(value)}); }

  int thread_count() const {
    const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    return options_.threads > 0 ? options_.threads : cores;
  }

  /// Evaluates points in parallel; each result lands at its own place, so the order of completion does not matter.
  void evaluate(const std::vector<std::size_t>& which, Stage stage, const std::string& title) {
    progress_ = {title, 0, static_cast<std::int64_t>(which.size()), 0, 0, ""};
    if (options_.progress) options_.progress(progress_);
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    const auto work = [&] {
      for (;;) {
        const std::size_t i = next++;
        if (i >= which.size() || stopped()) return;
        try {
          one(which[i], stage);
        } catch (...) {
          const std::lock_guard lock(mutex_);
          if (!failure) failure = std::current_exception();
          next = which.size();
        }
      }
    };
    std::vector<std::jthread> threads;
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(thread_count()), which.size());
    for (std::size_t t = 1; t < count; ++t) threads.emplace_back(work);
    work();
    threads.clear();
    if (failure) std::rethrow_exception(failure);
  }

  void one(std::size_t i, Stage stage) {
    const DesignPoint& d = designs_[i];
    const SweepMachine& m = spec_.machines[d.machine];
    PointResult r;
    bool reused = false;
    std::string key;
    try {
      const Machine machine = load_machine(m.path, d.overrides);
      const bool cycle = stage != Stage::timed || static_cast<std::int64_t>(designs_.size()) <= spec_.cycle_points;
      key = Sha256().update(print_machine(machine)).update(inputs_key_).update(std::int64_t{cycle}).hex();
      if (store_) {
        if (const auto found = store_->find(key + name(stage))) {
          r = point_from_json(*found);
          reused = true;
        }
      }
      if (!reused) {
        PointOptions o;
        o.compile = options_.compile;
        o.cycle = cycle;
        o.detail = stage != Stage::timed;
        o.recompile_gains = o.ablate = stage != Stage::timed;
        o.check = level(spec_.check);
        if (stage == Stage::checked_in_full) {
          o.check = CheckLevel::full;
          o.full_check_macs = spec_.check == "full" ? std::numeric_limits<std::int64_t>::max() : spec_.full_check_macs;
        }
        const PointResult before = points_[i];
        if (stage != Stage::timed) o.earlier = &before;
        r = evaluate_point(machine, phases_, o, cache_);
      }
      r.machine = machine.name;
      r.family = machine.family;
    } catch (const StoreError&) {
      throw;
    } catch (const InputError& e) {
      r.status = "invalid";
      r.reason = e.what();
      r.machine = r.family = m.path;
    }
    r.index = d.index;
    r.key = key;
    const std::string label = d.label();
    r.design = label.empty() ? r.machine : r.machine + " " + label;
    r.parameters.clear();
    for (const Override& o : d.overrides) r.parameters.push_back({o.path, o.value});
    constrain(r);
    if (store_ && !reused && !key.empty() && r.status != "timeout")
      store_->put(key + name(stage), name(stage), to_json(r));
    const std::lock_guard lock(mutex_);
    ++progress_.done;
    progress_.reused += reused;
    progress_.failed += r.status != "ok";
    progress_.last = r.design;
    points_[i] = std::move(r);
    done_.insert(i);
    if (options_.progress) options_.progress(progress_);
  }

  void constrain(PointResult& r) const {
    r.constraint_violations.clear();
    for (const Constraint& c : spec_.constraints) {
      const double v = c.quantity == "area_mm2"    ? r.area_mm2
                       : c.quantity == "average_w" ? r.average_w
                       : c.quantity == "peak_w"    ? r.peak_w
                       : c.quantity == "latency_s" ? r.latency_s
                                                   : r.energy_pj * 1e-12;
      if (r.status == "ok" && v > c.limit)
        r.constraint_violations.push_back(fmt::format("{} {:.4g} is over the limit {:.4g}", c.quantity, v, c.limit));
    }
  }

  void finish_ranking() {
    result_.points.clear();
    order_.clear();
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (!done_.contains(i)) continue;
      order_.push_back(i);
      result_.points.push_back(points_[i]);
    }
    rank(result_);
  }

  /// Detail for the best, and all that are tied with them; then the winner of each family is executed in full. A
  /// refined figure can change the order, so this repeats until the best are all refined.
  void refine() {
    for (int round = 0; round < 4; ++round) {
      std::vector<std::size_t> detail, full;
      std::set<std::string> families;
      bool tied = false;
      for (std::size_t r = 0; r < result_.ranking.size(); ++r) {
        const std::size_t i = order_[result_.ranking[r].point];
        const bool among_best = static_cast<std::int64_t>(r) < spec_.detail_points || tied;
        tied = among_best && result_.ranking[r].tied_with_next;
        const bool winner = families.insert(points_[i].family).second;
        if (winner && spec_.check != "none" && spec_.check != "static") {
          if (!refined_in_full_.contains(i)) full.push_back(i);
        } else if (among_best && !refined_.contains(i) && !refined_in_full_.contains(i)) {
          detail.push_back(i);
        }
      }
      if (detail.empty() && full.empty()) return;
      if (!full.empty()) evaluate(full, Stage::checked_in_full, "family winners in full");
      if (!detail.empty() && !stopped()) evaluate(detail, Stage::detailed, "details");
      if (stopped()) return;
      refined_.insert(detail.begin(), detail.end());
      refined_in_full_.insert(full.begin(), full.end());
      finish_ranking();
    }
  }

  SweepResult finish() {
    finish_ranking();
    if (stopped())
      manifest("stopped", fmt::format("{} of {} points were evaluated", result_.points.size(), designs_.size()));
    if (result_.ranking.empty() && !stopped()) {
      std::map<std::string, std::int64_t> reasons;
      const bool bad_input = std::all_of(result_.points.begin(), result_.points.end(), [](const PointResult& p) {
        return p.status == "failed" || p.status == "invalid";
      });
      for (const PointResult& p : result_.points) {
        ++reasons[p.status == "ok" ? "constraint: " + p.constraint_violations.front() : p.status + ": " + p.reason];
      }
      std::string text = fmt::format("none of the {} points is feasible:", result_.points.size());
      constexpr std::size_t kShown = 10;
      std::vector<std::pair<std::string, std::int64_t>> often(reasons.begin(), reasons.end());
      std::stable_sort(often.begin(), often.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
      for (std::size_t i = 0; i < std::min(kShown, often.size()); ++i)
        text += fmt::format("\n  {} x {}", often[i].second, often[i].first);
      if (often.size() > kShown) text += fmt::format("\n  and {} further reasons", often.size() - kShown);
      if (bad_input) throw InputError(spec_.source_path, text);
      throw Infeasible(text);
    }
    if (store_) store_->set_manifest(result_.manifest);
    result_.assumptions = {
        "Weights are seeded where the model file holds constants; timing does not depend on their values.",
        "Latency of a suite is the weighted sum of its phases run one after another, batch as in the workload file.",
        "Energy per action comes from the component library unless the description overrides it; each part names its "
        "source.",
    };
    result_.not_modelled = {
        "Tensors sharded over the local memories of a grid between layers: they go through shared or main memory.",
        "Fusion beyond elementwise epilogues (depth-first chains, attention as one loop nest).",
        "Clock and power gating, voltage and thermal limits; average power is reported, not enforced unless "
        "constrained.",
    };
    return std::move(result_);
  }

  const SweepSpec& spec_;
  const SweepOptions& options_;
  std::unique_ptr<Store> store_;
  MappingCache cache_;
  std::vector<WeightedPhase> phases_;
  Sha256 inputs_hash_;
  std::string inputs_key_;
  std::vector<DesignPoint> designs_;
  std::vector<PointResult> points_;
  std::vector<std::size_t> order_;  ///< result point → position in points_
  std::set<std::size_t> done_, refined_, refined_in_full_;
  SweepResult result_;
  SweepProgress progress_;
  std::mutex mutex_;
};

}  // namespace

SweepResult run_sweep(const SweepSpec& spec, const SweepOptions& options) { return SweepRun(spec, options).run(); }

}  // namespace assay
