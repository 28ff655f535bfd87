#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

// A strict reading of YAML into a plain tree: what a person wrote, with the place where it stands. yaml-cpp is used
// for its events only; its own node graph silently keeps duplicate keys, drops later documents, reads 010 as 8 and
// unfolds alias bombs.

namespace assay {

struct YamlEntry;

struct YamlNode {
  enum class Kind : unsigned char { null, scalar, sequence, map };
  Kind kind = Kind::null;
  SourcePos pos;
  std::string text;                ///< scalar: the text as written, quotes and escapes resolved
  bool quoted = false;             ///< scalar: it stood in quotes (so it is text, never a number)
  std::vector<YamlNode> items;     ///< sequence
  std::vector<YamlEntry> entries;  ///< map: in the order of the file, keys unique

  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_map() const { return kind == Kind::map; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_null() const { return kind == Kind::null; }
  YamlNode* find(std::string_view key);  ///< nullptr if absent or not a map; O(entries)
  const YamlNode* find(std::string_view key) const;
  std::string describe() const;  ///< for messages: `'128'`, `a list`, `a map`, `nothing`
};

struct YamlEntry {
  std::string key;
  SourcePos pos;
  YamlNode value;
};

struct YamlLimits {
  std::size_t bytes = 4U << 20;
  std::size_t nodes = 100'000;  ///< with every alias unfolded
  int depth = 64;
};

/// One document. Throws InputError (with file:line:column) on: syntax errors, text that is not UTF-8 or holds control
/// characters, an empty file, several documents, duplicate keys (all of them), keys that are not plain names, merge
/// keys `<<`, type tags, aliases of an enclosing node, and anything over the limits. CRLF is accepted. O(bytes + nodes).
YamlNode parse_yaml(const std::string& text, const std::string& file, const YamlLimits& limits = {});

/// The same from a regular file; InputError if it can't be read or is longer than the limit.
YamlNode parse_yaml_file(const std::string& path, const YamlLimits& limits = {});

}  // namespace assay
