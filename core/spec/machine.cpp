#include "core/spec/machine.h"

#include <algorithm>

#include "core/base/check.h"

namespace assay {

bool Memory::may_hold(Role r) const { return holds.empty() || std::find(holds.begin(), holds.end(), r) != holds.end(); }

std::int64_t MatrixUnit::macs_per_cycle() const {
  if (style == ArrayStyle::intrinsic) return m * k * n / every;
  return rows * cols;
}

const MatrixType* MatrixUnit::type_for(DType operand) const {
  for (const MatrixType& t : types) {
    if (t.operand == operand) return &t;
  }
  return nullptr;
}

std::optional<MemoryId> Machine::find_memory(const std::string& wanted) const {
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (memories[i].name == wanted) return MemoryId(i);
  }
  return std::nullopt;
}

MemoryId Machine::dram() const {
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (memories[i].kind == MemoryKind::dram) return MemoryId(i);
  }
  ASSAY_CHECK(false, "a machine without DRAM passed the loader: " + name);
  return {};
}

}  // namespace assay
