#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/error.h"
#include "core/passes/pass.h"
#include "core/passes/value_check.h"

// golden/*.txt: the pass, a graph before, the graph after and the remarks. ASSAY_UPDATE_GOLDEN=1 rewrites the parts
// that follow `--- after`; read the difference before keeping it.

using namespace assay;
namespace fs = std::filesystem;

namespace {

struct Golden {
  std::string pass, before, after;
};

Golden read_golden(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream buffer;
  buffer << in.rdbuf();
  const std::string text = buffer.str();
  const std::string first = "pass: ", before_mark = "\n--- before\n", after_mark = "--- after\n";
  const std::size_t before = text.find(before_mark), after = text.find(after_mark);
  REQUIRE(text.starts_with(first));
  REQUIRE(before != std::string::npos);
  const std::size_t body = before + before_mark.size();
  return {text.substr(first.size(), before - first.size()), text.substr(body, after - std::min(after, body)),
          after == std::string::npos ? "" : text.substr(after + after_mark.size())};
}

const Pass& named(const std::vector<Pass>& passes, const std::string& name) {
  const auto it = std::find_if(passes.begin(), passes.end(), [&](const Pass& p) { return p.name == name; });
  REQUIRE(it != passes.end());
  return *it;
}

bool all_operations_exist(const Graph& g) {
  for (const NodeId n : g.nodes())
    if (operations().find(g.node(n).op) == nullptr) return false;
  return true;
}

}  // namespace

TEST_CASE("every pass makes of its golden graphs what is written beside them, and keeps their values") {
  const bool update = std::getenv("ASSAY_UPDATE_GOLDEN") != nullptr;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(ASSAY_SOURCE_DIR "/tests/passes/golden"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() > 20);
  const std::vector<Pass> pipeline = standard_pipeline();
  for (const fs::path& file : files) {
    CAPTURE(file.filename().string());
    Golden golden = read_golden(file);
    golden.before = golden.before.substr(0, golden.before.find("--- after\n"));
    const Graph before = parse_graph(golden.before, file.filename().string());
    if (!all_operations_exist(before)) {
      MESSAGE("skipped: an operation of " << file.filename().string() << " is not registered");
      continue;
    }
    verify_graph(before);
    Graph after = before;
    PassContext context;
    const Pass& pass = named(pipeline, golden.pass);
    run_passes(after, {pass}, {}, context);
    std::string text = print_graph(after);
    if (!context.remarks.empty()) text += "--- remarks\n";
    for (const std::string& r : context.remarks) text += r + "\n";
    if (update) {
      std::ofstream out(file, std::ios::binary);
      out << "pass: " << golden.pass << "\n--- before\n" << golden.before << "--- after\n" << text;
    } else {
      CHECK(text == golden.after);
    }
    // A second run finds nothing left to do, except for passes whose results they would rewrite again.
    PassContext again;
    Graph twice = after;
    CHECK(run_passes(twice, {pass}, {}, again).front().rewrites == 0);
    if (golden.before.find("\nweight ") != std::string::npos) continue;  // nothing to execute
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const TensorMap inputs = random_inputs(before, seed);
      CHECK(explain_difference(before, evaluate_graph(after, inputs), evaluate_graph(before, inputs), pass.tolerance) ==
            "");
    }
  }
}
