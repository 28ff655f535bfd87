#include "core/loopnest/counting_exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/loopnest/count_finish.h"
#include "core/loopnest/exact_network.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Instances of a level that do the same, shifted.
struct InstanceClass {
  Ints place;  ///< one of them: slots by index in FlatNest::loops
  Int128 count = 1;
};

struct InstanceClasses {
  std::vector<InstanceClass> list;  ///< the first is the one with the largest tiles
  Int128 all = 0;
};

InstanceClasses instance_classes(const FlatNest& f, const Einsum& e, const Hierarchy& h, int level) {
  constexpr std::size_t kMost = 10'000;
  std::vector<ExactDim> dims;
  std::vector<const ExactDim::Loop*> loops;
  for (std::size_t d = 0; d < e.dims.size(); ++d)
    dims.emplace_back(f, static_cast<int>(d), e.dims[d].extent, f.loops.size(), level);
  for (const ExactDim& d : dims) {
    for (const ExactDim::Loop& l : d.loops()) {
      if (l.role == ExactDim::Role::instance) loops.push_back(&l);
    }
  }
  InstanceClasses out;
  std::vector<std::size_t> pick(loops.size(), 0);
  InstanceClass c{Ints(f.loops.size(), 0), 1};
  for (bool more = true; more;) {
    c.count = 1;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      c.place[loops[i]->index] = loops[i]->breaks[pick[i]];
      c.count *= loops[i]->breaks[pick[i] + 1] - loops[i]->breaks[pick[i]];
    }
    const bool used = std::all_of(dims.begin(), dims.end(), [&](const ExactDim& d) {
      return !d.steps({StepChoice::Kind::first, 0}, c.place).empty();
    });
    if (used) {
      if (out.list.size() == kMost)
        throw InputError("nest", fmt::format("more than {} different instances of {}: too many spatial loops outside "
                                             "it are clipped",
                                             kMost, h.levels[at(level)].name));
      out.all += c.count;
      out.list.push_back(c);
    }
    std::size_t i = 0;
    while (i < loops.size() && ++pick[i] + 1 == loops[i]->breaks.size()) pick[i++] = 0;
    more = i < loops.size();
  }
  return out;
}

std::int64_t mean(Int128 total, Int128 n) { return whole_count((2 * total + n) / (2 * n)); }

/// One tensor through all levels; vectors by level, then by class of instances.
class ExactTensor {
 public:
  ExactTensor(const FlatNest& f, const Einsum& e, const Hierarchy& h, int tensor, const CountingConvention& c,
              const std::vector<InstanceClasses>& instances)
      : f_(f), e_(e), h_(h), c_(c), t_(tensor), output_(e.tensors[at(tensor)].output), instances_(instances) {}

  void run() {
    levels_.resize(h_.levels.size());
    for (int i = 0; i < levels(); ++i) measure(i);
    for (int i = 0; i < levels(); ++i) settle(i);
  }

  TensorCounts counts(int i) const {
    const Level& l = levels_[at(i)];
    const Int128 n = instances_[at(i)].all;
    TensorCounts out;
    out.tensor = t_;
    out.held = l.held;
    out.instances = whole_count(n);
    network(i, out);
    if (!l.held) return out;
    out.tile = box_elements(e_.tensors[at(t_)], f_.extents(e_, f_.held(t_, i)->position));
    out.partition = whole_count(l.met[0]);
    out.total.reads = whole_count(l.reads);
    out.total.fills = whole_count(l.fills);
    out.total.updates = whole_count(l.updates);
    out.total.temporal_reductions = whole_count(l.reductions);
    out.reads = mean(l.reads, n);
    out.fills = mean(l.fills, n);
    out.updates = mean(l.updates, n);
    out.temporal_reductions = mean(l.reductions, n);
    return out;
  }

  /// Of one instance of a class.
  Int128 busy_reads(int level, std::size_t k) const { return levels_[at(level)].busy_reads[k]; }
  Int128 busy_writes(int level, std::size_t k) const { return levels_[at(level)].busy_writes[k]; }

