#include "core/spec/file_kind.h"

namespace assay {
namespace {

const char* noun(FileKind kind) {
  switch (kind) {
    case FileKind::machine:
      return "a machine description";
    case FileKind::workload:
      return "a workload";
    case FileKind::suite:
      return "a suite of workloads";
    case FileKind::sweep:
      return "a sweep";
  }
  return "";
}

}  // namespace

std::optional<FileKind> kind_of(const YamlNode& root) {
  const auto has = [&](const char* key) { return root.find(key) != nullptr; };
  if (has("sweep") || (has("workloads") && has("machines"))) return FileKind::sweep;
  if (has("suite")) return FileKind::suite;
  if (has("workload")) return FileKind::workload;
  if (has("machine") || (has("memories") && has("clocks"))) return FileKind::machine;
  return std::nullopt;
}

void expect_kind(const YamlNode& root, FileKind expected, std::optional<FileKind> or_else) {
  const auto found = kind_of(root);
  if (!found || found == expected || found == or_else) return;
  throw InputError(Diagnostic{.pos = root.pos,
                              .path = {},
                              .message = std::string("expected ") + noun(expected) + ", found " + noun(*found),
                              .suggestion = {}});
}

}  // namespace assay
