#include "core/loopnest/loop_nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/math.h"
#include "core/loopnest/loop_nest_text.h"

namespace assay {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Walks the nodes outside in and reports the first rule that is broken.
class NestChecker {
 public:
  NestChecker(const LoopNest& nest, const Einsum& e, const Hierarchy& h, const std::vector<SourcePos>& positions)
      : nest_(nest), e_(e), h_(h), positions_(positions) {
    for (const EinsumDim& d : e.dims) extent_.push_back(d.extent);
    held_at_.assign(e.tensors.size(), std::numeric_limits<int>::max());
  }

  void run() {
    const int levels = static_cast<int>(h_.levels.size());
    for (position_ = 0; position_ < nest_.nodes.size(); ++position_) {
      if (const auto* s = std::get_if<StorageNode>(&nest_.nodes[position_])) {
        storage(*s, levels);
      } else {
        loop(std::get<LoopNode>(nest_.nodes[position_]), levels);
      }
    }
    for (std::size_t t = 0; t < e_.tensors.size(); ++t) {
      if (held_at_[t] == std::numeric_limits<int>::max())
        throw InputError(Diagnostic{
            positions_.empty() ? SourcePos{} : positions_[0],
            "nest",
            fmt::format("'{}' is not held at {}, the outermost level", e_.tensors[t].name, h_.levels.back().name),
            {}});
    }
    networks(levels);
  }

 private:
  [[noreturn]] void fail(const std::string& rule) const {
    throw InputError(Diagnostic{
        position_ < positions_.size() ? positions_[position_] : SourcePos{},
        "nest",
        fmt::format("node {} (`{}`): {}", position_ + 1, nest_node_text(nest_.nodes[position_], e_, h_), rule),
        {}});
  }

  void storage(const StorageNode& s, int levels) {
    if (s.level < 0 || s.level >= levels) fail(fmt::format("there is no level {}", s.level));
    if (s.level >= below_)
      fail(fmt::format("a level outside the fan-out below {} stands after its spatial loops",
                       h_.levels[at(below_)].name));
    innermost_ = std::min(innermost_, s.level);
    for (const int t : s.tensors) {
      if (t < 0 || at(t) >= e_.tensors.size()) fail(fmt::format("there is no tensor {}", t));
      const std::string& name = e_.tensors[at(t)].name;
      if (held_at_[at(t)] == std::numeric_limits<int>::max()) {
        if (s.level != levels - 1)
          fail(fmt::format("'{}' is not held at {}, the outermost level, before", name, h_.levels.back().name));
        if (looped_) fail(fmt::format("{} holds every tensor before the first loop", h_.levels.back().name));
      } else if (held_at_[at(t)] == s.level) {
        fail(fmt::format("'{}' is held twice at this level", name));
      } else if (held_at_[at(t)] < s.level) {
        fail(fmt::format("'{}' is held at {}, further inside, before", name, h_.levels[at(held_at_[at(t)])].name));
      }
      if (!may_hold(h_.levels[at(s.level)], e_, t)) fail(fmt::format("the level may not hold '{}'", name));
      held_at_[at(t)] = s.level;
    }
  }

  void loop(const LoopNode& l, int levels) {
    looped_ = true;
    if (l.dim < 0 || at(l.dim) >= e_.dims.size()) fail(fmt::format("there is no dimension {}", l.dim));
    std::int64_t& extent = extent_[at(l.dim)];
    if (l.tile < 1 || l.tile > extent)
      fail(fmt::format("a tile of {} in an extent of {}: expected 1 … {}", l.tile, extent, extent));
    extent = l.tile;
    if (l.kind == LoopKind::temporal) {
      open_ = -1;
      return;
    }
    if (l.below < 0 || l.below >= levels) fail(fmt::format("there is no level {}", l.below));
    const std::string& name = h_.levels[at(l.below)].name;
    if (l.below == below_ && open_ != l.below)
      fail(fmt::format("the spatial loops below {} do not stand together", name));
    if (l.below > below_) fail(fmt::format("a fan-out inside the one below {} stands before it", name));
    if (innermost_ < l.below)
      fail(fmt::format("{}, inside this fan-out, stands before its spatial loops", h_.levels[at(innermost_)].name));
    below_ = open_ = l.below;
  }

  void networks(int levels) const {
    std::set<int> seen;
    for (const NetworkLimit& n : nest_.networks) {
      if (n.below < 0 || n.below >= levels)
        throw InputError("nest", fmt::format("there is no network below level {}", n.below));
      if (!seen.insert(n.below).second)
        throw InputError("nest", fmt::format("the network below {} stands twice", h_.levels[at(n.below)].name));
      for (const auto* list : {&n.unicast, &n.unlinked}) {
        for (const int t : *list) {
          if (t < 0 || at(t) >= e_.tensors.size())
            throw InputError("nest",
                             fmt::format("network below {}: there is no tensor {}", h_.levels[at(n.below)].name, t));
        }
      }
    }
  }

  const LoopNest& nest_;
  const Einsum& e_;
  const Hierarchy& h_;
  const std::vector<SourcePos>& positions_;  ///< by node; may be shorter
  std::size_t position_ = 0;
  std::vector<std::int64_t> extent_;
  std::vector<int> held_at_;  ///< innermost level so far, by tensor
  int innermost_ = std::numeric_limits<int>::max();
  int below_ = std::numeric_limits<int>::max();  ///< of the last fan-out
  int open_ = -1;                                ///< the fan-out whose loops may go on
  bool looped_ = false;
};

}  // namespace

bool may_hold(const HierarchyLevel& level, const Einsum& e, int tensor) {
  if (e.tensors[at(tensor)].output) return level.may_hold_output;
  return tensor == 0 ? level.may_hold_input : level.may_hold_weight;
}

