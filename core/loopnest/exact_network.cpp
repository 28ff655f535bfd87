#include "core/loopnest/exact_network.h"

#include <utility>

#include "core/base/math.h"
#include "core/loopnest/exact_links.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Products over axes: (Π c, Π k) → words.
using ProductShares = std::map<std::pair<Int128, Int128>, Int128>;

void multiply(ProductShares& into, const AxisShares& by) {
  ProductShares out;
  for (const auto& [p, n] : into) {
    for (const auto& [s, m] : by) out[{p.first * s.first, p.second * s.second}] += n * m;
  }
  into = std::move(out);
}

}  // namespace

Int128 ExactTraffic::all() const {
  Int128 n = 0;
  for (const auto& [members, words] : accesses) n += words;
  return n;
}

Int128 ExactTraffic::requests() const {
  Int128 n = 0;
  for (const auto& [members, words] : accesses) n += words * members;
  return n;
}

void ExactTraffic::add(const ExactTraffic& o, Int128 times) {
  for (const auto& [members, words] : o.accesses) accesses[members] += words * times;
  links += o.links * times;
}

ExactNetwork::ExactNetwork(const FlatNest& f, const Einsum& e, const Hierarchy& h, int tensor, int level, bool alone,
                           const CountingConvention& c)
    : f_(f), output_(e.tensors[at(tensor)].output) {
  const EinsumTensor& t = e.tensors[at(tensor)];
  int inside = level - 1;  // the next level inside that holds it
  while (!alone && inside >= 0 && f.held(tensor, inside) == nullptr) --inside;
  if (alone) inside = level;
  mac_ = inside < 0;
  boundary_ = mac_ ? f.loops.size() : f.held(tensor, inside)->position;
  for (int i = level; i > inside; --i) {
    const LevelNetwork& n = h.levels[at(i)].network;
    shares_.push_back(!f.unicast[at(i)][at(tensor)] && (output_ ? n.reduction : n.multicast));
  }
  if (alone) shares_.push_back(true);
  linked_ = !alone && c.neighbour_links && h.levels[at(level)].network.neighbour_links && shares_.size() == 1 &&
            f.held(tensor, level) != nullptr && !f.fans[at(level)].empty() && !f.unlinked[at(level)][at(tensor)] &&
            !(mac_ && output_);
  for (const auto& axis : t.axes) axes_.emplace_back(f, e, axis, boundary_, level, c.shared_overlaps);
  wide_ = axes_.size();
  const std::uint64_t relevant = t.relevant();
  for (std::size_t d = 0; d < e.dims.size(); ++d) {
    if ((relevant >> d & 1) == 0)
      axes_.emplace_back(f, e, std::vector<EinsumTerm>{{static_cast<int>(d), 0}}, boundary_, level, true);
  }
}

ExactTraffic ExactNetwork::traffic(Ints& place, StepBudget& budget) const {
  ExactTraffic out;
  if (mac_ && !linked_) return moment({StepChoice::Kind::any, 0}, place, budget);
  out.add(moment({output_ ? StepChoice::Kind::end : StepChoice::Kind::first, 0}, place, budget), 1);
  for (std::size_t j = 0; j < boundary_; ++j) {
    if (f_.loops[j].temporal()) out.add(moment({StepChoice::Kind::advance, j}, place, budget), 1);
  }
  return out;
}

ExactTraffic ExactNetwork::moment(const StepChoice& choice, Ints& place, StepBudget& budget) const {
  const WordFlow flow = output_ && !mac_ ? WordFlow::leave : WordFlow::enter;
  const bool advances = choice.kind == StepChoice::Kind::advance;
  ExactTraffic out;
  if (linked_ && advances) {
    std::vector<std::vector<AxisStep>> lists;
    for (const ExactAxis& a : axes_) {
      lists.push_back(a.steps(choice, flow, place, budget));
      if (lists.back().empty()) return out;
    }
    const LinkQuestion question{axes_, f_, shares_[0], !mac_};
    std::vector<std::size_t> pick(lists.size(), 0);
    std::vector<const AxisStep*> step(lists.size());
    for (bool more = true; more;) {
      Int128 count = 1;
      for (std::size_t i = 0; i < lists.size(); ++i) {
        step[i] = &lists[i][pick[i]];
        count *= step[i]->count;
      }
      out.add(handed_on(question, step, budget), count);
      std::size_t i = 0;
      while (i < lists.size() && ++pick[i] == lists[i].size()) pick[i++] = 0;
      more = i < lists.size();
    }
    return out;
  }
  ProductShares products{{{1, advances && !mac_ ? 1 : 0}, 1}};
  for (const ExactAxis& a : axes_) multiply(products, a.shares(choice, flow, !mac_, shares_, place, budget));
  for (const auto& [p, words] : products) {
    const Int128 members = p.first - p.second;
    if (members <= 0 || words == 0) continue;
    if (shares_[0]) {
      out.accesses[static_cast<std::int64_t>(members)] += words;
    } else {
      out.accesses[1] += words * members;
    }
  }
  return out;
}

Int128 ExactNetwork::distinct(Ints& place, StepBudget& budget) const {
  Int128 n = 1;
  for (std::size_t a = 0; a < wide_; ++a) n *= axes_[a].distinct(place, budget);
  return n;
}

}  // namespace assay
