#include "core/loopnest/counting_sampled.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/base/math.h"
#include "core/loopnest/count_finish.h"

namespace assay {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

double sum(const SignatureCounts& s) {
  double n = 0;
  for (const auto& [key, a] : s) n += a;
  return n;
}
double weighted(const SignatureCounts& s) {
  double n = 0;
  for (const auto& [key, a] : s) n += a * static_cast<double>(key.first);
  return n;
}

/// Instances of a level that a mapping uses on average, rounded down: spatial loops outside it, a clipped one by the
/// mean over the iterations of its dimension outside.
std::int64_t used_instances(const FlatNest& f, std::size_t position) {
  double used = 1;
  for (std::size_t i = 0; i < position; ++i) {
    const FlatLoop& l = f.loops[i];
    if (l.temporal()) continue;
    const auto full = static_cast<double>(l.trip()), last = static_cast<double>(l.last_trip());
    if (full == last) {
      used *= full;
      continue;
    }
    double outer = 1;
    for (std::size_t j = 0; j < i; ++j) {
      const FlatLoop& o = f.loops[j];
      if (o.dim == l.dim) outer = static_cast<double>(o.last_trip()) + static_cast<double>(o.trip()) * (outer - 1);
    }
    used = used * (last + full * (outer - 1)) / outer;
  }
  if (used >= 0x1p62) throw InputError("nest", "more than 2^62 instances are used");
  return static_cast<std::int64_t>(used);
}

std::int64_t fan_children(const FlatNest& f, int level) {
  std::int64_t n = 1;
  for (std::size_t i = f.fans[at(level)].begin; i < f.fans[at(level)].end; ++i) n = checked_mul(n, f.loops[i].trip());
  return n;
}

/// Share of the slots of a full step that are used on average.
double mean_share(const FlatNest& f, std::int64_t used, const Holder* held) {
  if (held == nullptr) return 1;
  double slots = 1;
  for (std::size_t i = 0; i < held->position; ++i) {
    if (!f.loops[i].temporal()) slots *= static_cast<double>(f.loops[i].trip());
  }
  return static_cast<double>(used) / slots;
}

/// Counts of all instances from those of one, and what the network below spends.
void add_totals(TensorCounts& n, double energy_per_word) {
  const auto all = [&n](std::int64_t v) { return whole_count(static_cast<Int128>(v) * n.instances); };
  n.total = {all(n.reads),          all(n.fills),
             all(n.updates),        all(n.temporal_reductions),
             all(n.link_transfers), all(n.spatial_reductions)};
  double words = 0;
  for (const NetworkSignature& s : n.network)
    words += static_cast<double>(s.multicast) * static_cast<double>(s.accesses);
  n.network_energy = words * energy_per_word * static_cast<double>(n.instances);
}

/// One tensor through all levels; arrays by level, innermost first.
class SampledTensor {
 public:
  SampledTensor(const FlatNest& f, const Einsum& e, const Hierarchy& h, int tensor, const CountingConvention& c)
      : f_(f), e_(e), h_(h), c_(c), t_(tensor), levels_(static_cast<int>(h.levels.size())) {
    const auto n = h.levels.size();
    traffic_.resize(n);
    live_.assign(n, true);
    share_.assign(n, 0);
    peers_.assign(n, 0);
    partition_.assign(n, 0);
  }

  std::vector<TensorCounts> run() {
    partitions();
    for (int i = 0; i < levels_; ++i) traffic_[at(i)] = sample_network(f_, e_, h_, t_, i, c_);
    for (int i = 0; i + 1 < levels_; ++i) {
      for (const auto& [key, a] : traffic_[at(i) + 1].accesses)
        share_[at(i)] += a * static_cast<double>(key.first) / static_cast<double>(fan_children(f_, i + 1));
    }
    bypass();
    for (int i = 1; i < levels_; ++i) {
      if (traffic_[at(i)].links != 0)
        peers_[at(i) - 1] = traffic_[at(i)].links / static_cast<double>(used_instances(f_, position(i - 1)));
    }
    std::vector<TensorCounts> out;
    for (int i = 0; i < levels_; ++i) out.push_back(counts(i));
    return out;
  }

 private:
  std::size_t position(int level) const {
    const Holder* held = f_.held(t_, level);
    return held != nullptr ? held->position : f_.begins[at(level)];
  }

  /// Words of the whole tensor that one instance meets: its share below every fan-out outside.
  void partitions() {
    const EinsumTensor& tensor = e_.tensors[at(t_)];
    Int128 words = box_elements(tensor, f_.extents(e_, 0));
    partition_.back() = static_cast<std::int64_t>(words);
    for (int i = levels_ - 2; i >= 0; --i) {
      const FanOut fan = f_.fans[at(i) + 1];
      if (!fan.empty())
        words = words * box_elements(tensor, f_.extents(e_, fan.end)) / box_elements(tensor, f_.extents(e_, fan.begin));
      partition_[at(i)] = static_cast<std::int64_t>(words);
    }
  }