 private:
  struct Level {
    bool held = false;
    std::vector<ExactTraffic> below;  ///< of the network
    std::vector<Int128> enters;       ///< words that enter (as many leave) the level's own tiles
    std::vector<Int128> met;          ///< different words of the level's own tiles
    std::vector<Int128> old;          ///< outputs: updates that meet an old value
    std::vector<Int128> busy_reads, busy_writes;
    Int128 old_all = 0, links_all = 0;  ///< all instances
    Int128 reads = 0, fills = 0, updates = 0, reductions = 0;
  };

  int levels() const { return static_cast<int>(h_.levels.size()); }
  bool outermost(int i) const { return i == levels() - 1; }
  int holder_outside(int i) const {  ///< the nearest level from i outwards that holds the tensor
    while (f_.held(t_, i) == nullptr) ++i;
    return i;
  }

  void measure(int i) {
    Level& l = levels_[at(i)];
    l.held = f_.held(t_, i) != nullptr;
    const ExactNetwork below(f_, e_, h_, t_, i, false, c_);
    StepBudget budget(fmt::format("{} below {}", e_.tensors[at(t_)].name, h_.levels[at(i)].name));
    const auto& classes = instances_[at(i)].list;
    l.busy_reads.assign(classes.size(), 0);
    l.busy_writes.assign(classes.size(), 0);
    for (const InstanceClass& k : classes) {
      Ints place = k.place;
      l.below.push_back(below.traffic(place, budget));
      l.links_all += l.below.back().links * k.count;
      if (!l.held) continue;
      const ExactNetwork own(f_, e_, h_, t_, i, true, c_);
      l.enters.push_back(outermost(i) ? 0 : own.traffic(place, budget).all());
      l.met.push_back(own.distinct(place, budget));
      if (!output_) continue;
      const Int128 first = c_.first_read_elision ? below.distinct(place, budget) : 0;
      l.old.push_back(l.below.back().all() - first);
      l.old_all += l.old.back() * k.count;
    }
  }

  /// From traffic to accesses of a level that holds the tensor.
  void settle(int i) {
    Level& l = levels_[at(i)];
    if (!l.held) return;
    const auto& classes = instances_[at(i)].list;
    const Int128 peers = outermost(i) ? 0 : levels_[at(i) + 1].links_all;
    const Int128 peers_each = (peers + instances_[at(i)].all - 1) / instances_[at(i)].all;
    const bool fetches = !outermost(i) && fetched_from(holder_outside(i + 1));
    l.reads = output_ && c_.drain_reads ? 0 : peers;
    if (fetches) l.fills = c_.one_fetch ? levels_[at(holder_outside(i + 1))].old_all + peers : 0;
    if (output_ && !fetches) l.fills = peers;
    for (std::size_t k = 0; k < classes.size(); ++k) {
      const Int128 n = classes[k].count, moved = l.below[k].all(), enters = l.enters[k];
      Int128 reads = moved, fills = enters, updates = 0, reductions = 0;
      if (output_) {
        updates = moved;
        fills = fetches ? enters - (c_.first_read_elision ? l.met[k] : 0) : 0;
        reductions = l.old[k];
        if (c_.reduce_in_place && !outermost(i)) reductions = moved - enters + fills;
        reads = reductions;
        if (c_.reduce_in_place && outermost(i)) reductions = 0;
        if (c_.drain_reads && !outermost(i)) reads += enters;
      }
      l.busy_reads[k] = reads + (output_ && c_.drain_reads ? 0 : peers_each);
      l.busy_writes[k] = fills + updates + (output_ && !outermost(i) ? peers_each : 0);
      l.reads += reads * n;
      l.updates += updates * n;
      l.reductions += reductions * n;
      if (!output_ || (fetches && !c_.one_fetch)) l.fills += fills * n;
    }
  }

  /// Does this level hand old values of an output down?
  bool fetched_from(int level) const { return output_ && (!c_.reduce_in_place || outermost(level)); }

