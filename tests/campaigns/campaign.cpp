#include "tests/campaigns/campaign.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "explorers/store.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

SmallSweep::SmallSweep() {
  std::string name = (fs::temp_directory_path() / "assay-campaign-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  chmod(name.c_str(), 0755);
  folder_ = name + "/t";
  fs::create_directory(folder_);
  const std::string machines = std::string(ASSAY_SOURCE_DIR) + "/configs/machines/";
  write("tiny.yaml",
        "workload: tiny\nfamily: bert\n"
        "params: {batch: 1, seq: 16, layers: 1, hidden: 64, heads: 2, ffn: 128, vocab: 40}\n"
        "twin: {params: {seq: 4}}\n");
  write("sweep.yaml",
        "sweep: small\nprecision: int8\nworkloads: [tiny.yaml]\ndetail_points: 3\ncycle_points: 6\nmachines:\n"
        "- machine: " +
            machines +
            "gemmini_like.yaml\n"
            "  axes: {params.spad: [64 KiB, 128 KiB, 256 KiB], params.acc: [16 KiB, 64 KiB]}\n"
            "- machine: " +
            machines +
            "tpu_v1_like.yaml\n"
            "  axes: {params.rows: [64, 256]}\n");
}

SmallSweep::~SmallSweep() {
  std::error_code none;
  fs::remove_all(fs::path(folder_).parent_path(), none);
}

void SmallSweep::write(const std::string& name, const std::string& content) const {
  std::ofstream(path(name), std::ios::binary) << content;
}

std::vector<std::string> SmallSweep::command(const std::string& out, int threads,
                                             const std::vector<std::string>& more) {
  std::vector<std::string> args{"sweep", "sweep.yaml", "-o", out, "-j", std::to_string(threads)};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

std::map<std::string, std::string> SmallSweep::exports(const std::string& out) const {
  std::map<std::string, std::string> files;
  for (const auto& e : fs::directory_iterator(path(out))) {
    const std::string name = e.path().filename().string();
    if (!name.starts_with("store.sqlite")) files[name] = bytes_of(e.path());
  }
  return files;
}

const std::map<std::string, std::string>& SmallSweep::expected() const {
  if (expected_.empty()) {
    const EndedRun e = run_to_end(folder_, command("undisturbed"));
    CAPTURE(e.err);
    REQUIRE(e.code == 0);
    expected_ = exports("undisturbed");
    REQUIRE(expected_.contains("result.json"));
    REQUIRE(expected_.contains("points.csv"));
    REQUIRE(expected_.contains("layers.csv"));
    REQUIRE(expected_.contains("report.html"));
  }
  return expected_;
}

std::optional<std::int64_t> SmallSweep::stored(const std::string& out) const {
  if (!fs::exists(path(out) + "/store.sqlite")) return std::nullopt;
  const std::string copy = path(out) + ".copy";
  fs::create_directory(copy);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    std::error_code none;
    fs::copy_file(path(out) + "/store.sqlite" + suffix, copy + "/store.sqlite" + suffix, none);
  }
  const std::int64_t n = Store(copy + "/store.sqlite").size();
  fs::remove_all(copy);
  return n;
}

std::string first_difference(const std::map<std::string, std::string>& got,
                             const std::map<std::string, std::string>& expected) {
  for (const auto& [name, bytes] : expected) {
    const auto it = got.find(name);
    if (it == got.end()) return name + " is missing";
    if (it->second == bytes) continue;
    const auto at = std::mismatch(bytes.begin(), bytes.end(), it->second.begin(), it->second.end()).first;
    return name + " differs at byte " + std::to_string(at - bytes.begin());
  }
  for (const auto& [name, bytes] : got) {
    if (!expected.contains(name)) return name + " should not be there";
  }
  return "";
}

}  // namespace assay
