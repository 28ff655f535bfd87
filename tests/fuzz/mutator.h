#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/random.h"

namespace assay {

/// What the inputs of a target are made of: which mutations make sense.
enum class InputForm : unsigned char { text, yaml, bytes };

/// Makes broken inputs from right ones. The stream of inputs depends on the seeds (in their order) and the number
/// only. One to four of these at once:
///
///     byte flips · truncation · two seeds spliced · bytes deleted, inserted, repeated
///     text: tokens doubled, swapped, dropped, taken from another seed · lines doubled, dropped, moved
///           numbers replaced by absurd ones · brackets nested up to 20,000 deep · CRLF, tabs, NUL, broken UTF-8
///     yaml: alias bombs, an alias of what holds it, indentation changed
class Mutator {
 public:
  /// `seeds` must not be empty and must outlive the mutator.
  Mutator(const std::vector<std::string>& seeds, InputForm form, std::uint64_t seed);
  std::string next();  ///< at most kLargest bytes

  static constexpr std::size_t kLargest = 1U << 20;

 private:
  const std::string& any_seed();
  std::size_t below(std::size_t n);  ///< 0 … n-1; 0 for n = 0
  void mutate(std::string& s);
  void mutate_bytes(std::string& s);
  void mutate_text(std::string& s);
  void mutate_yaml(std::string& s);

  const std::vector<std::string>& seeds_;
  InputForm form_;
  Random random_;
};

/// Numbers that break arithmetic: borders of every width, zeros in front, huge exponents, signs.
const std::vector<std::string>& absurd_numbers();

}  // namespace assay
