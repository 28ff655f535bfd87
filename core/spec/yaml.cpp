#include "core/spec/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/base/check.h"

namespace assay {
namespace {

[[noreturn]] void fail(SourcePos pos, std::string message) {
  throw InputError(Diagnostic{.pos = std::move(pos), .path = {}, .message = std::move(message), .suggestion = {}});
}

/// Does the bracket at `at` lack its counterpart? Quoted text and comments are skipped. O(length).
bool never_closed(const std::string& text, std::size_t at) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if ((c == '"' || c == '\'') && i > at &&
               std::string_view("[{,: \n").find(text[i - 1]) != std::string::npos) {
      quote = c;  // elsewhere it is an apostrophe
    } else if (c == '#' && i > 0 && (text[i - 1] == ' ' || text[i - 1] == '\n')) {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return false;
    }
  }
  return depth > 0;
}

/// Builds the tree from yaml-cpp's events; refuses as early as possible, so that no bomb is ever unfolded.
class TreeBuilder : public YAML::EventHandler {
 public:
  /// `text` (what the parser reads) must outlive the builder.
  TreeBuilder(std::string file, const YamlLimits& limits, const std::string& text)
      : file_(std::move(file)), limits_(limits), text_(text) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) fail(position(mark), "a second YAML document starts here; expected one per file");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) fail(position(mark), "found an empty key; expected a name");
    YamlNode node;
    node.pos = position(mark);
    complete(std::move(node), anchor, 1);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    if (expects_key()) {
      take_key(mark, tag, value);
      return;
    }
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.pos = position(mark);
    node.text = value;
    node.quoted = tag == "!";
    complete(std::move(node), anchor, 1);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) fail(position(mark), "found an alias as a key; expected a name");
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) fail(position(mark), "this alias refers to a node that contains it");
    const auto [node, size] = it->second;
    spend(mark, size);
    if (frames_.size() + static_cast<std::size_t>(depth_of(node)) > static_cast<std::size_t>(limits_.depth)) {
      fail(position(mark), fmt::format("nested deeper than {} levels", limits_.depth));
    }
    complete(node, 0, size);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::sequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::map);
  }
  void OnMapEnd() override { close(); }

  int documents() const { return documents_; }
  YamlNode result() {
    if (!duplicates_.empty()) throw InputError(duplicates_);
    return std::move(root_);
  }
  SourcePos position(const YAML::Mark& mark) const {
    return {.file = file_, .line = mark.line + 1, .column = mark.column + 1};
  }

 private:
  struct Frame {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    std::size_t size = 1;
    bool has_key = false;
    std::string key;
    SourcePos key_pos;
    std::map<std::string, SourcePos> seen;
  };

  bool expects_key() const { return !frames_.empty() && frames_.back().node.is_map() && !frames_.back().has_key; }

  static int depth_of(const YamlNode& node) {
    int deepest = 0;
    for (const YamlNode& item : node.items) deepest = std::max(deepest, depth_of(item));
    for (const YamlEntry& entry : node.entries) deepest = std::max(deepest, depth_of(entry.value));
    return deepest + 1;
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") {
      fail(position(mark), fmt::format("found the type tag '{}'; tags are not used here", tag));
    }
  }

  void spend(const YAML::Mark& mark, std::size_t nodes) {
    nodes_ += nodes;
    if (nodes_ > limits_.nodes) {
      fail(position(mark), fmt::format("more than {} values (with aliases unfolded)", limits_.nodes));
    }
  }

  void take_key(const YAML::Mark& mark, const std::string& tag, const std::string& value) {
    Frame& frame = frames_.back();
    const SourcePos pos = position(mark);
    if (value == "<<" && tag != "!") {
      fail(pos, "merge keys '<<' are not supported; use 'extends' for a base file and 'params' for shared values");
    }
    if (value.empty()) fail(pos, "found an empty key; expected a name");
    const auto [it, fresh] = frame.seen.emplace(value, pos);
    if (!fresh && duplicates_.size() < 20) {
      duplicates_.push_back({.pos = pos,
                             .path = value,
                             .message = fmt::format("duplicate key; it stands at line {} already", it->second.line),
                             .suggestion = {}});
    }
    frame.has_key = true;
    frame.key = value;
    frame.key_pos = pos;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    check_tag(mark, tag);
    if (expects_key()) {
      // The parser takes a bracket that is never closed for the start of a key.
      if (never_closed(text_, static_cast<std::size_t>(std::max(mark.pos, 0))))
        fail(position(mark), fmt::format("this '{}' is never closed", kind == YamlNode::Kind::map ? '{' : '['));
      fail(position(mark), "found a list or map as a key; expected a name");
    }
    if (frames_.size() >= static_cast<std::size_t>(limits_.depth)) {
      fail(position(mark), fmt::format("nested deeper than {} levels", limits_.depth));
    }
    spend(mark, 1);
    Frame frame;
    frame.node.kind = kind;
    frame.node.pos = position(mark);
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void close() {
    ASSAY_CHECK(!frames_.empty(), "a YAML collection ends that never started");
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    place(std::move(frame.node), frame.anchor, frame.size);
  }

  void complete(YamlNode node, YAML::anchor_t anchor, std::size_t size) {
    if (size == 1) {
      const YAML::Mark mark = mark_of(node.pos);
      spend(mark, 1);
    }
    place(std::move(node), anchor, size);
  }

  static YAML::Mark mark_of(const SourcePos& pos) {
    YAML::Mark mark;
    mark.line = pos.line - 1;
    mark.column = pos.column - 1;
    return mark;
  }

  void place(YamlNode node, YAML::anchor_t anchor, std::size_t size) {
    if (anchor != 0) {
      spend(mark_of(node.pos), size);  // the copy kept for aliases costs memory as well
      anchors_.insert_or_assign(anchor, std::pair{node, size});
    }
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& parent = frames_.back();
    parent.size += size;
    if (parent.node.is_sequence()) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    parent.node.entries.push_back({std::move(parent.key), parent.key_pos, std::move(node)});
    parent.has_key = false;
  }

  std::string file_;
  YamlLimits limits_;
  const std::string& text_;
  YamlNode root_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, std::pair<YamlNode, std::size_t>> anchors_;
  std::vector<Diagnostic> duplicates_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

/// Length of the UTF-8 sequence at `p`, 0 if it is not one (overlong forms and surrogates are not).
std::size_t utf8_length(const unsigned char* p, std::size_t left) {
  const unsigned c = p[0];
  if (c < 0x80) return 1;
  const std::size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
  if (c < 0xc2 || c > 0xf4 || left < n) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((p[i] & 0xc0U) != 0x80) return 0;
  }
  const unsigned second = p[1];
  if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f)) return 0;
  if ((c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f)) return 0;
  return n;
}

