#include "tests/loopnest/brute_count.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;
using Words = std::set<Ints>;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct BruteRange {
  std::int64_t lo = 0, hi = 0;
};

struct BruteLoop {
  int dim = 0, below = -1;
  std::int64_t tile = 1, trip = 1;
  LoopKind kind = LoopKind::temporal;
};

class Brute {
 public:
  Brute(const LoopNest& nest, const Einsum& e, const Hierarchy& h, const CountingConvention& c)
      : e_(e), h_(h), c_(c), nest_(nest), holds_(e.tensors.size(), std::vector<int>(h.levels.size(), -1)) {
    Ints extent;
    for (const EinsumDim& d : e.dims) extent.push_back(d.extent);
    const auto add = [&](int dim, std::int64_t tile, LoopKind kind, int below) {
      loops_.push_back({dim, below, tile, (extent[at(dim)] + tile - 1) / tile, kind});
      extent[at(dim)] = tile;
    };
    for (const NestNode& n : nest.nodes) {
      if (const auto* s = std::get_if<StorageNode>(&n)) {
        for (const int t : s->tensors) holds_[at(t)][at(s->level)] = static_cast<int>(loops_.size());
      } else {
        const auto& l = std::get<LoopNode>(n);
        add(l.dim, l.tile, l.kind, l.kind == LoopKind::temporal ? -1 : l.below);
      }
    }
    for (int d = 0; d < static_cast<int>(e.dims.size()); ++d) {
      if (extent[at(d)] > 1) add(d, 1, LoopKind::temporal, -1);
    }
  }

  BruteCounts run() {
    const auto levels = h_.levels.size();
    out_.levels.assign(levels, std::vector<BruteTensor>(e_.tensors.size()));
    reads_.resize(levels);
    writes_.resize(levels);
    used_.resize(levels);
    compute();
    for (int t = 0; t < static_cast<int>(e_.tensors.size()); ++t) tensor(t);
    for (std::size_t i = 0; i < levels; ++i) {
      out_.instances.push_back(static_cast<std::int64_t>(used_[i].size()));
      std::int64_t r = 0, w = 0, both = 0;
      for (const Ints& k : used_[i]) {
        r = std::max(r, reads_[i][k]);
        w = std::max(w, writes_[i][k]);
        both = std::max(both, reads_[i][k] + writes_[i][k]);
      }
      out_.most_reads.push_back(r);
      out_.most_writes.push_back(w);
      out_.most_both.push_back(both);
    }
    return out_;
  }

 private:
  /// Calls f(index) for every combination of the loops before `end` that are temporal (or spatial); the others stay.
  void each(std::size_t end, bool temporal, Ints& index, const std::function<void()>& f, std::size_t i = 0) const {
    if (i == end) return f();
    if ((loops_[i].kind == LoopKind::temporal) != temporal) return each(end, temporal, index, f, i + 1);
    for (index[i] = 0; index[i] < loops_[i].trip; ++index[i]) each(end, temporal, index, f, i + 1);
    index[i] = 0;
  }

  /// Ranges of all dimensions; false if idle.
  bool ranges(const Ints& index, std::size_t end, std::vector<BruteRange>& out) const {
    out.clear();
    for (const EinsumDim& d : e_.dims) out.push_back({0, d.extent});
    for (std::size_t i = 0; i < end; ++i) {
      BruteRange& s = out[at(loops_[i].dim)];
      s.lo += index[i] * loops_[i].tile;
      s.hi = std::min(s.hi, s.lo + loops_[i].tile);
      if (s.lo >= s.hi) return false;
    }
    return true;
  }

  Words box(const EinsumTensor& t, const std::vector<BruteRange>& r) const {
    Words words{{}};
    for (const auto& axis : t.axes) {
      std::int64_t lo = 0, hi = 0;
      for (const EinsumTerm& term : axis) {
        lo += term.coefficient * r[at(term.dim)].lo;
        hi += term.coefficient * (r[at(term.dim)].hi - 1);
      }
      Words longer;
      for (const Ints& w : words) {
        for (std::int64_t x = lo; x <= hi; ++x) {
          Ints y = w;
          y.push_back(x);
          longer.insert(std::move(y));
        }
      }
      words = std::move(longer);
    }
    return words;
  }

