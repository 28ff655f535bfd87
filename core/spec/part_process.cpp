#include "core/spec/parts.h"

namespace assay {
namespace {

#define SLOT(member) \
  [](Machine & m) -> auto& { return m.member; }

/// Zero stands for "not stated" and is not printed.
Field<Machine> positive(Field<Machine> f) {
  f.get = [inner = std::move(f.get)](const Machine& m, const Names& names) -> FieldValue {
    FieldValue v = inner(m, names);
    return std::get<Real>(v) == 0 ? FieldValue{} : v;
  };
  return f;
}

Table<Machine> make_process() {
  using K = FieldKind;
  Table<Machine> t;
  t.push_back(positive(number<Machine>("node", K::length, SLOT(process.node_nm),
                                       "Process node; decides energy and area "
                                       "from the component library.")
                           .scaled(1e9L)
                           .range(1e-9L, 1e-6L)));
  t.push_back(
      positive(number<Machine>("voltage", K::voltage, SLOT(process.voltage), "Supply of the logic.").range(0.1L, 5)));
  t.push_back(positive(
      number<Machine>("tdp", K::power, SLOT(process.tdp_w), "Limit on the average power. Default: none stated.")
          .range(0, 1e6L)
          .above_zero()));
  t.push_back(positive(number<Machine>("static_power", K::power, SLOT(static_power_w),
                                       "Board and SoC power outside the parts listed. Default: none.")
                           .range(0, 1e6L)));
  return t;
}

Table<Machine> make_header() {
  using K = FieldKind;
  Table<Machine> t;
  t.push_back(text<Machine>("machine", K::name, SLOT(name), "The machine's name."));
  t.back().spec.required = true;
  t.push_back(text<Machine>("family", K::name, SLOT(family),
                            "Groups design points in rankings. Default: the machine named in the outermost file of "
                            "`extends`."));
  t.push_back(text<Machine>("description", K::text, SLOT(description), "One paragraph for reports."));
  return t;
}
#undef SLOT

}  // namespace

const Table<Machine>& process_table() {
  static const Table<Machine> table = make_process();
  return table;
}

const Table<Machine>& header_table() {
  static const Table<Machine> table = make_header();
  return table;
}

}  // namespace assay
