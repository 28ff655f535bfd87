#include "explorers/ablation.h"

namespace assay {

const std::vector<CompilerSwitch>& compiler_switches() {
  static const std::vector<CompilerSwitch> switches = {
      {"epilogue fusion", [](CompileOptions& o) { o.fuse_epilogues = false; }},
      {"residency", [](CompileOptions& o) { o.residency = false; }},
      {"prefetch", [](CompileOptions& o) { o.weight_prefetch = false; }},
      {"multicast", [](CompileOptions& o) { o.multicast = false; }},
  };
  return switches;
}

}  // namespace assay
