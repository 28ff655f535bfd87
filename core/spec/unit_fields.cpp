#include "core/spec/unit_fields.h"

namespace assay {

Field<MatrixUnit> dataflow_field(std::string doc) {
  return choice<MatrixUnit>(
      "dataflow", {"weight_stationary", "output_stationary", "input_stationary", "free"},
      [](MatrixUnit & u) -> auto& { return u.dataflow; }, std::move(doc));
}

Field<MatrixUnit> types_field() {
  Field<MatrixUnit> f;
  f.spec = {.name = "dtypes",
            .kind = FieldKind::matrix_types,
            .doc = "Operand types, the type each accumulates in, and its rate relative to the unit's peak.",
            .required = true,
            .choices = {}};
  f.set = [](MatrixUnit& u, const FieldValue& v, const Names&) {
    u.types.clear();
    for (const TypeRate& t : std::get<std::vector<TypeRate>>(v)) {
      u.types.push_back({*parse_dtype(t.key), *parse_dtype(t.accumulator), static_cast<double>(t.rate)});
    }
  };
  f.get = [](const MatrixUnit& u, const Names&) -> FieldValue {
    std::vector<TypeRate> out;
    for (const MatrixType& t : u.types) {
      out.push_back({std::string(name(t.operand)), std::string(name(t.accumulator)), static_cast<Real>(t.rate)});
    }
    return out.empty() ? FieldValue{} : FieldValue{out};
  };
  return f;
}

}  // namespace assay
