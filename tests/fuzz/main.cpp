#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/fuzz/targets.h"

// fuzz --target machine --iterations 1000 [--seed 1]   replays tests/fuzz/corpus/machine, then mutates
// fuzz --target machine --replay FILE                  one input; prints what happens
// fuzz --target onnx --material FOLDER                 with further inputs to break, right or not

namespace {

using namespace assay;

const std::map<std::string, FuzzTarget (*)(const std::string&)> kTargets{
    {"machine", machine_target}, {"sweep", sweep_target}, {"workload", workload_target},     {"onnx", onnx_target},
    {"program", program_target}, {"graph", graph_target}, {"expression", expression_target}, {"result", result_target}};

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> texts_under(const std::string& folder) {
  std::vector<std::string> paths, out;
  for (const auto& e : std::filesystem::recursive_directory_iterator(folder))
    if (e.is_regular_file() && e.file_size() < Mutator::kLargest) paths.push_back(e.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string& p : paths) out.push_back(text_of(p));
  return out;
}

/// A folder that goes away.
struct FuzzFolder {
  std::string path = (std::filesystem::temp_directory_path() / "assay-fuzz-XXXXXX").string();
  FuzzFolder() {
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no scratch folder");
  }
  ~FuzzFolder() {
    std::error_code none;
    std::filesystem::remove_all(path, none);
  }
  FuzzFolder(const FuzzFolder&) = delete;
  FuzzFolder& operator=(const FuzzFolder&) = delete;
};

int replay_file(const FuzzTarget& target, const std::string& file, const FuzzOptions& options) {
  const std::string input = text_of(file);
  std::string said;
  FuzzTarget shown = target;
  shown.read = [&](const std::string& s) {
    try {
      target.read(s);
    } catch (const std::exception& e) {
      said = e.what();
      throw;
    }
  };
  const std::string what = replay(shown, input, options);
  std::printf("%s\n%s\n", what.empty() ? "well behaved" : what.c_str(), said.empty() ? "accepted" : said.c_str());
  return what.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Breaks inputs and feeds them to the readers"};
  std::string name, file, material;
  FuzzOptions options;
  app.add_option("--target", name)->required()->check(CLI::IsMember(kTargets));
  app.add_option("--iterations", options.iterations)->check(CLI::NonNegativeNumber);
  app.add_option("--seed", options.seed);
  app.add_option("--artefacts", options.artefacts, "Folder for inputs that fail");
  app.add_option("--replay", file);
  app.add_option("--material", material, "Folder of further inputs to break, right or not");
  CLI11_PARSE(app, argc, argv);
  options.corpus = std::string(ASSAY_SOURCE_DIR) + "/tests/fuzz/corpus/" + name;
  const FuzzFolder scratch;
  FuzzTarget target = kTargets.at(name)(scratch.path);
  if (!material.empty()) target.material = texts_under(material);
  if (!file.empty()) return replay_file(target, file, options);
  const FuzzSummary s = fuzz(target, options);
  std::printf("%s: %lld inputs accepted, %lld refused, %zu kinds of failure\n", name.c_str(),
              static_cast<long long>(s.accepted), static_cast<long long>(s.refused), s.failures.size());
  for (const std::string& f : s.failures) std::printf("FAILED %s\n", f.c_str());
  return s.failures.empty() ? 0 : 1;
}