  /// Slots of the spatial loops outside `level`.
  Ints instance(const Ints& index, int level) const {
    Ints out;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      if (loops_[i].kind != LoopKind::temporal && loops_[i].below > level) out.push_back(index[i]);
    }
    return out;
  }

  std::pair<std::int64_t, std::int64_t> mesh_place(const Ints& index, int level) const {
    std::int64_t x = 0, y = 0;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      if (loops_[i].below != level) continue;
      std::int64_t& p = loops_[i].kind == LoopKind::spatial_x ? x : y;
      p = p * loops_[i].trip + index[i];
    }
    return {x, y};
  }

  void compute() {
    Ints index(loops_.size(), 0);
    std::vector<BruteRange> r;
    each(loops_.size(), true, index, [&] {
      bool any = false;
      each(loops_.size(), false, index, [&] {
        if (!ranges(index, loops_.size(), r)) return;
        any = true;
        ++out_.macs;
        for (int i = 0; i < static_cast<int>(h_.levels.size()); ++i) used_[at(i)].insert(instance(index, i));
      });
      out_.cycles += any ? 1 : 0;
    });
  }

  struct Child {
    Ints index;
    Words had, has;
    bool works = false, ever = false;
  };

  void tensor(int t) {
    const EinsumTensor& tensor = e_.tensors[at(t)];
    std::vector<int> holders;  // outermost first, −1 for the MACs
    for (int i = static_cast<int>(h_.levels.size()); i-- > 0;) {
      if (holds_[at(t)][at(i)] >= 0) holders.push_back(i);
    }
    holders.push_back(-1);
    own_.assign(h_.levels.size(), {});
    met_.assign(h_.levels.size(), {});
    old_.assign(h_.levels.size(), {});
    moved_.assign(h_.levels.size(), {});
    peers_.assign(h_.levels.size() + 1, 0);
    for (std::size_t k = 0; k + 1 < holders.size(); ++k) boundary(t, tensor, holders[k], holders[k + 1]);
    accounts(t, tensor, holders);
  }

  void boundary(int t, const EinsumTensor& tensor, int parent, int child) {
    const bool mac = child < 0;
    const std::size_t end = mac ? loops_.size() : static_cast<std::size_t>(holds_[at(t)][at(child)]);
    std::map<Ints, Child> children;  // by slots
    Ints index(loops_.size(), 0);
    each(end, false, index, [&] { children[instance(index, child)].index = index; });
    std::vector<BruteRange> r;
    std::map<Ints, Words> arrived;
    const auto move = [&](bool after_all) {
      std::map<std::pair<Ints, std::size_t>, std::vector<const Child*>> requests;  // by word, and by group
      std::vector<std::pair<Words, Words>> groups;  // children of the same words, of which the same stay
      for (auto& [slots, c] : children) {
        if (after_all ? !c.ever : !c.works) continue;
        const Words& from = tensor.output && !mac ? c.had : c.has;
        const Words& other = tensor.output && !mac ? c.has : c.had;
        Words kept;
        for (const Ints& w : from) {
          if (!mac && !after_all && other.contains(w)) kept.insert(w);
        }
        std::size_t group = 0;
        if (!c_.shared_overlaps) {
          while (group < groups.size() && groups[group] != std::pair{from, kept}) ++group;
          if (group == groups.size()) groups.emplace_back(from, kept);
        }
        for (const Ints& w : from) {
          const bool stays = kept.contains(w);
          if (!stays) requests[{w, group}].push_back(&c);
          if (!stays && !mac) ++own_[at(child)][slots];
          if (!mac && tensor.output) met_[at(child)][slots].insert(w);
        }
        if (!mac && !tensor.output) met_[at(child)][slots].insert(c.has.begin(), c.has.end());
      }
      for (const auto& [w, who] : requests)
        deliver(t, tensor, parent, child, w.first, who, children, after_all, arrived);
    };
    each(end, true, index, [&] {
      for (auto& [slots, c] : children) {
        for (std::size_t i = 0; i < end; ++i) {
          if (loops_[i].kind == LoopKind::temporal) c.index[i] = index[i];
        }
        c.works = ranges(c.index, end, r);
        if (c.works) c.has = box(tensor, r);
      }
      move(false);
      for (auto& [slots, c] : children) {
        if (!c.works) continue;
        c.had = c.has;
        c.ever = true;
      }
    });
    if (tensor.output && !mac) move(true);
    for (const auto& [p, words] : arrived) {
      const std::int64_t n = moved_[at(parent)][p];
      old_[at(parent)][p] = n - (c_.first_read_elision ? static_cast<std::int64_t>(words.size()) : 0);
    }
  }

  bool sharing(int t, const EinsumTensor& tensor, int level) const {
    for (const NetworkLimit& n : nest_.networks) {
      if (n.below == level && std::count(n.unicast.begin(), n.unicast.end(), t) > 0) return false;
    }
    const LevelNetwork& n = h_.levels[at(level)].network;
    return tensor.output ? n.reduction : n.multicast;
  }

  bool linked(int t, const EinsumTensor& tensor, int parent, int child) const {
    for (const NetworkLimit& n : nest_.networks) {
      if (n.below == parent && std::count(n.unlinked.begin(), n.unlinked.end(), t) > 0) return false;
    }
    return c_.neighbour_links && h_.levels[at(parent)].network.neighbour_links && child == parent - 1 &&
           !(child < 0 && tensor.output);
  }

  void deliver(int t, const EinsumTensor& tensor, int parent, int child, const Ints& w,
               const std::vector<const Child*>& who, const std::map<Ints, Child>& children, bool after_all,
               std::map<Ints, Words>& arrived) {
    std::map<Ints, std::int64_t> requests;  // by instance of the level below the network
    std::map<Ints, std::vector<const Child*>> groups;
    for (const Child* c : who) groups[instance(c->index, parent)].push_back(c);
    for (const auto& [p, group] : groups) {
      std::vector<const Child*> left = group;
      if (linked(t, tensor, parent, child) && !after_all) {
        left.clear();
        for (const Child* c : group) {
          if (!neighbour_gives(tensor, parent, child, w, *c, children)) left.push_back(c);
        }
        if (sharing(t, tensor, parent) && !left.empty()) left = group;
        out_.levels[at(parent)][at(t)].links += static_cast<std::int64_t>(group.size() - left.size());
        peers_[at(parent)] += static_cast<std::int64_t>(group.size() - left.size());
      }
      for (const Child* c : left) ++requests[instance(c->index, child)];
    }
    for (int i = child + 1; i <= parent; ++i) {
      std::map<Ints, std::int64_t> up;
      for (const auto& [slots, n] : requests) up[Ints(slots.begin(), slots.begin() + outer_slots(i))] += n;
      for (auto& [slots, n] : up) {
        BruteTensor& level = out_.levels[at(i)][at(t)];
        if (sharing(t, tensor, i)) {
          ++level.network[n];
          if (tensor.output) level.spatial_reductions += n - 1;
          n = 1;
        } else {
          level.network[1] += n;
        }
      }
      requests = std::move(up);
    }
    for (const auto& [p, n] : requests) {
      moved_[at(parent)][p] += n;
      arrived[p].insert(w);
    }
  }

  std::ptrdiff_t outer_slots(int level) const {
    return std::count_if(loops_.begin(), loops_.end(),
                         [&](const BruteLoop& l) { return l.kind != LoopKind::temporal && l.below > level; });
  }

  bool neighbour_gives(const EinsumTensor& tensor, int parent, int child, const Ints& w, const Child& c,
                       const std::map<Ints, Child>& children) const {
    const auto [x, y] = mesh_place(c.index, parent);
    for (const auto& [slots, other] : children) {
      if (!other.works || instance(other.index, parent) != instance(c.index, parent)) continue;
      const auto [ox, oy] = mesh_place(other.index, parent);
      if (std::abs(ox - x) + std::abs(oy - y) != 1) continue;
      if ((tensor.output && child >= 0 ? other.has : other.had).contains(w)) return true;
    }
    return false;
  }

  static std::int64_t sum(const std::map<Ints, std::int64_t>& m) {
    std::int64_t n = 0;
    for (const auto& [k, v] : m) n += v;
    return n;
  }

  void accounts(int t, const EinsumTensor& tensor, const std::vector<int>& holders) {
    const int outermost = static_cast<int>(h_.levels.size()) - 1;
    for (std::size_t k = 0; k + 1 < holders.size(); ++k) {
      const int i = holders[k];
      BruteTensor& n = out_.levels[at(i)][at(t)];
      n.held = true;
      const bool outer = i == outermost;
      const std::int64_t peers = outer ? 0 : peers_[at(i) + 1];
      const auto all = static_cast<std::int64_t>(used_[at(i)].size());
      const std::int64_t peers_each = (peers + all - 1) / all;
      const bool fetches = tensor.output && !outer && (!c_.reduce_in_place || holders[k - 1] == outermost);
      for (const Ints& slots : used_[at(i)]) {
        const std::int64_t moved = moved_[at(i)][slots], own = own_[at(i)][slots];
        std::int64_t reads = moved, fills = own, updates = 0;
        if (tensor.output) {
          const auto met = static_cast<std::int64_t>(met_[at(i)][slots].size());
          fills = fetches ? own - (c_.first_read_elision ? met : 0) : 0;
          reads = old_[at(i)][slots];
          if (c_.reduce_in_place && !outer) reads = moved - own + fills;
          if (!(c_.reduce_in_place && outer)) n.reductions += reads;
          if (c_.drain_reads && !outer) reads += own;
          updates = moved;
        }
        n.reads += reads;
        n.updates += updates;
        n.fills += fills;
        reads_[at(i)][slots] += reads + (tensor.output && c_.drain_reads ? 0 : peers_each);
        writes_[at(i)][slots] += fills + updates + (tensor.output && !outer ? peers_each : 0);
      }
      if (!(tensor.output && c_.drain_reads)) n.reads += peers;
      if (tensor.output && !outer) {
        if (fetches && c_.one_fetch) n.fills = sum(old_[at(holders[k - 1])]) + peers;
        if (!fetches) n.fills = peers;
      }
      const Ints first(instance(Ints(loops_.size(), 0), i));
      n.met = outer ? static_cast<std::int64_t>(whole(tensor).size())
                    : static_cast<std::int64_t>(met_[at(i)][first].size());
    }
    for (int i = 0; i <= outermost; ++i) {
      int holder = i;
      while (holds_[at(t)][at(holder)] < 0) ++holder;
      if (tensor.output && !h_.levels[at(holder)].adds_in_place && (!c_.reduce_in_place || holder == outermost) &&
          sum(old_[at(holder)]) > 0)
        out_.levels[at(i)][at(t)].network[1] += sum(old_[at(holder)]);
    }
  }

  Words whole(const EinsumTensor& t) const {
    std::vector<BruteRange> r;
    for (const EinsumDim& d : e_.dims) r.push_back({0, d.extent});
    return box(t, r);
  }

  const Einsum& e_;
  const Hierarchy& h_;
  const CountingConvention& c_;
  const LoopNest& nest_;
  std::vector<BruteLoop> loops_;
  std::vector<std::vector<int>> holds_;  ///< [tensor][level]: loops before, or −1
  BruteCounts out_;
  std::vector<std::map<Ints, std::int64_t>> reads_, writes_;
  std::vector<std::set<Ints>> used_;
  // Of the tensor being counted, by level and instance.
  std::vector<std::map<Ints, std::int64_t>> own_, old_, moved_;
  std::vector<std::map<Ints, Words>> met_;
  std::vector<std::int64_t> peers_;
};

}  // namespace

