#include "core/spec/source_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/spec/file_kind.h"
#include "core/spec/reader.h"

namespace assay {
namespace {

constexpr std::size_t kLongestChain = 16;

[[noreturn]] void fail(SourcePos pos, std::string path, std::string message, std::string suggestion = {}) {
  throw InputError(Diagnostic{.pos = std::move(pos),
                              .path = std::move(path),
                              .message = std::move(message),
                              .suggestion = std::move(suggestion)});
}

void require_map(const YamlNode& root) {
  if (!root.is_map()) fail(root.pos, "", "expected a map of keys and values, found " + root.describe());
}

/// Takes `extends` out of the tree.
std::string take_extends(YamlNode& root, SourcePos& pos) {
  for (auto it = root.entries.begin(); it != root.entries.end(); ++it) {
    if (it->key != "extends") continue;
    if (!it->value.is_scalar()) {
      fail(it->value.pos, "extends", "expected the path of one description, found " + it->value.describe());
    }
    pos = it->value.pos;
    std::string target = it->value.text;
    root.entries.erase(it);
    return target;
  }
  return {};
}

void merge(YamlNode& base, YamlNode derived, const std::string& path) {
  if (!base.is_map() || !derived.is_map() || is_wrapper(base) || is_wrapper(derived)) {
    base = std::move(derived);
    return;
  }
  base.pos = derived.pos;
  for (YamlEntry& e : derived.entries) {
    const std::string full = path.empty() ? e.key : path + "." + e.key;
    YamlNode* old = base.find(e.key);
    if (e.value.is_null()) {
      if (old == nullptr) fail(e.pos, full, "nothing to remove: the base has no such key");
      std::erase_if(base.entries, [&e](const YamlEntry& b) { return b.key == e.key; });
    } else if (old != nullptr) {
      merge(*old, std::move(e.value), full);
    } else {
      base.entries.push_back(std::move(e));
    }
  }
}

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> out(1);
  for (const char c : path) {
    if (c == '.') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

void collect_paths(const YamlNode& node, const std::string& path, std::vector<std::string>& out) {
  constexpr std::size_t kMost = 5000;
  if (out.size() >= kMost || is_wrapper(node)) return;
  for (const YamlEntry& e : node.entries) {
    const std::string full = path.empty() ? e.key : path + "." + e.key;
    out.push_back(full);
    collect_paths(e.value, full, out);
  }
}

/// Keys under these are names of parts or parameters: an override may change one, but not invent one.
bool holds_names(const std::string& key) {
  static const std::vector<std::string> keys{"params", "clocks", "memories", "links", "units", "grid", "array"};
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool optional_root_key(const std::string& key) {
  return key == "process" || key == "family" || key == "description" || key == "quoted";
}

/// Does the path end at a field or parameter, which may be written `{value: …, source: …}`?
bool is_field(const std::vector<std::string>& keys) {
  const std::string& last = keys.back();
  if (keys.size() < 2 || last == "source" || last == "value" || last == "range") return false;
  if (std::all_of(last.begin(), last.end(), [](char c) { return c >= '0' && c <= '9'; })) return false;
  const auto inner = [](const std::string& k) { return k == "dtypes" || k == "ops"; };
  return std::none_of(keys.begin(), keys.end() - 1, inner);
}

YamlNode scalar(const std::string& text, const SourcePos& pos) {
  YamlNode n;
  n.kind = YamlNode::Kind::scalar;
  n.text = text;
  n.quoted = true;
  n.pos = pos;
  return n;
}

YamlNode override_value(const Override& o, const std::vector<std::string>& keys) {
  const std::string file = "override " + o.path;
  if (o.value.find_first_not_of(" \t\r\n") == std::string::npos) {
    fail({.file = file, .line = 1, .column = 1}, o.path, "expected a value, found nothing");
  }
  YamlNode value = parse_yaml(o.value, file);
  if (value.is_null()) fail(value.pos, o.path, "expected a value, found nothing");
  if (value.is_map() || !is_field(keys)) return value;
  // A value that was set from outside is not the one its source speaks of.
  YamlNode wrapped;
  wrapped.kind = YamlNode::Kind::map;
  wrapped.pos = value.pos;
  const SourcePos pos = value.pos;
  wrapped.entries.push_back({"value", pos, std::move(value)});
  wrapped.entries.push_back({"source", pos, scalar("set by an override", pos)});
  return wrapped;
}

}  // namespace

SourceTree merge_extends(YamlNode root, const std::string& file) {
  namespace fs = std::filesystem;
  require_map(root);
  std::vector<YamlNode> chain;
  std::vector<fs::path> files;
  std::error_code error;
  files.push_back(fs::weakly_canonical(file, error));
  std::string here = file;
  for (;;) {
    SourcePos pos;
    const std::string target = take_extends(root, pos);
    chain.push_back(std::move(root));
    if (pos.line == 0) break;
    if (chain.size() >= kLongestChain) {
      fail(pos, "extends", fmt::format("the chain of descriptions is longer than {} files", kLongestChain));
    }
    const fs::path next = fs::path(here).parent_path() / target;
    const fs::path canonical = fs::weakly_canonical(next, error);
    if (std::find(files.begin(), files.end(), canonical) != files.end()) {
      fail(pos, "extends", fmt::format("the descriptions extend each other in a cycle: '{}' is read already", target));
    }
    if (!fs::is_regular_file(next, error)) fail(pos, "extends", fmt::format("no file '{}'", next.string()));
    files.push_back(canonical);
    here = next.string();
    root = parse_yaml_file(here);
    require_map(root);
    expect_kind(root, FileKind::machine);
  }
  SourceTree tree;
  if (const YamlNode* name = chain.back().find("machine"); name != nullptr && name->is_scalar()) {
    tree.root_machine = name->text;
  }
  tree.root = std::move(chain.back());
  for (auto it = chain.rbegin() + 1; it != chain.rend(); ++it) merge(tree.root, std::move(*it), "");
  return tree;
}

void apply_override(YamlNode& root, const Override& o) {
  const std::vector<std::string> keys = split_path(o.path);
  YamlNode* node = &root;
  const auto nothing = [&] {
    std::vector<std::string> paths;
    collect_paths(root, "", paths);
    fail({.file = "override " + o.path}, o.path, kNamesNothing, nearest_name(o.path, paths).value_or(""));
  };
  YamlNode value = override_value(o, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string& key = keys[i];
    if (key.empty() || key.size() > 200) nothing();
    const bool last = i + 1 == keys.size();
    if (node->is_sequence()) {
      const bool number =
          key.size() < 6 && std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
      const std::size_t index = number ? std::stoul(key) : node->items.size();
      if (index >= node->items.size()) nothing();
      node = &node->items[index];
      continue;
    }
    if (!node->is_map() || (is_wrapper(*node) && node->find(key) == nullptr)) nothing();
    if (YamlNode* found = node->find(key)) {
      node = found;
      continue;
    }
    // A field that the file leaves at its default may be set; the loader checks its name.
    const bool field = i == 0 ? optional_root_key(key) : !holds_names(keys[i - 1]);
    if (!field || (i == 0 && !last && key != "process" && key != "quoted")) nothing();
    node->entries.push_back({key, value.pos, YamlNode{}});
    node = &node->entries.back().value;
    node->kind = last ? YamlNode::Kind::null : YamlNode::Kind::map;
    node->pos = value.pos;
  }
  *node = std::move(value);
}

}  // namespace assay
