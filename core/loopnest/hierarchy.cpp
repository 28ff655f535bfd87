#include "core/loopnest/hierarchy.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "core/base/error.h"

namespace assay {
namespace {

void check_number(const std::string& level, const char* what, double v) {
  if (!(v >= 0) || std::isinf(v)) throw InputError(level, fmt::format("{} is {}: expected a number >= 0", what, v));
}

void check_mesh(const std::string& name, const MeshExtent& m) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  if (m.x < 1 || m.y < 1 || m.x > kMost || m.y > kMost)
    throw InputError(name, fmt::format("{} x {} instances: expected 1 … 2^30 per axis", m.x, m.y));
}

}  // namespace

void check(const Hierarchy& h) {
  if (h.levels.empty()) throw InputError(h.name.empty() ? "hierarchy" : h.name, "there is no level");
  check_mesh("compute", h.compute);
  check_number("compute", "mac_energy", h.mac_energy);
  std::set<std::string> names;
  for (std::size_t i = 0; i < h.levels.size(); ++i) {
    const HierarchyLevel& l = h.levels[i];
    if (!names.insert(l.name).second) throw InputError(l.name, "two levels have this name");
    check_mesh(l.name, l.mesh);
    const MeshExtent& inner = h.mesh_inside(static_cast<int>(i));
    const std::string inside = i == 0 ? "compute" : h.levels[i - 1].name;
    for (const auto& [axis, in, out] : {std::tuple{'x', inner.x, l.mesh.x}, std::tuple{'y', inner.y, l.mesh.y}}) {
      if (in % out != 0)
        throw InputError(l.name, fmt::format("{} instances along {} do not divide the {} of {}, the level inside", out,
                                             axis, in, inside));
    }
    if (l.capacity && *l.capacity < 0)
      throw InputError(l.name, fmt::format("capacity is {}: expected >= 0", *l.capacity));
    if (!(l.reserved >= 1) || std::isinf(l.reserved))
      throw InputError(l.name, fmt::format("reserved is {}: expected a number >= 1", l.reserved));
    if (l.word_bits < 1) throw InputError(l.name, fmt::format("word_bits is {}: expected >= 1", l.word_bits));
    if (l.block_words < 1) throw InputError(l.name, fmt::format("block_words is {}: expected >= 1", l.block_words));
    check_number(l.name, "read_energy", l.read_energy);
    check_number(l.name, "write_energy", l.write_energy);
    check_number(l.name, "read_rate", l.read_rate);
    check_number(l.name, "write_rate", l.write_rate);
    check_number(l.name, "shared_rate", l.shared_rate);
    check_number(l.name, "energy_per_word", l.network.energy_per_word);
  }
  const HierarchyLevel& outer = h.levels.back();
  if (outer.capacity)
    throw InputError(outer.name, fmt::format("the outermost level has a capacity of {} words: it holds every tensor "
                                             "whole, leave the capacity out",
                                             *outer.capacity));
  if (!outer.may_hold_input || !outer.may_hold_weight || !outer.may_hold_output)
    throw InputError(outer.name, "the outermost level holds every tensor, but may not hold every role");
}

}  // namespace assay
