#include "core/spec/parts.h"

namespace assay {
namespace {

#define SLOT(member) \
  [](Link & l) -> auto& { return l.member; }

bool is_dma(const Link& l) { return l.kind == LinkKind::dma; }
bool is_host(const Link& l) { return l.kind == LinkKind::host; }

Table<Link> make_table() {
  using K = FieldKind;
  Table<Link> t;
  t.push_back(
      choice<Link>("kind", {"dma", "bus", "noc", "chain", "host"}, SLOT(kind),
                   "A `dma` moves data by itself; `noc` and `bus` carry what a dma sends (`via`); `chain` joins "
                   "neighbours; `host` reaches the host processor.")
          .required());
  t.push_back(choice<Link>("topology", {"direct", "crossbar", "mesh", "torus", "ring", "tree"}, SLOT(topology),
                           "Decides how many hops a transfer takes."));
  t.push_back(memory_list<Link>("far", SLOT(far), "Memories on the outer side, towards DRAM."));
  t.push_back(memory_list<Link>("near", SLOT(near), "Memories on the side of the units."));
  t.push_back(reference_list<Link>("via", K::link_list, &Names::links, SLOT(via),
                                   "dma: the noc and bus links that every transfer also occupies."));
  t.push_back(number<Link>("bandwidth", K::bandwidth, SLOT(bandwidth), "Of one port (of one instance for a dma).")
                  .at_least(1)
                  .required());
  t.push_back(number<Link>("aggregate_bandwidth", K::bandwidth, SLOT(aggregate_bandwidth),
                           "Of the whole link. Default: no further limit.")
                  .at_least(1));
  t.back().get = [](const Link& l, const Names&) -> FieldValue {
    return l.aggregate_bandwidth == 0 ? FieldValue{} : FieldValue{static_cast<Real>(l.aggregate_bandwidth)};
  };
  t.push_back(flag<Link>("duplex", SLOT(duplex), "Both directions at the full rate at once."));
  t.push_back(number<Link>("queues", K::integer, SLOT(queues),
                           "dma: 2 has separate load and store queues, 1 has one queue for both.")
                  .range(1, 2)
                  .only_if(is_dma));
  t.push_back(number<Link>("max_request", K::bytes, SLOT(max_request), "Largest single request.").range(1, 0x1p30L));
  t.push_back(
      number<Link>("outstanding", K::integer, SLOT(outstanding), "Requests in flight, per engine.").range(1, 65536));
  t.push_back(number<Link>("latency", K::time, SLOT(latency_s), "Of one request, one way.").range(0, 1));
  t.push_back(
      number<Link>("hop_latency", K::time, SLOT(hop_latency_s), "Added per hop (mesh, torus, ring).").range(0, 1));
  t.push_back(
      number<Link>("launch", K::time, SLOT(launch_s), "host: overhead of one launch.").range(0, 10).only_if(is_host));
  t.push_back(flag<Link>("multicast", SLOT(multicast), "One read may feed several cores."));
  t.push_back(flag<Link>("overlap_compute", SLOT(overlap_compute),
                         "Units may work while this link moves data; false: they stand still."));
  t.push_back(choice<Link>("model", {"ideal", "bandwidth", "detailed"}, SLOT(model),
                           "How much the cycle model simulates, as for memories."));
  t.push_back(clock_field<Link>());
  t.push_back(number<Link>("cost.move", K::energy_per_byte, SLOT(cost.read_pj_per_byte),
                           "Energy per byte (and hop) moved. Default: the component library.")
                  .scaled(1e12L));
  t.push_back(
      number<Link>("cost.leakage", K::power, SLOT(cost.leakage_mw), "Of one instance. Default: the component library.")
          .scaled(1e3L));
  t.push_back(
      number<Link>("cost.area", K::area, SLOT(cost.area_mm2), "Of one instance. Default: the component library.")
          .scaled(1e6L));
  return t;
}
#undef SLOT

}  // namespace

const Table<Link>& link_table() {
  static const Table<Link> table = make_table();
  return table;
}

void finish_link(const Link& l, const Report& report) {
  if (is_dma(l) && (l.far.empty() || l.near.empty())) {
    report("", "a dma needs `far` (memories towards DRAM) and `near` (memories towards the units)");
  }
  for (const MemoryId far : l.far) {
    for (const MemoryId near : l.near) {
      if (far == near) report("near", "the same memory stands in `far` and in `near`");
    }
  }
  if (!is_dma(l) && !l.via.empty()) report("via", "only a dma goes via other links");
  if (!is_host(l) && l.launch_s > 0) report("launch", "only a host link has a launch overhead");
  if (l.aggregate_bandwidth != 0 && l.aggregate_bandwidth < l.bandwidth) {
    report("aggregate_bandwidth", "less than the bandwidth of one port");
  }
}

}  // namespace assay
