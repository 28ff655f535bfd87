#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "core/isa/body.h"
#include "core/spec/parts.h"

using namespace assay;

TEST_CASE("a vector unit may list exactly the scalar operations of programs and their classes") {
  const std::vector<std::string>& names = vector_op_names();
  const auto listed = [&names](std::string_view n) { return std::find(names.begin(), names.end(), n) != names.end(); };
  for (int i = 0; i <= static_cast<int>(ScalarOp::cast); ++i) {
    const auto op = static_cast<ScalarOp>(i);
    if (op == ScalarOp::input || op == ScalarOp::constant || op == ScalarOp::index) continue;
    CAPTURE(name(op));
    CHECK(listed(name(op)));
    CHECK(listed(op_class(op)));
  }
  for (const std::string& n : names) {
    const bool group =
        n == "any" || n == "arithmetic" || n == "compare" || n == "transcendental" || n == "convert" || n == "reduce";
    CAPTURE(n);
    CHECK((group || parse_scalar_op(n).has_value()));
  }
}
