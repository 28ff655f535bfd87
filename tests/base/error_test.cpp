#include <doctest/doctest.h>

#include "core/base/error.h"

namespace assay {
namespace {

TEST_CASE("of a line that is too long a message shows the ends, and how much is left out") {
  const InputError e("key", "unknown '" + std::string(5000, 'x') + "'; expected one of a, b\n  and more");
  const std::string said = e.what();
  CHECK(said.starts_with("key: unknown 'xxx"));
  CHECK(said.find("x [... 3237 bytes ...] x") != std::string::npos);
  CHECK(said.ends_with("x'; expected one of a, b\n  and more"));
  CHECK(said.size() == 1500 + 300 + 22 + 11);
}

TEST_CASE("a message is cut between characters") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "€";  // three bytes
  for (const char* shift : {"", "a", "ab"}) {
    const std::string said = InputError("k", shift + text).what();
    const std::size_t cut = said.find(" [...");
    CHECK(cut != std::string::npos);
    CHECK(said.substr(cut - 3, 3) == "€");
    CHECK(said.substr(said.find("...] ") + 5, 3) == "€");
  }
}

TEST_CASE("a line of 2,000 bytes is shown whole") {
  const std::string text = "k: " + std::string(1997, 'x');
  CHECK(std::string(InputError("k", std::string(1997, 'x')).what()) == text);
}

}  // namespace
}  // namespace assay
