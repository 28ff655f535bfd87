#pragma once

#include <stdexcept>
#include <string>

namespace assay {

/// A defect of Assay itself: an invariant that no user input may break. Caught only by main(), which prints it
/// and exits with its own code.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* file, int line, const char* condition, const std::string& detail);

}  // namespace assay

/// Asserts an invariant in every build type; `detail` is a std::string with both numbers.
#define ASSAY_CHECK(condition, detail)                                               \
  do {                                                                               \
    if (!(condition)) ::assay::fail_check(__FILE__, __LINE__, #condition, (detail)); \
  } while (false)
