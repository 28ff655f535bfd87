#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The machine as a loop nest sees it: storage levels with fan-outs between them, as a plain table of capacities, rates
// and energies. The counting receives this and nothing else.
//
//   DRAM   × 1                          levels[2], outermost
//     │ 1 instance below
//   GLB    × 1      65,536 words        levels[1]
//     │ network: 16 × 16 below it, multicast, reduction
//   RF     × 256       256 words        levels[0], innermost
//     │ 1
//   MAC    × 256                        compute

namespace assay {

/// Instances of a level on the physical mesh, x along a row.
struct MeshExtent {
  std::int64_t x = 1, y = 1;
  std::int64_t count() const { return x * y; }
  friend bool operator==(const MeshExtent&, const MeshExtent&) = default;
};

/// What the network below a level can do.
struct LevelNetwork {
  bool multicast = true;         ///< equal deliveries to several children are one access of the parent
  bool reduction = true;         ///< children's partial sums of the same element are added on the way up
  bool neighbour_links = false;  ///< a child may take from its 4-neighbour what that had one step before
  double energy_per_word = 0;    ///< picojoules per word delivered to (or collected from) one child
  friend bool operator==(const LevelNetwork&, const LevelNetwork&) = default;
};

struct HierarchyLevel {
  std::string name;
  std::optional<std::int64_t> capacity;  ///< words of one instance for all tensors together; unset: unlimited
  MeshExtent mesh;                       ///< instances in the whole machine
  std::int64_t word_bits = 16;
  std::int64_t block_words = 1;              ///< words of one access
  double read_energy = 0, write_energy = 0;  ///< picojoules per access of block_words words
  double read_rate = 0, write_rate = 0;      ///< words per cycle of one instance; 0: unlimited
  double shared_rate = 0;                    ///< reads and writes together; 0: no such limit
  bool may_hold_input = true, may_hold_weight = true, may_hold_output = true;  ///< operand 0, operand 1…, output
  double reserved = 1;  ///< tiles may use capacity / reserved (2: double buffering by halves)
  /// Adds what comes up to the partial sum it holds. false (DRAM): the sum is made inside, so old values travel down the
  /// network as well. Which of the two it is changes the network's count only.
  bool adds_in_place = true;
  LevelNetwork network;  ///< between this level and the next one inside
  friend bool operator==(const HierarchyLevel&, const HierarchyLevel&) = default;
};

struct Hierarchy {
  std::string name;
  std::vector<HierarchyLevel> levels;  ///< innermost first; the last holds every tensor whole
  MeshExtent compute;
  double mac_energy = 0;  ///< picojoules per MAC
  friend bool operator==(const Hierarchy&, const Hierarchy&) = default;

  const MeshExtent& mesh_inside(int level) const {  ///< instances of what lies inside `level` (compute for level 0)
    return level == 0 ? compute : levels[static_cast<std::size_t>(level) - 1].mesh;
  }
  /// Children of one instance of `level` along x and y.
  MeshExtent fanout(int level) const {
    const MeshExtent& in = mesh_inside(level);
    const MeshExtent& out = levels[static_cast<std::size_t>(level)].mesh;
    return {in.x / out.x, in.y / out.y};
  }
};

/// InputError naming the level and the rule: no level, an outer mesh that does not divide the inner one per axis,
/// negative or NaN energies, rates, capacity, reserved share below 1, an outermost level with a capacity.
void check(const Hierarchy& h);

}  // namespace assay
