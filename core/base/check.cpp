#include "core/base/check.h"

#include <fmt/format.h>

namespace assay {

void fail_check(const char* file, int line, const char* condition, const std::string& detail) {
  throw InternalError(fmt::format("{}:{}: check failed: {}: {}", file, line, condition, detail));
}

}  // namespace assay