void check(const LoopNest& nest, const Einsum& e, const Hierarchy& h) { NestChecker(nest, e, h, {}).run(); }
void check(const LoopNest& nest, const Einsum& e, const Hierarchy& h, const std::vector<SourcePos>& positions) {
  NestChecker(nest, e, h, positions).run();
}

std::vector<std::string> exceeded_limits(const LoopNest& nest, const Einsum& e, const Hierarchy& h) {
  std::vector<std::int64_t> extent;
  for (const EinsumDim& d : e.dims) extent.push_back(d.extent);
  std::vector<std::int64_t> words(h.levels.size(), 0);
  std::vector<MeshExtent> used(h.levels.size());
  for (const NestNode& node : nest.nodes) {
    if (const auto* s = std::get_if<StorageNode>(&node)) {
      for (const int t : s->tensors) {
        std::int64_t& sum = words[at(s->level)];
        if (__builtin_add_overflow(sum, box_elements(e.tensors[at(t)], extent), &sum))
          throw InputError(h.levels[at(s->level)].name, "its tiles have more than 2^63 words");
      }
      continue;
    }
    const auto& l = std::get<LoopNode>(node);
    const std::int64_t trip = ceil_div(extent[at(l.dim)], l.tile);
    extent[at(l.dim)] = l.tile;
    if (l.kind == LoopKind::spatial_x) used[at(l.below)].x = checked_mul(used[at(l.below)].x, trip);
    if (l.kind == LoopKind::spatial_y) used[at(l.below)].y = checked_mul(used[at(l.below)].y, trip);
  }
  std::vector<std::string> out;
  for (int i = static_cast<int>(h.levels.size()) - 1; i >= 0; --i) {
    const HierarchyLevel& l = h.levels[at(i)];
    if (l.capacity) {
      const auto allowed = static_cast<std::int64_t>(static_cast<long double>(*l.capacity) / l.reserved);
      if (words[at(i)] > allowed)
        out.push_back(fmt::format(
            "{}: tiles of {} words, {} allowed{} ({} too many)", l.name, grouped(words[at(i)]), grouped(allowed),
            l.reserved > 1 ? fmt::format(" of {} (one of {} shares)", grouped(*l.capacity), l.reserved) : std::string(),
            grouped(words[at(i)] - allowed)));
    }
    const MeshExtent there = h.fanout(i);
    const std::string inside = i == 0 ? "compute" : h.levels[at(i) - 1].name;
    for (const auto& [axis, want, have] :
         {std::tuple{'x', used[at(i)].x, there.x}, std::tuple{'y', used[at(i)].y, there.y}}) {
      if (want > have)
        out.push_back(fmt::format("below {}: {} instances of {} along {}, {} there ({} too many)", l.name,
                                  grouped(want), inside, axis, grouped(have), grouped(want - have)));
    }
  }
  return out;
}

std::string nest_node_text(const NestNode& node, const Einsum& e, const Hierarchy& h) {
  const auto level_name = [&h](int level) {
    return level >= 0 && at(level) < h.levels.size() ? h.levels[at(level)].name : fmt::format("level {}", level);
  };
  if (const auto* s = std::get_if<StorageNode>(&node)) {
    std::string names;
    for (const int t : s->tensors) {
      if (!names.empty()) names += ", ";
      names += t >= 0 && at(t) < e.tensors.size() ? e.tensors[at(t)].name : fmt::format("tensor {}", t);
    }
    return fmt::format("{} holds {}", level_name(s->level), names.empty() ? "nothing" : names);
  }
  const auto& l = std::get<LoopNode>(node);
  const std::string dim =
      l.dim >= 0 && at(l.dim) < e.dims.size() ? e.dims[at(l.dim)].name : fmt::format("dimension {}", l.dim);
  if (l.kind == LoopKind::temporal) return fmt::format("for {} by {}", dim, l.tile);
  return fmt::format("spatial {} by {} over {} below {}", dim, l.tile, l.kind == LoopKind::spatial_x ? 'x' : 'y',
                     level_name(l.below));
}

std::string grouped(std::int64_t v) {
  std::string digits = fmt::format("{}", v);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string print_loop_nest(const LoopNest& nest, const Einsum& e, const Hierarchy& h) {
  std::vector<std::int64_t> extent;
  for (const EinsumDim& d : e.dims) extent.push_back(d.extent);
  std::string out, indent;
  for (const NestNode& node : nest.nodes) {
    std::string line = indent + nest_node_text(node, e, h);
    if (const auto* s = std::get_if<StorageNode>(&node)) {
      std::string tiles;
      for (const int t : s->tensors) {
        const EinsumTensor& tensor = e.tensors[at(t)];
        tiles += fmt::format("{}{} {}", tiles.empty() ? "" : ", ", tensor.name, grouped(box_elements(tensor, extent)));
      }
      if (!tiles.empty()) line += fmt::format("  [words: {}]", tiles);
    } else {
      const auto& l = std::get<LoopNode>(node);
      std::int64_t& outside = extent[at(l.dim)];
      const std::int64_t trip = ceil_div(outside, l.tile), last = outside - (trip - 1) * l.tile;
      line += fmt::format("  ({} x{})", grouped(trip), last == l.tile ? "" : fmt::format(", the last {}", last));
      outside = l.tile;
      indent += "  ";
    }
    out += line + "\n";
  }
  std::string left;
  for (std::size_t d = 0; d < extent.size(); ++d) {
    if (extent[d] > 1)
      left += fmt::format("{}{} by 1 ({} x)", left.empty() ? "" : ", ", e.dims[d].name, grouped(extent[d]));
  }
  return out + indent + (left.empty() ? "MAC\n" : fmt::format("MAC for {}\n", left));
}

}  // namespace assay