  /// A level that does not hold the tensor passes on what its children take; how that is shared among the instances
  /// of the level stays as it would be for its own tiles.
  void bypass() {
    for (int i = 0; i + 1 < levels_; ++i) {
      if (f_.held(t_, i) != nullptr) continue;
      live_[at(i)] = false;
      SampledTraffic& outer = traffic_[at(i) + 1];
      const double all = sum(traffic_[at(i)].accesses) * static_cast<double>(fan_children(f_, i + 1));
      const double per_word = all / weighted(outer.accesses);
      for (auto& [key, a] : outer.accesses) a *= per_word;
      outer.links = 0;
    }
  }

  TensorCounts counts(int i) const {
    const SampledTraffic& traffic = traffic_[at(i)];
    const EinsumTensor& tensor = e_.tensors[at(t_)];
    const bool outermost = i == levels_ - 1;
    const double own = live_[at(i)] ? static_cast<double>(partition_[at(i)]) : 0;
    TensorCounts n;
    n.tensor = t_;
    n.held = live_[at(i)];
    n.instances = used_instances(f_, position(i));
    for (const auto& [key, a] : traffic.accesses) {
      const double both_ways = tensor.output && !h_.levels[at(i)].adds_in_place ? 2 * a - own : a;
      n.network.push_back({key.first, key.second, whole_count(both_ways)});
      if (tensor.output)
        n.spatial_reductions =
            count_sum(n.spatial_reductions, whole_count(both_ways * static_cast<double>(key.first - 1)));
    }
    n.link_transfers = whole_count(traffic.links);
    if (!live_[at(i)]) return n;
    n.tile = box_elements(tensor, f_.extents(e_, position(i)));
    n.partition = partition_[at(i)];
    const double taken = sum(traffic.accesses), peers = peers_[at(i)];
    const double enters = outermost ? 0 : share_[at(i)];
    if (!tensor.output) {
      n.reads = whole_count(taken + peers);
      n.fills = static_cast<std::int64_t>(enters + peers);
    } else if (c_.reduce_in_place) {
      in_place(n, i, taken, enters, own, peers);
    } else {
      const double first = c_.first_read_elision ? own : 0;
      n.updates = whole_count(taken);
      n.reads = n.temporal_reductions = whole_count(std::max(0.0, taken + peers - first));
      n.fills = outermost ? whole_count(peers) : whole_count(std::max(0.0, enters + peers - first));
    }
    if (tensor.output && c_.drain_reads && !outermost) n.reads = count_sum(n.reads, whole_count(enters));
    return n;
  }

  /// Every level but the outermost adds to what it holds; the level next to the outermost adds on its behalf.
  void in_place(TensorCounts& n, int level, double taken, double enters, double own, double peers) const {
    const bool outermost = level == levels_ - 1;
    double reads = std::round(taken - enters), reductions = outermost ? 0 : reads, fills = 0,
           updates = std::round(taken);
    bool next = !outermost;
    for (int j = level + 1; j < levels_ - 1; ++j) next = next && !live_[at(j)];
    if (next) {
      const double old = enters - (c_.first_read_elision ? own : 0);
      fills += old;
      reads += old;
      reductions += old;
    }
    if (peers > 0) {
      reads += peers - own;
      reductions += peers - own;
      updates += peers;
    }
    n.reads = whole_count(reads);
    n.temporal_reductions = whole_count(reductions);
    n.fills = whole_count(fills);
    n.updates = whole_count(updates);
  }

  const FlatNest& f_;
  const Einsum& e_;
  const Hierarchy& h_;
  const CountingConvention& c_;
  int t_, levels_;
  std::vector<SampledTraffic> traffic_;
  std::vector<bool> live_;
  std::vector<double> share_, peers_;
  std::vector<std::int64_t> partition_;
};

}  // namespace

NestCost count_sampled(const FlatNest& f, const Einsum& e, const Hierarchy& h, const CountingConvention& c) {
  NestCost cost;
  cost.macs = e.macs();
  bool imperfect = false;
  double temporal = 1;
  for (const FlatLoop& l : f.loops) {
    imperfect = imperfect || l.trip() != l.last_trip();
    if (l.temporal()) temporal *= static_cast<double>(l.trip());
  }
  const auto macs_used = static_cast<double>(used_instances(f, f.loops.size()));
  cost.compute_cycles = imperfect ? temporal : std::ceil(static_cast<double>(cost.macs) / macs_used);
  cost.levels.resize(h.levels.size());
  std::vector<LevelDemand> demand(h.levels.size());
  for (int t = 0; t < static_cast<int>(e.tensors.size()); ++t) {
    std::vector<TensorCounts> counts = SampledTensor(f, e, h, t, c).run();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      TensorCounts& n = counts[i];
      add_totals(n, h.levels[i].network.energy_per_word);
      const double busy = mean_share(f, n.instances, f.held(t, static_cast<int>(i)));
      demand[i].reads.push_back(std::ceil(static_cast<double>(n.reads) * busy));
      demand[i].writes.push_back(std::ceil(static_cast<double>(n.fills + n.updates) * busy));
      cost.levels[i].tensors.push_back(std::move(n));
    }
  }
  finish_cost(cost, h, demand, true);
  return cost;
}

}  // namespace assay
