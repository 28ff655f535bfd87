#include <fmt/format.h>

#include "core/base/math.h"
#include "core/spec/parts.h"
#include "core/spec/unit_fields.h"

namespace assay {
namespace {

#define SLOT(member) \
  [](MatrixUnit & u) -> auto& { return u.member; }

bool systolic(const MatrixUnit& u) { return u.style == ArrayStyle::systolic; }
bool intrinsic(const MatrixUnit& u) { return u.style == ArrayStyle::intrinsic; }

Table<MatrixUnit> make_table() {
  using K = FieldKind;
  Table<MatrixUnit> t;
  t.push_back(kind_field<MatrixUnit>("matrix"));
  t.push_back(number<MatrixUnit>("count", K::integer, SLOT(count), "Instances per core; they split the n dimension.")
                  .range(1, 4096));
  t.push_back(
      dataflow_field("What stays in the array. weight_stationary: rows hold k, columns n; "
                     "output_stationary: m, n; input_stationary: k, m; free: any loop on either axis."));
  t.push_back(number<MatrixUnit>("rows", K::integer, SLOT(rows), "Systolic array: rows of MACs.")
                  .range(1, 65536)
                  .only_if(systolic));
  t.push_back(number<MatrixUnit>("cols", K::integer, SLOT(cols), "Systolic array: columns of MACs.")
                  .range(1, 65536)
                  .only_if(systolic));
  t.push_back(number<MatrixUnit>("intrinsic.m", K::integer, SLOT(m),
                                 "Instead of rows and columns: output rows of one "
                                 "issue.")
                  .range(1, 65536)
                  .only_if(intrinsic));
  t.push_back(number<MatrixUnit>("intrinsic.k", K::integer, SLOT(k), "Reduction length of one issue.")
                  .range(1, 65536)
                  .only_if(intrinsic));
  t.push_back(number<MatrixUnit>("intrinsic.n", K::integer, SLOT(n), "Output columns of one issue.")
                  .range(1, 65536)
                  .only_if(intrinsic));
  t.push_back(number<MatrixUnit>("intrinsic.every", K::cycles, SLOT(every), "Between two issues.")
                  .range(1, 1'000'000)
                  .only_if(intrinsic));
  t.push_back(types_field());
  t.push_back(flag<MatrixUnit>("double_buffered_weights", SLOT(double_buffered_weights),
                               "The next stationary tile loads while this one computes."));
  t.push_back(
      number<MatrixUnit>("issue", K::cycles, SLOT(issue_cycles), "Fixed cost of one command.").range(0, 1'000'000));
  t.push_back(number<MatrixUnit>("pipeline", K::cycles, SLOT(pipeline_cycles),
                                 "From the last operand to the last result, beyond the array's own.")
                  .range(0, 1'000'000));
  t.push_back(flag<MatrixUnit>("gate_zero", SLOT(gate_zero), "Zero operands cost no energy (they do cost time)."));
  t.push_back(
      memory_list<MatrixUnit>("reads", SLOT(reads), "Where operands may stand. Default: every memory of the core."));
  t.push_back(memory_list<MatrixUnit>("writes", SLOT(writes),
                                      "Where results may go. Default: accumulators, else memories that hold outputs."));
  t.push_back(clock_field<MatrixUnit>());
  t.push_back(op_cost_field<MatrixUnit>("Energy of one multiply-accumulate. Default: the component library."));
  t.push_back(leakage_field<MatrixUnit>());
  t.push_back(area_field<MatrixUnit>());
  return t;
}
#undef SLOT

}  // namespace

const Table<MatrixUnit>& matrix_table() {
  static const Table<MatrixUnit> table = make_table();
  return table;
}

void finish_matrix(MatrixUnit& u, const SeenFields& seen, const Report& report) {
  const bool by_size = seen.contains("rows") || seen.contains("cols");
  bool by_intrinsic = false;
  for (const std::string& field : seen) by_intrinsic = by_intrinsic || field.starts_with("intrinsic.");
  if (by_size && by_intrinsic) {
    report("intrinsic", "found together with rows and cols; expected one way or the other");
  } else if (by_size) {
    if (!seen.contains("rows") || !seen.contains("cols")) report("", "a systolic array needs rows and cols");
  } else if (!by_intrinsic) {
    report("", "needs `rows` and `cols` (a systolic array) or `intrinsic: {m, k, n, every}`");
  } else {
    u.style = ArrayStyle::intrinsic;
    if (!seen.contains("intrinsic.k") || !seen.contains("intrinsic.n")) {
      report("intrinsic", "needs at least k and n");
    } else if (u.macs_per_cycle() == 0) {
      report("intrinsic", fmt::format("{} multiply-accumulates every {} cycles are less than one per cycle",
                                      u.m * u.k * u.n, u.every));
    }
  }
  if (u.style == ArrayStyle::systolic && u.dataflow == Dataflow::free) {
    report("dataflow", "a systolic array has a fixed dataflow; use `array` for elements with a free one");
  }
}

}  // namespace assay
