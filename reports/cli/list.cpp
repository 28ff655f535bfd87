#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/ops/op.h"
#include "core/passes/pass.h"
#include "explorers/strategy.h"
#include "reports/cli/support.h"

namespace assay {

int list_command(const std::string& what, bool json) {
  expect_one_of("list", what, {"operations", "passes", "strategies"});
  nlohmann::ordered_json j;
  j["schema_version"] = 1;
  std::string text;
  if (what == "operations") {
    for (const std::string& n : operations().names()) {
      const OpDef& d = *operations().find(n);
      const char* kind = d.kind == OpKind::nest ? "engines" : d.kind == OpKind::view ? "view" : "host";
      j["operations"].push_back({{"name", n}, {"runs_on", kind}});
      text += fmt::format("{:<28} {}\n", n, kind);
    }
  } else if (what == "passes") {
    for (const Pass& p : standard_pipeline()) {
      j["passes"].push_back({{"name", p.name}, {"summary", p.summary}, {"rewrite", p.before_after}});
      text += fmt::format("{:<28} {}\n{:<28} {}\n", p.name, p.summary, "", p.before_after);
    }
  } else {
    for (const std::string& n : strategies().names()) {
      j["strategies"].push_back(n);
      text += n + "\n";
    }
  }
  print_out(json ? j.dump(1) + "\n" : text);
  return kOk;
}

}  // namespace assay
