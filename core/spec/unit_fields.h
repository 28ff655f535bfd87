#pragma once

#include <string>

#include "core/spec/fields.h"

// Fields that several kinds of units share.

namespace assay {

/// `kind: matrix`: read before the table is chosen, so here it only documents and prints itself.
template <class T>
Field<T> kind_field(const std::string& kind) {
  Field<T> f;
  f.spec = {.name = "kind", .kind = FieldKind::choice, .doc = "Which unit it is.", .required = true, .choices = {kind}};
  f.set = [](T&, const FieldValue&, const Names&) {};
  f.get = [kind](const T&, const Names&) -> FieldValue { return kind; };
  return f;
}

template <class T>
Field<T> op_cost_field(std::string doc) {
  return number<T>(
             "cost.op", FieldKind::energy, [](T & u) -> auto& { return u.cost.op_pj; }, std::move(doc))
      .scaled(1e12L);
}

template <class T>
Field<T> leakage_field() {
  return number<T>(
             "cost.leakage", FieldKind::power, [](T & u) -> auto& { return u.cost.leakage_mw; },
             "Of one instance. Default: the component library.")
      .scaled(1e3L);
}

template <class T>
Field<T> area_field() {
  return number<T>(
             "cost.area", FieldKind::area, [](T & u) -> auto& { return u.cost.area_mm2; },
             "Of one instance. Default: the component library.")
      .scaled(1e6L);
}

Field<MatrixUnit> dataflow_field(std::string doc);
/// `dtypes`: operand type → accumulator and relative rate.
Field<MatrixUnit> types_field();

}  // namespace assay