BruteCounts brute_count(const LoopNest& nest, const Einsum& e, const Hierarchy& h, const CountingConvention& c) {
  return Brute(nest, e, h, c).run();
}

std::vector<std::string> brute_differences(const NestCost& cost, const BruteCounts& b, const Hierarchy& h) {
  std::vector<std::string> out;
  const auto same = [&](const std::string& what, double got, double want) {
    if (got != want) out.push_back(fmt::format("{}: {} instead of {}", what, got, want));
  };
  const auto count = [&](const std::string& what, std::int64_t got, std::int64_t want) {
    same(what, static_cast<double>(got), static_cast<double>(want));
  };
  count("macs", cost.macs, b.macs);
  same("cycles", cost.compute_cycles, static_cast<double>(b.cycles));
  for (std::size_t i = 0; i < h.levels.size(); ++i) {
    const HierarchyLevel& l = h.levels[i];
    const auto of = [&](std::int64_t words, double rate) {
      return rate > 0 ? std::ceil(static_cast<double>(words) / rate) : 0.0;
    };
    same(l.name + " cycles", cost.levels[i].cycles,
         std::max({of(b.most_reads[i], l.read_rate), of(b.most_writes[i], l.write_rate),
                   of(b.most_both[i], l.shared_rate)}));
    for (std::size_t t = 0; t < b.levels[i].size(); ++t) {
      const TensorCounts& n = cost.levels[i].tensors[t];
      const BruteTensor& r = b.levels[i][t];
      const std::string where = fmt::format("{} tensor {} ", l.name, t);
      const auto mean = [&](std::int64_t total) { return (2 * total + b.instances[i]) / (2 * b.instances[i]); };
      count(where + "held", n.held, r.held);
      count(where + "instances", n.instances, b.instances[i]);
      count(where + "reads", n.total.reads, r.reads);
      count(where + "fills", n.total.fills, r.fills);
      count(where + "updates", n.total.updates, r.updates);
      count(where + "reductions", n.total.temporal_reductions, r.reductions);
      count(where + "links", n.total.link_transfers, r.links);
      count(where + "spatial reductions", n.total.spatial_reductions, r.spatial_reductions);
      count(where + "mean reads", n.reads, mean(r.reads));
      if (r.held) count(where + "partition", n.partition, r.met);
      std::map<std::int64_t, std::int64_t> got, want;
      for (const NetworkSignature& s : n.network) got[s.multicast] = s.accesses;
      for (const auto& [m, total] : r.network) want[m] = mean(total);
      for (const auto& [m, v] : want) count(fmt::format("{}shared by {}", where, m), got[m], v);
      for (const auto& [m, v] : got) count(fmt::format("{}shared by {}", where, m), v, want[m]);
    }
  }
  return out;
}

}  // namespace assay
