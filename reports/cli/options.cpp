#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "reports/cli/support.h"

namespace assay {

void expect_one_of(const std::string& option, const std::string& value, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  const std::vector<std::string> most(known.begin(), known.end() - 1);
  throw InputError(Diagnostic{{},
                              option,
                              fmt::format("expected {} or {}, found '{}'", fmt::join(most, ", "), known.back(), value),
                              nearest_name(value, known).value_or("")});
}

std::vector<std::pair<std::string, std::string>> assignments(const std::string& option,
                                                             const std::vector<std::string>& given) {
  std::vector<std::pair<std::string, std::string>> out;
  std::set<std::string> names;
  for (const std::string& s : given) {
    const std::size_t eq = s.find('=');
    if (eq == std::string::npos || eq == 0) throw InputError(option, fmt::format("expected name=value, found '{}'", s));
    // Which of the two counts would be a guess.
    if (!names.insert(s.substr(0, eq)).second)
      throw InputError(option, fmt::format("'{}' is given twice", s.substr(0, eq)));
    out.emplace_back(s.substr(0, eq), s.substr(eq + 1));
  }
  return out;
}

}  // namespace assay
