#include "core/loopnest/counting.h"

#include "core/base/error.h"
#include "core/loopnest/counting_exact.h"
#include "core/loopnest/counting_sampled.h"
#include "core/loopnest/flat_nest.h"

namespace assay {

CountingConvention assay_convention() { return {}; }

CountingConvention timeloop_convention() {
  CountingConvention c;
  c.name = "timeloop";
  c.every_iteration = false;
  c.halo_everywhere = false;
  c.shared_overlaps = false;
  c.packed_mesh = true;
  c.drain_reads = false;
  c.one_fetch = false;
  c.true_imperfect_spatial = false;
  return c;
}

CountingConvention accelforge_convention() {
  CountingConvention c;
  c.name = "accelforge";
  c.shared_overlaps = false;
  c.neighbour_links = false;
  c.one_fetch = false;
  return c;
}

NestCost count_accesses(const LoopNest& nest, const Einsum& e, const Hierarchy& h, const CountingConvention& c) {
  const bool words = c.every_iteration && c.halo_everywhere && !c.packed_mesh;
  if (c.true_imperfect_spatial && words && (c.shared_overlaps || !c.neighbour_links))
    return count_exact(flatten(nest, e, h), e, h, c);
  if (c.shared_overlaps || c.true_imperfect_spatial)
    throw InputError("convention",
                     c.name +
                         ": true_imperfect_spatial is counted with every_iteration and halo_everywhere, without "
                         "packed_mesh, and with neighbour_links only if shared_overlaps; without it shared_overlaps "
                         "is not counted");
  return count_sampled(flatten(nest, e, h), e, h, c);
}

}  // namespace assay
