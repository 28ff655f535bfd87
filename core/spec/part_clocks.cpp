#include "core/spec/parts.h"

namespace assay {

const FieldSpec& clock_spec() {
  static const FieldSpec spec{.name = "<name>",
                              .kind = FieldKind::frequency,
                              .doc = "A clock domain. The first one is the core's.",
                              .required = true,
                              .low = 1,
                              .high = 1e11L,
                              .whole = true,
                              .choices = {}};
  return spec;
}

const FieldSpec& quoted_spec() {
  static const FieldSpec spec{.name = "<type>",
                              .kind = FieldKind::op_rate,
                              .doc =
                                  "A peak quoted for this operand type; `check --peak` compares it with what the "
                                  "description implies. One multiply-accumulate is two operations.",
                              .low = 0,
                              .high = 1e24L,
                              .above_low = true,
                              .choices = {}};
  return spec;
}

}  // namespace assay
