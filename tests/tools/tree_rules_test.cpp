#include "tests/tools/tree_rules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace assay {
namespace {

using Lines = std::vector<std::string>;
using Rule = Lines (*)(const std::string&, std::string_view);

/// Every violation of `rule` in the checkout, one per line; empty is what we want.
std::string violations_in_tree(Rule rule) {
  const std::filesystem::path root = ASSAY_SOURCE_DIR;
  std::string all;
  for (const auto& file : project_files(root)) {
    std::ifstream in(root / file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const auto& line : rule(file, text)) all += "\n" + line;
  }
  return all;
}

TEST_CASE("the walk over the tree sees its own source") {
  const Lines files = project_files(ASSAY_SOURCE_DIR);
  CHECK(std::find(files.begin(), files.end(), "tests/tools/tree_rules_test.cpp") != files.end());
  CHECK(std::find(files.begin(), files.end(), "assay") != files.end());
}

TEST_CASE("each folder includes only folders before it") { CHECK(violations_in_tree(include_violations) == ""); }

TEST_CASE("heavy headers stay in .cpp files, Boost.Graph in core/ir, and files stay short") {
  CHECK(violations_in_tree(weight_violations) == "");
}

/// `name → headers` of every class and struct defined at the start of a line in a header.
std::map<std::string, std::set<std::string>> types_in_headers() {
  const std::filesystem::path root = ASSAY_SOURCE_DIR;
  const std::regex definition("^(?:struct|class) ([A-Z][A-Za-z0-9]*)(?: final)?(?: : [^;{]*)? \\{");
  std::map<std::string, std::set<std::string>> types;
  for (const auto& file : project_files(root)) {
    if (!file.ends_with(".h")) continue;
    std::ifstream in(root / file);
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (std::regex_search(line, match, definition)) types[match[1]].insert(file);
    }
  }
  return types;
}

TEST_CASE("no two headers define types of one name: the linker would silently merge them") {
  const auto types = types_in_headers();
  CHECK(types.contains("Machine"));
  for (const auto& [name, files] : types) {
    std::string list;
    for (const std::string& f : files) list += " " + f;
    CHECK_MESSAGE(files.size() == 1, name << " is defined in" << list);
  }
}

TEST_CASE("no unfinished-work marks and no machine paths in the tree") {
  CHECK(violations_in_tree(wording_violations) == "");
}

TEST_CASE("an include against the direction is found") {
  CHECK(include_violations("core/ir/a.cpp", "#include \"core/ops/op.h\"\n") ==
        Lines{"core/ir/a.cpp:1: core/ir must not include core/ops ('core/ops/op.h')"});
  CHECK(include_violations("core/ops/a.cpp", "\n# include \"core/ir/graph.h\"\n").empty());
  CHECK(include_violations("core/ops/a.cpp", "#include \"core/ops/op.h\"\n").empty());
  CHECK(include_violations("core/compiler.cpp", "#include \"core/lowering/lower.h\"\n").empty());
  CHECK(include_violations("core/lowering/a.cpp", "#include \"core/compiler.h\"\n").size() == 1);
}

TEST_CASE("workloads and hwmodels ignore each other, and tests are seen by none") {
  CHECK(include_violations("hwmodels/a.cpp", "#include \"workloads/onnx.h\"\n").size() == 1);
  CHECK(include_violations("workloads/a.cpp", "#include \"hwmodels/cycle.h\"\n").size() == 1);
  CHECK(include_violations("reports/a.cpp", "#include \"tests/tools/tree_rules.h\"\n").size() == 1);
  CHECK(include_violations("tests/a.cpp", "#include \"reports/html.h\"\n").empty());
}

TEST_CASE("includes are written from the repository root") {
  CHECK(include_violations("core/ir/a.cpp", "#include \"graph.h\"\n").size() == 1);
  CHECK(include_violations("tests/a/b.cpp", "#include \"helper.h\"\n").size() == 1);
}

TEST_CASE("heavy headers and long files are found") {
  CHECK(weight_violations("core/ir/a.h", "#include <boost/graph/adjacency_list.hpp>\n").size() == 1);
  CHECK(weight_violations("core/ir/a.cpp", "#include <boost/graph/adjacency_list.hpp>\n").empty());
  CHECK(weight_violations("core/ops/a.cpp", "#include <boost/graph/adjacency_list.hpp>\n").size() == 1);
  CHECK(weight_violations("core/ops/a.h", "#include <vector>\n").empty());
  CHECK(weight_violations("core/ops/a.cpp", std::string(600, '\n')).empty());
  CHECK(weight_violations("core/ops/a.cpp", std::string(601, '\n')).size() == 1);
}

TEST_CASE("marks of unfinished work, machine paths and download addresses are found") {
  const std::string mark = std::string("TO") + "DO", place = std::string("/ho") + "me/ann/x";
  CHECK(wording_violations("a.md", "b\n" + mark + ": c") == Lines{"a.md:2: unfinished work: " + mark});
  CHECK(wording_violations("a.md", "MAS" + mark + "N").empty());
  CHECK(wording_violations("a.md", "see " + place).size() == 1);
  CHECK(wording_violations("a.md", "see docs" + place).empty());
  CHECK(wording_violations("w/package-lock.json", "\"resolved\": \"https://example.org\"").size() == 1);
}

}  // namespace
}  // namespace assay
