#pragma once

#include <string>

#include "core/ir/graph.h"

namespace assay {

/// A node's attributes and the opset they are to be read in, as one line of JSON. Every value has its kind, so that
/// 1 and 1.0 stay apart; sorted by name:
///   {"attributes":{"alpha":{"real":0.5},"axis":{"int":1},"mode":{"text":"linear"},"pads":{"ints":[0,1]},
///    "value":{"tensor":{"data":[0.5,"inf"],"dtype":"fp32","shape":[2]}}},"version":13}
/// Throws InputError for a graph attribute (control flow runs on no machine).
std::string attributes_to_json(const Attributes& attributes, int version);

struct ParsedAttributes {
  Attributes attributes;
  int version = 0;
};
/// The reverse; throws InputError with what is wrong.
ParsedAttributes attributes_from_json(const std::string& text);

}  // namespace assay
