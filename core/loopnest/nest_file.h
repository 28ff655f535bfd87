#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/loopnest/loop_nest.h"
#include "core/spec/yaml.h"

// A mapping as a file, alone or together with what it maps. Two forms; both give the same LoopNest.
//
//   einsum: "Z[m,n] += A[m,k] * B[k,n]"         # optional, with `extents: {m: 64, n: 64, k: 64}`
//   hierarchy: {…}                              # optional, see hierarchy_file.h
//
//   nest:                                       # loops and storage nodes, outermost first
//     - {store: DRAM, tensors: [A, B, Z]}
//     - {for: m, tile: 16}                      # tile: extent inside one iteration; the last one may be shorter
//     - {store: GLB, tensors: [A]}
//     - {spatial: n, tile: 4, over: x, below: GLB}
//   networks:                                   # what the mapping leaves unused
//     - {below: GLB, unicast: [A], unlinked: [B]}
//
//   levels:                                     # or level by level, outermost first
//     - {level: DRAM, temporal: {m: 4}}         # loops outermost first; factors
//     - level: GLB
//       bypass: [B]                             # or keep: [A, Z]; default: all that the level may hold
//       temporal: {k: rest, n: {tile: 16}}      # what the other factors leave; or the tile instead of the factor
//       order: [n, k]                           # optional: instead of the order in which the factors stand
//       spatial: {y: {k: 3}, x: {n: 4}}         # below this level; y outside x as written
//       unicast: [A]
//
// A factor is a number of iterations: factors of a dimension inside a loop make its tile, and the loop must then take
// just as many iterations to cover what is outside (three tiles of 10 cover 25: imperfect, the last one has 5).
// A dimension may not be named in `temporal` of one level twice.

namespace assay {

class NestDocument {
 public:
  /// Reads the file and checks its top-level keys. InputError with file:line:column.
  static NestDocument load(const std::string& path);
  static NestDocument parse(const std::string& text, const std::string& name);

  /// The file's own einsum with its extents; nothing if it states none. `extents` replaces single ones.
  std::optional<Einsum> einsum(const std::map<std::string, std::int64_t>& extents = {}) const;
  std::map<std::string, std::int64_t> extents() const;  ///< as the file states them
  std::optional<Hierarchy> hierarchy() const;
  bool has_mapping() const;

  /// The mapping, checked (loop_nest.h). Names that are no dimension, level or tensor come with the nearest one.
  LoopNest nest(const Einsum& e, const Hierarchy& h) const;

 private:
  explicit NestDocument(YamlNode root);
  YamlNode root_;
};

/// The `nest:` form (and `networks:`), which NestDocument reads as the same LoopNest.
std::string print_nest(const LoopNest& nest, const Einsum& e, const Hierarchy& h);

/// A whole document: einsum, extents, hierarchy and nest.
std::string print_nest_document(const LoopNest& nest, const Einsum& e, const Hierarchy& h);

/// `n=1,k=64` → extents. InputError (`--extents`) naming what is no `name=number` and names that stand twice.
std::map<std::string, std::int64_t> parse_extents(const std::string& text);

}  // namespace assay
