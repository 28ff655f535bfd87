#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/loopnest/loop_nest.h"

// How often each level is read and written under a mapping, and what follows: cycles and energy. Conventions of the
// field differ; each difference is a switch, and the default is what hardware that keeps all it can would do.

namespace assay {

struct CountingConvention {
  std::string name = "assay";
  /// true: every iteration counts as it is. false: iterations 0 and 1 of a temporal loop are counted, and the second
  /// stands for the rest (the last one is counted too where its tile is shorter).
  bool every_iteration = true;
  /// true: whatever of the next tile is in the last one stays (the exact box difference in every direction). false: a
  /// translation other than the last non-zero one costs the whole tile, so a halo is reused along one loop only.
  bool halo_everywhere = true;
  /// true: a word that several children take in the same step is one access, also where the rest of what they take
  /// differs (the halo between neighbours). false: only children that take exactly the same share an access.
  bool shared_overlaps = true;
  /// Use LevelNetwork::neighbour_links where the machine has them. A child takes a word over a link when that saves the
  /// parent an access; with shared_overlaps word by word, else only what it takes as a whole.
  bool neighbour_links = true;
  /// false: neighbours are those of the mesh. true: children are numbered through and fill the rows of the whole mesh,
  /// so that neighbours are others where a mapping uses part of a row.
  bool packed_mesh = false;
  /// true: a finished (or evicted) tile of outputs is read from the level that held it.
  bool drain_reads = true;
  /// true: the first visit of an output is not read or filled.
  bool first_read_elision = true;
  /// true: partial sums are added where they arrive, at every level but the outermost; nothing is fetched down except
  /// from there. false: each visit fetches the old value.
  bool reduce_in_place = false;
  /// true: of the children that reduce a word together, one is filled with the old value (what a level reads to hand
  /// down is what the level inside is filled with). false: each of them is.
  bool one_fetch = true;
  /// true: MACs of clipped spatial iterations are counted as they are; cycles by the longest instance. false: all
  /// children are taken to do what the first one does; cycles by the product of the temporal trip counts.
  bool true_imperfect_spatial = true;
};
CountingConvention assay_convention();
CountingConvention timeloop_convention();    ///< of the cases in reference/timeloop
CountingConvention accelforge_convention();  ///< drain charged as reads, each tensor at its own depth

/// One class of a network's traffic, as accesses of one parent instance: words that `multicast` children take (or give,
/// reduced on the way up). With groups (shared_overlaps off) a full step has `scatter` groups of that many children; 0:
/// word by word there are none.
struct NetworkSignature {
  std::int64_t multicast = 1, scatter = 1;
  std::int64_t accesses = 0;
  friend bool operator==(const NetworkSignature&, const NetworkSignature&) = default;
};

/// Over all instances, exact.
struct AccessTotals {
  std::int64_t reads = 0, fills = 0, updates = 0, temporal_reductions = 0, link_transfers = 0, spatial_reductions = 0;
  friend bool operator==(const AccessTotals&, const AccessTotals&) = default;
};

/// Counts of one used instance, in words: the mean of all, rounded, where clips make them differ (see `total`).
struct TensorCounts {
  int tensor = 0;
  bool held = false;
  std::int64_t tile = 0;
  std::int64_t instances = 0;  ///< used
  std::int64_t partition = 0;  ///< words of the whole tensor that one instance meets
  std::int64_t reads = 0, fills = 0, updates = 0, temporal_reductions = 0;
  /// Below this level, in order of (multicast, scatter); also of a tensor that passes a level without being held.
  std::vector<NetworkSignature> network;
  std::int64_t link_transfers = 0, spatial_reductions = 0;  ///< of the network, for one parent instance
  AccessTotals total;
  double energy = 0;          ///< picojoules, all instances: of the level's accesses
  double network_energy = 0;  ///< of the network below it
};

struct LevelCounts {
  std::vector<TensorCounts> tensors;  ///< one per tensor of the einsum
  double cycles = 0;                  ///< what this level alone would need; 0 without limits
  double energy = 0;
  std::string binding;  ///< read, write, shared or empty
};

struct NestCost {
  std::int64_t macs = 0;
  double compute_cycles = 0, cycles = 0;
  double utilisation = 0;  ///< of all MACs over all cycles
  double mac_energy = 0, energy = 0;
  int binding = -1;                 ///< level that sets the cycles; −1: compute
  std::vector<LevelCounts> levels;  ///< innermost first, as in the hierarchy
  double edp() const { return energy * cycles; }
};

/// Counts a checked nest, whether or not it fits: word by word (counting_exact.h) with all of every_iteration,
/// halo_everywhere, shared_overlaps and true_imperfect_spatial, by the first child (counting_sampled.h) without the last
/// two. Its cost does not depend on trip counts. InputError: switches that neither of the two counts, what cannot be
/// counted within 10^8 steps (by name), and a count beyond 2^63.
NestCost count_accesses(const LoopNest& nest, const Einsum& e, const Hierarchy& h,
                        const CountingConvention& convention);

}  // namespace assay
