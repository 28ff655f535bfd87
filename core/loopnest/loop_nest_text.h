#pragma once

#include <cstdint>
#include <string>

#include "core/loopnest/loop_nest.h"

// Words for people, shared by the files of this folder.

namespace assay {

/// `GLB holds A, B`, `for m by 64`, `spatial m by 4 over x below GLB`. Never fails: an index that names nothing is
/// printed as a number.
std::string nest_node_text(const NestNode& node, const Einsum& e, const Hierarchy& h);

/// 1234567 as `1,234,567`.
std::string grouped(std::int64_t v);

}  // namespace assay
