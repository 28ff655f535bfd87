#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "hwmodels/timing/flow.h"

namespace assay {
namespace {

using Key = std::vector<std::int64_t>;

// Renumbers keys to class numbers in order of first appearance.
std::vector<std::int64_t> number(const std::vector<Key>& keys, std::size_t& classes) {
  std::map<Key, std::int64_t> seen;
  std::vector<std::int64_t> out;
  out.reserve(keys.size());
  for (const Key& k : keys) out.push_back(seen.try_emplace(k, static_cast<std::int64_t>(seen.size())).first->second);
  classes = seen.size();
  return out;
}

// The affine's value at a core, over all loop iterations: [low, high].
std::pair<std::int64_t, std::int64_t> range_at(const Affine& a, const std::vector<OpenLoop>& open, std::int64_t row,
                                               std::int64_t col) {
  std::int64_t low = a.constant, high = a.constant;
  for (const auto& [var, coefficient] : a.terms) {
    if (var == kCoreRow || var == kCoreCol) {
      const std::int64_t v = coefficient * (var == kCoreRow ? row : col);
      low += v;
      high += v;
      continue;
    }
    for (const OpenLoop& l : open)
      if (l.var == var.value) (coefficient < 0 ? low : high) += coefficient * (l.trip - 1);
  }
  return {low, high};
}

struct CoreTerm {
  const Predicate* predicate;
  const std::vector<OpenLoop>* open;
  std::int64_t row, col;  // coefficients
};

CoreClasses classes_of(const Flow& flow, bool merge) {
  const std::int64_t rows = flow.program->grid.rows, cols = flow.program->grid.cols;
  const std::size_t cores = static_cast<std::size_t>(rows * cols);
  std::vector<CoreTerm> terms;
  for (std::size_t m = 0; m < flow.models.size(); ++m) {
    for (const Predicate& p : flow.models[m].predicates()) {
      CoreTerm t{&p, &flow.model_loops[m], 0, 0};
      for (const auto& [var, coefficient] : p.affine->terms) {
        if (var == kCoreRow) t.row = coefficient;
        if (var == kCoreCol) t.col = coefficient;
      }
      if ((t.row != 0 && rows > 1) || (t.col != 0 && cols > 1)) terms.push_back(t);
    }
  }
  bool leads_row = false, leads_col = false, used[4] = {false, false, false, false};
  const auto lead = [&](Axes a) {
    leads_row = leads_row || a.row;
    leads_col = leads_col || a.col;
  };
  for (const CommandModel& m : flow.models) lead(m.leader());
  for (const Wait* w : flow.waits) lead(w->leader);
  for (const Signal* s : flow.signals) {
    lead(s->leader);
    lead(s->to_leader);
    used[axes_index(s->to_leader)] = used[axes_index(s->to_all)] = true;
  }

  std::vector<Key> keys(cores);
  for (std::size_t c = 0; c < cores; ++c) {
    const std::int64_t row = static_cast<std::int64_t>(c) / cols, col = static_cast<std::int64_t>(c) % cols;
    keys[c] = {leads_row && row == 0 ? 1 : 0, leads_col && col == 0 ? 1 : 0};
    if (!merge) keys[c].push_back(static_cast<std::int64_t>(c));
    for (const CoreTerm& t : terms) {
      const auto [low, high] = range_at(*t.predicate->affine, *t.open, row, col);
      const int regime = t.predicate->regime(low, high);
      keys[c].push_back(regime);
      keys[c].push_back(regime != 0 ? 0 : t.row * row + t.col * col);
    }
  }
  std::size_t count = 0;
  std::vector<std::int64_t> of = number(keys, count);
  const auto group_of = [&](std::size_t core, int axes) {
    const std::size_t row = core / static_cast<std::size_t>(cols), col = core % static_cast<std::size_t>(cols);
    // Cores of one group agree in the axes that are not in the set.
    return ((axes & 1) != 0 ? 0 : row) * static_cast<std::size_t>(cols) + ((axes & 2) != 0 ? 0 : col);
  };
  for (bool changed = true; changed;) {
    std::vector<Key> refined(cores);
    for (std::size_t c = 0; c < cores; ++c) refined[c] = {of[c]};
    for (int axes = 1; axes < 3; ++axes) {  // 3 is one group of all cores: it tells no two cores apart
      if (!used[axes]) continue;
      std::map<std::size_t, Key> content;
      for (std::size_t c = 0; c < cores; ++c) content[group_of(c, axes)].push_back(of[c]);
      for (auto& [group, members] : content) std::sort(members.begin(), members.end());
      std::size_t kinds = 0;
      std::vector<Key> per_core(cores);
      for (std::size_t c = 0; c < cores; ++c) per_core[c] = content[group_of(c, axes)];
      const std::vector<std::int64_t> kind = number(per_core, kinds);
      for (std::size_t c = 0; c < cores; ++c) refined[c].push_back(kind[c]);
    }
    std::size_t next = 0;
    std::vector<std::int64_t> renumbered = number(refined, next);
    changed = next != count;
    of = std::move(renumbered);
    count = next;
  }

  CoreClasses out;
  out.classes.resize(count);
  std::vector<std::size_t> first(count, cores);
  for (std::size_t c = 0; c < cores; ++c) {
    CoreClass& k = out.classes[static_cast<std::size_t>(of[c])];
    if (k.cores++ == 0) {
      k.row = static_cast<std::int64_t>(c) / cols;
      k.col = static_cast<std::int64_t>(c) % cols;
      first[static_cast<std::size_t>(of[c])] = c;
    }
  }
  for (int axes = 1; axes < 4; ++axes) {
    if (!used[axes]) continue;
    out.group_members[axes].assign(count, std::vector<std::int64_t>(count, 0));
    for (std::size_t receiver = 0; receiver < count; ++receiver)
      for (std::size_t c = 0; c < cores; ++c)
        if (group_of(c, axes) == group_of(first[receiver], axes))
          ++out.group_members[axes][receiver][static_cast<std::size_t>(of[c])];
  }
  return out;
}

}  // namespace

CoreClasses core_classes(const Flow& flow) { return classes_of(flow, true); }
CoreClasses one_class_per_core(const Flow& flow) { return classes_of(flow, false); }

}  // namespace assay
