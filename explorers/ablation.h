#pragma once

#include <string>
#include <vector>

#include "core/compiler/compiler.h"

namespace assay {

/// A stage of the compiler that can be switched off: what a ranking may really be about.
struct CompilerSwitch {
  std::string name;
  void (*off)(CompileOptions&) = nullptr;
};

/// Fusion of epilogues, residency of intermediates, prefetch, multicast: one line each.
const std::vector<CompilerSwitch>& compiler_switches();

}  // namespace assay
