#pragma once

#include <string>

#include "core/base/error.h"
#include "core/spec/quantity.h"
#include "core/spec/yaml.h"

// The forms in which a number may stand: `8`, `176 GB/s`, `${…}`, `[80 ns, 150 ns]`,
// `{value: 176 GB/s, range: [150 GB/s, 180 GB/s], source: "…"}`.

namespace assay {

/// A ValueError that knows its place in the file.
struct NodeError : ValueError {
  NodeError(SourcePos p, std::string message, std::string suggested = {})
      : ValueError(std::move(message), 0, std::move(suggested)), pos(std::move(p)) {}
  SourcePos pos;
};

struct ValueParts {
  const YamlNode* value = nullptr;
  const YamlNode* range = nullptr;
  std::string source;
  const YamlNode* node = nullptr;  ///< the whole
};

/// Takes a wrapper apart; any other node is a value. Throws NodeError on unknown keys and wrong types inside.
ValueParts split_value(const YamlNode& node);

/// A number from a value, an interval (nominal: the geometric middle to four digits, exact for sizes; the arithmetic
/// middle if it starts at 0 or below) or a value with a range. Throws NodeError.
Quantity evaluate_number(const ValueParts& parts, const ParamLookup& look);

}  // namespace assay
