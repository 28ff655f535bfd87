#include "core/spec/parts.h"
#include "core/spec/unit_fields.h"

namespace assay {
namespace {

Table<HostUnit> make_table() {
  Table<HostUnit> t;
  t.push_back(kind_field<HostUnit>("host"));
  t.push_back(number<HostUnit>(
                  "rate", FieldKind::op_rate, [](HostUnit & h) -> auto& { return h.flops_per_s; },
                  "What the host's processor sustains on the operations left to it.")
                  .above_zero()
                  .required());
  t.push_back(text<HostUnit>(
      "link", FieldKind::link, [](HostUnit & h) -> auto& { return h.link; },
      "The link of kind host through which it reaches DRAM."));
  t.back().spec.required = true;
  return t;
}

}  // namespace

const Table<HostUnit>& host_table() {
  static const Table<HostUnit> table = make_table();
  return table;
}

}  // namespace assay
