#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/loopnest/box.h"
#include "core/loopnest/flat_nest.h"

// The children below one fan-out as one tensor sees them: how many take the same, and who stands beside whom.

namespace assay {

/// A spatial loop below the fan-out: per iteration a child lies `words` further along `axis` (-1: the loop is
/// irrelevant to the tensor).
struct MeshLoop {
  LoopKind kind = LoopKind::spatial_x;
  int axis = -1;
  std::int64_t words = 0;
};

class ChildMesh {
 public:
  /// `fanout` is what the machine has, `used` what a full step uses; `packed`: CountingConvention::packed_mesh.
  ChildMesh(std::vector<MeshLoop> loops, std::size_t axes, bool multicast, bool packed, MeshExtent fanout,
            MeshExtent used, std::string tensor);

  /// Members of a group of children that stand at the same place → groups, for the trips of the loops in a step.
  const std::map<std::int64_t, std::int64_t>& shared(const std::vector<std::int64_t>& trips);

  struct Handed {
    std::map<std::int64_t, std::int64_t> shared;  ///< what is left to the parent
    std::int64_t children = 0;                    ///< how many take theirs from a neighbour
  };
  /// Children whose `now` is what a 4-neighbour had one step before (`then`; both of child 0), if leaving them out
  /// saves the parent whole accesses. Cost: O(children).
  std::optional<Handed> handed_on(const std::vector<Box>& then, const std::vector<std::int64_t>& trips_then,
                                  const std::vector<Box>& now, const std::vector<std::int64_t>& trips);

 private:
  struct Layout {
    std::map<std::int64_t, std::int64_t> shared;
    bool listed = false;
    std::vector<std::vector<std::int64_t>> offset;  ///< of every child, y outside x
    std::vector<int> group;
    int groups = 0;
    std::int64_t row = 1;  ///< children along x
  };
  Layout& layout(const std::vector<std::int64_t>& trips);
  std::map<std::int64_t, std::int64_t> along_axis(const std::vector<std::int64_t>& trips, int axis) const;
  void list(const std::vector<std::int64_t>& trips, Layout& l) const;
  bool neighbour_had(std::size_t child, const Layout& now, const Layout& then,
                     const std::vector<std::int64_t>& motion) const;
  [[noreturn]] void too_many() const;

  std::vector<MeshLoop> loops_;
  std::size_t axes_;
  bool multicast_, packed_;
  std::int64_t row_, column_;
  std::string tensor_;
  std::map<std::vector<std::int64_t>, Layout> layouts_;
};

}  // namespace assay