  void network(int i, TensorCounts& out) const {
    const Level& l = levels_[at(i)];
    const auto& classes = instances_[at(i)];
    ExactTraffic all;
    for (std::size_t k = 0; k < classes.list.size(); ++k) all.add(l.below[k], classes.list[k].count);
    Int128 reduced = 0;
    if (output_) reduced = all.requests() - all.all();
    const int holder = holder_outside(i);
    if (fetched_from(holder) && !h_.levels[at(holder)].adds_in_place) all.accesses[1] += levels_[at(holder)].old_all;
    for (const auto& [members, words] : all.accesses) {
      if (words != 0) out.network.push_back({members, 0, mean(words, classes.all)});
    }
    out.total.link_transfers = whole_count(all.links);
    out.total.spatial_reductions = whole_count(reduced);
    out.link_transfers = mean(all.links, classes.all);
    out.spatial_reductions = mean(reduced, classes.all);
    out.network_energy = static_cast<double>(all.requests()) * h_.levels[at(i)].network.energy_per_word;
  }

  const FlatNest& f_;
  const Einsum& e_;
  const Hierarchy& h_;
  const CountingConvention& c_;
  int t_;
  bool output_;
  const std::vector<InstanceClasses>& instances_;
  std::vector<Level> levels_;
};

/// Steps of the longest MAC: the one at slot 0 everywhere.
double steps_of_compute(const FlatNest& f, const Einsum& e) {
  double steps = 1;
  const Ints place(f.loops.size(), 0);
  for (std::size_t d = 0; d < e.dims.size(); ++d) {
    const ExactDim dim(f, static_cast<int>(d), e.dims[d].extent, f.loops.size(), -1);
    Int128 n = 0;
    for (const StepClass& s : dim.steps({StepChoice::Kind::any, 0}, place)) n += s.count;
    steps *= static_cast<double>(n);
  }
  return steps;
}

/// What the busiest instance moves: of reads, of writes and of both together, each by itself.
LevelDemand busiest(const std::vector<ExactTensor>& tensors, int level, std::size_t classes) {
  LevelDemand out;
  Int128 reads = -1, writes = -1, both = -1;
  for (std::size_t k = 0; k < classes; ++k) {
    std::vector<double> r, w;
    Int128 sum_r = 0, sum_w = 0;
    for (const ExactTensor& t : tensors) {
      sum_r += t.busy_reads(level, k);
      sum_w += t.busy_writes(level, k);
      r.push_back(static_cast<double>(t.busy_reads(level, k)));
      w.push_back(static_cast<double>(t.busy_writes(level, k)));
    }
    if (sum_r > reads) out.reads = std::move(r);
    if (sum_w > writes) out.writes = std::move(w);
    reads = std::max(reads, sum_r);
    writes = std::max(writes, sum_w);
    both = std::max(both, sum_r + sum_w);
  }
  out.together = static_cast<double>(both);
  return out;
}

}  // namespace

NestCost count_exact(const FlatNest& f, const Einsum& e, const Hierarchy& h, const CountingConvention& c) {
  NestCost cost;
  cost.macs = e.macs();
  cost.compute_cycles = steps_of_compute(f, e);
  for (const EinsumTensor& t : e.tensors) (void)box_elements(t, f.extents(e, 0));  // fits, or says so
  std::vector<InstanceClasses> instances;
  for (int i = 0; i < static_cast<int>(h.levels.size()); ++i) instances.push_back(instance_classes(f, e, h, i));
  std::vector<ExactTensor> tensors;
  tensors.reserve(e.tensors.size());
  for (int t = 0; t < static_cast<int>(e.tensors.size()); ++t) tensors.emplace_back(f, e, h, t, c, instances).run();
  cost.levels.resize(h.levels.size());
  std::vector<LevelDemand> demand;
  for (int i = 0; i < static_cast<int>(h.levels.size()); ++i) {
    for (const ExactTensor& t : tensors) cost.levels[at(i)].tensors.push_back(t.counts(i));
    demand.push_back(busiest(tensors, i, instances[at(i)].list.size()));
  }
  finish_cost(cost, h, demand, false);
  return cost;
}

}  // namespace assay