/// Refuses binary and other encodings by name; line ends become '\n', which keeps line numbers.
std::string clean_text(const std::string& text, const std::string& file) {
  std::string out;
  out.reserve(text.size());
  SourcePos pos{.file = file, .line = 1, .column = 1};
  std::size_t i = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  while (i < text.size()) {
    const auto* p = reinterpret_cast<const unsigned char*>(text.data()) + i;
    const std::size_t n = utf8_length(p, text.size() - i);
    if (n == 0) fail(pos, fmt::format("not UTF-8 text: found byte 0x{:02x}", *p));
    if ((*p < 0x20 && *p != '\n' && *p != '\r' && *p != '\t') || *p == 0x7f) {
      fail(pos, fmt::format("not a text file: found control character 0x{:02x}", *p));
    }
    if (*p == '\r') {
      if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
      out += '\n';
    } else {
      out.append(text, i, n);
    }
    const bool newline = out.back() == '\n';
    pos.line += newline ? 1 : 0;
    pos.column = newline ? 1 : pos.column + 1;
    i += n;
  }
  return out;
}

}  // namespace

YamlNode* YamlNode::find(std::string_view key) {
  for (YamlEntry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}
const YamlNode* YamlNode::find(std::string_view key) const { return const_cast<YamlNode*>(this)->find(key); }

std::string YamlNode::describe() const {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::sequence:
      return "a list";
    case Kind::map:
      return "a map";
    case Kind::scalar:
      break;
  }
  const std::string shown = text.size() > 60 ? text.substr(0, 57) + "..." : text;
  const bool as_text = quoted && text.find("${") == std::string::npos;  // expressions often have to stand in quotes
  return as_text ? fmt::format("the text \"{}\"", shown) : fmt::format("'{}'", shown);
}

YamlNode parse_yaml(const std::string& text, const std::string& file, const YamlLimits& limits) {
  const SourcePos start{.file = file, .line = 1, .column = 1};
  if (text.size() > limits.bytes) {
    fail({.file = file}, fmt::format("{} bytes long; a description may have {}", text.size(), limits.bytes));
  }
  const std::string clean = clean_text(text, file);
  TreeBuilder builder(file, limits, clean);
  std::istringstream in(clean);
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& e) {
    fail(builder.position(e.mark), "YAML syntax: " + e.msg);
  }
  if (builder.documents() == 0) fail(start, "the file is empty; expected a map of keys and values");
  return builder.result();
}

YamlNode parse_yaml_file(const std::string& path, const YamlLimits& limits) {
  std::error_code error;
  if (path.empty()) throw InputError("file", "expected a path, found nothing");
  if (!std::filesystem::exists(path, error)) fail({.file = path}, "no such file");
  if (!std::filesystem::is_regular_file(path, error)) fail({.file = path}, "not a regular file");
  if (path.ends_with(".onnx")) fail({.file = path}, "an ONNX model stands where a YAML file is expected");
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > limits.bytes) {
    fail({.file = path}, fmt::format("{} bytes long; a description may have {}", size, limits.bytes));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(error ? 0 : size), '\0');
  if (error || !in || !in.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    fail({.file = path}, "the file can't be read");
  }
  return parse_yaml(text, path, limits);
}

}  // namespace assay
