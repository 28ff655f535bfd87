#include "core/loopnest/counting.h"

#include "core/base/error.h"
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
  c.true_imperfect_spatial = false;
  return c;
}

CountingConvention accelforge_convention() {
  CountingConvention c;
  c.name = "accelforge";
  c.shared_overlaps = false;
  c.neighbour_links = false;
  return c;
}

NestCost count_accesses(const LoopNest& nest, const Einsum& e, const Hierarchy& h, const CountingConvention& c) {
  if (c.shared_overlaps || c.true_imperfect_spatial)
    throw InputError("convention", c.name + ": shared overlaps and true imperfect spatial factors are not counted yet");
  return count_sampled(flatten(nest, e, h), e, h, c);
}

}  // namespace assay
