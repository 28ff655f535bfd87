#include "core/base/check.h"
#include "explorers/result_json.h"
#include "reports/csv.h"
#include "reports/diff.h"
#include "reports/html.h"
#include "reports/markdown.h"
#include "reports/section.h"
#include "reports/text.h"
#include "tests/fuzz/targets.h"
#include "tests/reports/sample.h"

namespace assay {
namespace {

/// What `assay report` and `assay diff` do with a file.
void read_result(const std::string& text, const SweepResult& other) {
  const SweepResult s = sweep_from_json(text);
  const std::string again = to_json(s);
  ASSAY_CHECK(to_json(sweep_from_json(again)) == again, "a written result reads as another");
  const Document d = build_report(s);
  for (const std::string& out : {render_html(d), render_markdown(d), render_text(d), points_csv(s), layers_csv(s),
                                 ranking_text(s), render_text(diff(s, other)), render_text(diff(other, s))})
    ASSAY_CHECK(!out.empty(), "an empty report");
}

}  // namespace

FuzzTarget result_target(const std::string&) {
  const SweepResult small = sample::sweep({.designs_per_family = 1, .layers = 2, .checked = true});
  return {.name = "result",
          .form = InputForm::text,
          .seeds = {to_json(small, 1), to_json(sample::hostile(), 1)},
          .read = [small](const std::string& text) { read_result(text, small); }};
}

}  // namespace assay
