#include "core/spec/parts.h"
#include "core/spec/unit_fields.h"

namespace assay {
namespace {

#define SLOT(member) \
  [](VectorUnit & u) -> auto& { return u.member; }

Field<VectorUnit> ops_field() {
  Field<VectorUnit> f;
  f.spec = {.name = "ops",
            .kind = FieldKind::vector_ops,
            .doc =
                "Operations it executes: `any`, classes (arithmetic, compare, transcendental, convert, reduce) or "
                "names, each with its throughput relative to `lanes`. What is not listed it can't do.",
            .required = true,
            .choices = vector_op_names()};
  f.set = [](VectorUnit& u, const FieldValue& v, const Names&) {
    u.ops.clear();
    for (const TypeRate& t : std::get<std::vector<TypeRate>>(v)) u.ops[t.key] = static_cast<double>(t.rate);
  };
  f.get = [](const VectorUnit& u, const Names&) -> FieldValue {
    std::vector<TypeRate> out;
    for (const auto& [op, rate] : u.ops) out.push_back({op, "", static_cast<Real>(rate)});
    return out.empty() ? FieldValue{} : FieldValue{out};
  };
  return f;
}

Field<VectorUnit> types_field_of_vector() {
  Field<VectorUnit> f;
  f.spec = {.name = "dtypes",
            .kind = FieldKind::vector_types,
            .doc = "Types it computes in, each with its rate relative to `lanes`.",
            .required = true,
            .choices = {}};
  f.set = [](VectorUnit& u, const FieldValue& v, const Names&) {
    u.types.clear();
    for (const TypeRate& t : std::get<std::vector<TypeRate>>(v)) {
      u.types[*parse_dtype(t.key)] = static_cast<double>(t.rate);
    }
  };
  f.get = [](const VectorUnit& u, const Names&) -> FieldValue {
    std::vector<TypeRate> out;
    for (const auto& [type, rate] : u.types) out.push_back({std::string(name(type)), "", static_cast<Real>(rate)});
    return out.empty() ? FieldValue{} : FieldValue{out};
  };
  return f;
}

Table<VectorUnit> make_table() {
  using K = FieldKind;
  Table<VectorUnit> t;
  t.push_back(kind_field<VectorUnit>("vector"));
  t.push_back(number<VectorUnit>("count", K::integer, SLOT(count), "Instances per core.").range(1, 4096));
  t.push_back(number<VectorUnit>("lanes", K::integer, SLOT(lanes), "Results per cycle at rate 1, of one instance.")
                  .range(1, 1'000'000)
                  .required());
  t.push_back(ops_field());
  t.push_back(types_field_of_vector());
  t.push_back(
      number<VectorUnit>("issue", K::cycles, SLOT(issue_cycles), "Fixed cost of one command.").range(0, 1'000'000));
  t.push_back(number<VectorUnit>("pipeline", K::cycles, SLOT(pipeline_cycles), "From last operand to last result.")
                  .range(0, 1'000'000));
  t.push_back(memory_list<VectorUnit>("reads", SLOT(reads), "Default: every memory of the core, accumulators too."));
  t.push_back(memory_list<VectorUnit>("writes", SLOT(writes), "Default: every memory of the core, accumulators too."));
  t.push_back(clock_field<VectorUnit>());
  t.push_back(op_cost_field<VectorUnit>("Energy of one lane operation. Default: the component library."));
  t.push_back(leakage_field<VectorUnit>());
  t.push_back(area_field<VectorUnit>());
  return t;
}
#undef SLOT

}  // namespace

const std::vector<std::string>& vector_op_names() {
  static const std::vector<std::string> names{"any",         "arithmetic",  "compare",     "transcendental",
                                              "convert",     "reduce",      "add",         "sub",
                                              "mul",         "div",         "mod",         "min",
                                              "max",         "pow",         "fmod",        "neg",
                                              "abs",         "sign",        "floor",       "ceil",
                                              "round_even",  "trunc",       "sqrt",        "rsqrt",
                                              "reciprocal",  "exp",         "log",         "sin",
                                              "cos",         "tan",         "tanh",        "sinh",
                                              "cosh",        "asin",        "acos",        "atan",
                                              "asinh",       "acosh",       "atanh",       "erf",
                                              "sigmoid",     "less",        "less_equal",  "equal",
                                              "logical_and", "logical_or",  "logical_xor", "logical_not",
                                              "bit_and",     "bit_or",      "bit_xor",     "bit_not",
                                              "shift_left",  "shift_right", "is_nan",      "is_inf",
                                              "select",      "cast"};
  return names;
}

const Table<VectorUnit>& vector_table() {
  static const Table<VectorUnit> table = make_table();
  return table;
}

}  // namespace assay
