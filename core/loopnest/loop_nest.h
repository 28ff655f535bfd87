#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/loopnest/einsum.h"
#include "core/loopnest/hierarchy.h"

// A mapping in its most general single-nest form: loops and storage nodes in one list, outermost first. A tensor's
// storage node may stand at its own depth; the familiar level-by-level form is the case in which all nodes of a level
// stand together. (LoopTree, Gilbert et al., 2024; AccelForge's dataplacement.)
//
//   DRAM holds A, B, Z
//   for m by 64                      tile: what is left inside, so an imperfect split needs no residual
//     GLB holds A
//     for n by 32
//       GLB holds B, Z
//       spatial m by 4 over x below GLB
//         RF holds A, B, Z
//         for k by 1 …
//
// Loops that are not written run outside the MAC, over what is left, innermost.

namespace assay {

enum class LoopKind : std::uint8_t { temporal, spatial_x, spatial_y };

struct LoopNode {
  int dim = 0;
  std::int64_t tile = 1;  ///< extent inside one iteration; trip = ceil(extent outside / tile), the last one clipped
  LoopKind kind = LoopKind::temporal;
  int below = 0;  ///< spatial: the level whose fan-out it uses
  friend bool operator==(const LoopNode&, const LoopNode&) = default;
};

struct StorageNode {
  int level = 0;
  std::vector<int> tensors;  ///< empty: holds nothing, but shows where the level begins (a level that all bypass)
  friend bool operator==(const StorageNode&, const StorageNode&) = default;
};

using NestNode = std::variant<StorageNode, LoopNode>;

/// What a mapping leaves unused of the network below a level.
struct NetworkLimit {
  int below = 0;
  std::vector<int> unicast;   ///< tensors that are neither multicast nor reduced there
  std::vector<int> unlinked;  ///< tensors that neighbours do not hand on
  friend bool operator==(const NetworkLimit&, const NetworkLimit&) = default;
};

struct LoopNest {
  std::vector<NestNode> nodes;           ///< outermost first
  std::vector<NetworkLimit> networks{};  ///< at most one per level; none: all that the machine can
  friend bool operator==(const LoopNest&, const LoopNest&) = default;
};

/// Does the level take the role of this tensor: operand 0 is an input, further operands are weights.
bool may_hold(const HierarchyLevel& level, const Einsum& e, int tensor);

/// Structure: known dims, levels and tensors; tiles between 1 and the extent outside; every tensor at the outermost
/// level, before any loop; at most one node per (tensor, level), levels inwards; nodes of levels outside a fan-out
/// before its spatial loops, nodes of levels inside it after them; all spatial loops of a fan-out adjacent; roles that
/// a level may hold. Throws InputError naming the node (its position and text) and the rule.
void check(const LoopNest& nest, const Einsum& e, const Hierarchy& h);
/// The same for a nest out of a file: `positions` (by node) say where the broken rule is reported.
void check(const LoopNest& nest, const Einsum& e, const Hierarchy& h, const std::vector<SourcePos>& positions);

/// Limits of the machine: capacities and fan-outs. Returns what is exceeded, one sentence each with the amount
/// (`GLB: tiles of 70,000 words, 65,536 allowed (4,464 too many)`); empty if it fits.
std::vector<std::string> exceeded_limits(const LoopNest& nest, const Einsum& e, const Hierarchy& h);

/// As the drawing above, with tile sizes per tensor. For people.
std::string print_loop_nest(const LoopNest& nest, const Einsum& e, const Hierarchy& h);

}  // namespace assay
