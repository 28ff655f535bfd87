#include "core/spec/parts.h"
#include "core/spec/unit_fields.h"

namespace assay {
namespace {

#define SLOT(member) \
  [](MatrixUnit & u) -> auto& { return u.member; }

Field<MatrixUnit> size_field() {
  Field<MatrixUnit> f;
  f.spec = {.name = "size",
            .kind = FieldKind::size_pair,
            .doc = "Rows and columns of processing elements.",
            .required = true,
            .low = 1,
            .high = 65536,
            .choices = {}};
  f.set = [](MatrixUnit& u, const FieldValue& v, const Names&) {
    const auto& pair = std::get<std::vector<Real>>(v);
    u.rows = static_cast<std::int64_t>(pair.at(0));
    u.cols = static_cast<std::int64_t>(pair.at(1));
  };
  f.get = [](const MatrixUnit& u, const Names&) -> FieldValue {
    return std::vector<Real>{static_cast<Real>(u.rows), static_cast<Real>(u.cols)};
  };
  return f;
}

Field<MatrixUnit> multicast_field() {
  static const std::vector<std::string> choices{"any", "none"};
  Field<MatrixUnit> f =
      text<MatrixUnit>("multicast", FieldKind::choice, SLOT(multicast), "Whether one read may feed several elements.");
  f.spec.choices = choices;
  return f;
}

Table<MatrixUnit> make_array_table() {
  using K = FieldKind;
  Table<MatrixUnit> t;
  t.push_back(size_field());
  t.push_back(number<MatrixUnit>("count", K::integer, SLOT(count), "Arrays per core; they split the n dimension.")
                  .range(1, 4096));
  t.push_back(dataflow_field("Which loops may be spatial; `free` (the default of an array): any."));
  t.push_back(multicast_field());
  t.push_back(flag<MatrixUnit>("double_buffered_weights", SLOT(double_buffered_weights),
                               "Register files are filled for the next tile while this one computes."));
  t.push_back(
      number<MatrixUnit>("issue", K::cycles, SLOT(issue_cycles), "Fixed cost of one command.").range(0, 1'000'000));
  t.push_back(number<MatrixUnit>("pipeline", K::cycles, SLOT(pipeline_cycles), "From last operand to last result.")
                  .range(0, 1'000'000));
  t.push_back(memory_list<MatrixUnit>("reads", SLOT(reads),
                                      "Memories of the core that feed it. Default: every memory of the core."));
  t.push_back(memory_list<MatrixUnit>("writes", SLOT(writes),
                                      "Where results may go. Default: accumulators, else memories that hold outputs."));
  t.push_back(clock_field<MatrixUnit>());
  t.push_back(leakage_field<MatrixUnit>());
  t.push_back(area_field<MatrixUnit>());
  return t;
}

Table<MatrixUnit> make_mac_table() {
  Table<MatrixUnit> t;
  t.push_back(types_field());
  t.push_back(flag<MatrixUnit>("gate_zero", SLOT(gate_zero), "Zero operands cost no energy (they do cost time)."));
  t.push_back(op_cost_field<MatrixUnit>("Energy of one multiply-accumulate. Default: the component library."));
  return t;
}
#undef SLOT

}  // namespace

const Table<MatrixUnit>& array_table() {
  static const Table<MatrixUnit> table = make_array_table();
  return table;
}

const Table<MatrixUnit>& mac_table() {
  static const Table<MatrixUnit> table = make_mac_table();
  return table;
}

void finish_array(MatrixUnit& u, const Report& report) {
  u.style = ArrayStyle::pe_array;
  if (u.pe_memories.empty()) report("", "an array needs `memories`: the register files of one element");
}

}  // namespace assay
