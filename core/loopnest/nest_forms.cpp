#include "core/loopnest/nest_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/base/math.h"
#include "core/loopnest/file_fields.h"

namespace assay {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Names that a mapping may use, and what both forms share.
class FormReader {
 public:
  FormReader(const Einsum& e, const Hierarchy& h) : e_(e), h_(h) {
    for (const EinsumDim& d : e.dims) dims_.push_back(d.name);
    for (const EinsumTensor& t : e.tensors) tensors_.push_back(t.name);
    for (std::size_t i = h.levels.size(); i-- > 0;) levels_.push_back(h.levels[i].name);
  }

 protected:
  std::optional<int> dim(const YamlNode& n, const std::string& path) {
    return fields_.one_of(n, path, dims_, "a dimension");
  }
  std::optional<int> level(const YamlNode& n, const std::string& path) {
    const auto i = fields_.one_of(n, path, levels_, "a level");
    if (!i) return std::nullopt;
    return static_cast<int>(levels_.size()) - 1 - *i;
  }
  std::optional<std::vector<int>> tensors(const YamlNode& n, const std::string& path) {
    return fields_.list_of(n, path, tensors_, "a tensor");
  }
  const YamlNode* required(const YamlNode& map, const std::string& path, const char* key) {
    const YamlNode* n = map.find(key);
    if (n == nullptr) fields_.problem(map.pos, path, fmt::format("missing key '{}'", key));
    return n;
  }
  void limit(const YamlNode& map, const std::string& path, NetworkLimit& to) {
    for (const auto& [key, list] : {std::pair{"unicast", &to.unicast}, std::pair{"unlinked", &to.unlinked}}) {
      const YamlNode* n = map.find(key);
      if (n == nullptr) continue;
      if (auto t = tensors(*n, path + "." + key)) *list = std::move(*t);
    }
  }
  void add(NestNode node, const SourcePos& pos) {
    placed_.nest.nodes.push_back(std::move(node));
    placed_.positions.push_back(pos);
  }

  FileFields fields_;
  const Einsum& e_;
  const Hierarchy& h_;
  std::vector<std::string> dims_, tensors_, levels_;  ///< levels outermost first
  PlacedNest placed_;
};

class NodeForm : public FormReader {
 public:
  using FormReader::FormReader;

  PlacedNest run(const YamlNode& nodes, const YamlNode* networks) {
    if (fields_.sequence(nodes, "nest", "loops and storage nodes")) {
      for (std::size_t i = 0; i < nodes.items.size(); ++i) node(nodes.items[i], fmt::format("nest[{}]", i));
    }
    if (networks != nullptr && fields_.sequence(*networks, "networks", "networks")) {
      for (std::size_t i = 0; i < networks->items.size(); ++i)
        network(networks->items[i], fmt::format("networks[{}]", i));
    }
    fields_.throw_if_any();
    return std::move(placed_);
  }

 private:
  void node(const YamlNode& n, const std::string& path) {
    if (n.find("store") != nullptr) {
      storage(n, path);
    } else if (n.find("for") != nullptr) {
      loop(n, path, "for", {"for", "tile"});
    } else if (n.find("spatial") != nullptr) {
      loop(n, path, "spatial", {"spatial", "tile", "over", "below"});
    } else {
      std::string key = n.is_map() && !n.entries.empty() ? n.entries.front().key : "";
      fields_.problem(n.pos, path,
                      fmt::format("expected {{store: …}}, {{for: …}} or {{spatial: …}}, found {}",
                                  key.empty() ? n.describe() : fmt::format("a map that begins with '{}'", key)),
                      nearest_name(key, std::vector<std::string>{"store", "for", "spatial"}).value_or(""));
    }
  }

  void storage(const YamlNode& n, const std::string& path) {
    if (!fields_.map(n, path, {"store", "tensors"})) return;
    const auto l = level(*n.find("store"), path + ".store");
    const YamlNode* held = required(n, path, "tensors");
    const auto t = held != nullptr ? tensors(*held, path + ".tensors") : std::nullopt;
    if (l && t) add(StorageNode{*l, *t}, n.pos);
  }

  void loop(const YamlNode& n, const std::string& path, const char* key, const std::vector<std::string>& known) {
    if (!fields_.map(n, path, known)) return;
    LoopNode l;
    const auto d = dim(*n.find(key), path + "." + key);
    const YamlNode* tile = required(n, path, "tile");
    const auto size = tile != nullptr ? fields_.whole(*tile, path + ".tile", 1) : std::nullopt;
    bool right = d && size;
    if (known.size() > 2) {
      const YamlNode* over = required(n, path, "over");
      const YamlNode* below = required(n, path, "below");
      const auto axis =
          over != nullptr ? fields_.one_of(*over, path + ".over", {"x", "y"}, "a mesh axis") : std::nullopt;
      const auto outer = below != nullptr ? level(*below, path + ".below") : std::nullopt;
      right = right && axis && outer;
      if (axis) l.kind = *axis == 0 ? LoopKind::spatial_x : LoopKind::spatial_y;
      if (outer) l.below = *outer;
    }
    if (!right) return;
    l.dim = *d;
    l.tile = *size;
    add(l, n.pos);
  }

  void network(const YamlNode& n, const std::string& path) {
    if (!fields_.map(n, path, {"below", "unicast", "unlinked"})) return;
    const YamlNode* below = required(n, path, "below");
    const auto l = below != nullptr ? level(*below, path + ".below") : std::nullopt;
    if (!l) return;
    NetworkLimit w{*l, {}, {}};
    limit(n, path, w);
    placed_.nest.networks.push_back(std::move(w));
  }
};

class LevelForm : public FormReader {
 public:
  using FormReader::FormReader;

  PlacedNest run(const YamlNode& list) {
    if (fields_.sequence(list, "levels", "levels, outermost first")) {
      for (std::size_t i = 0; i < list.items.size(); ++i) entry(list.items[i], fmt::format("levels[{}]", i));
    }
    fields_.throw_if_any();
    tiles();
    fields_.throw_if_any();
    return std::move(placed_);
  }

 private:
  /// A loop as written: its factor, its tile, or whatever is left.
  struct Written {
    std::size_t node = 0;
    std::optional<std::int64_t> factor, tile;
    SourcePos pos;
    std::string path;
  };

  void entry(const YamlNode& n, const std::string& path) {
    if (!fields_.map(n, path, {"level", "keep", "bypass", "temporal", "order", "spatial", "unicast", "unlinked"}))
      return;
    const YamlNode* name = required(n, path, "level");
    const auto l = name != nullptr ? level(*name, path + ".level") : std::nullopt;
    if (!l) return;
    if (*l >= last_) {
      fields_.problem(name->pos, path + ".level",
                      *l == last_ ? fmt::format("{} stands twice", name->text)
                                  : fmt::format("{} stands inside {}: levels are written outermost first", name->text,
                                                h_.levels[at(last_)].name));
      return;
    }
    last_ = *l;
    add(StorageNode{*l, kept(n, path, *l)}, n.pos);
    if (const YamlNode* t = n.find("temporal"))
      loops(*t, path + ".temporal", n.find("order"), path + ".order", LoopNode{});
    if (n.find("temporal") == nullptr && n.find("order") != nullptr)
      fields_.problem(n.find("order")->pos, path + ".order", "there are no temporal loops to order");
    if (const YamlNode* s = n.find("spatial")) spatial(*s, path + ".spatial", *l);
    NetworkLimit w{*l, {}, {}};
    limit(n, path, w);
    if (!w.unicast.empty() || !w.unlinked.empty()) placed_.nest.networks.push_back(std::move(w));
  }

  std::vector<int> kept(const YamlNode& n, const std::string& path, int l) {
    const YamlNode* keep = n.find("keep");
    const YamlNode* bypass = n.find("bypass");
    if (keep != nullptr && bypass != nullptr)
      fields_.problem(bypass->pos, path + ".bypass", "say 'keep' or 'bypass': what is not in one is in the other");
    if (keep != nullptr) return tensors(*keep, path + ".keep").value_or(std::vector<int>{});
    std::vector<int> passed;
    if (bypass != nullptr) passed = tensors(*bypass, path + ".bypass").value_or(std::vector<int>{});
    std::vector<int> out;
    for (int t = 0; t < static_cast<int>(e_.tensors.size()); ++t) {
      if (may_hold(h_.levels[at(l)], e_, t) && std::find(passed.begin(), passed.end(), t) == passed.end())
        out.push_back(t);
    }
    return out;
  }

  void spatial(const YamlNode& n, const std::string& path, int l) {
    if (!fields_.map(n, path, {"x", "y"})) return;
    for (const YamlEntry& e : n.entries) {
      if (e.key != "x" && e.key != "y") continue;
      LoopNode like;
      like.kind = e.key == "x" ? LoopKind::spatial_x : LoopKind::spatial_y;
      like.below = l;
      loops(e.value, path + "." + e.key, nullptr, {}, like);
    }
  }

  void loops(const YamlNode& n, const std::string& path, const YamlNode* order, const std::string& order_path,
             const LoopNode& like) {
    if (!n.is_map()) {
      fields_.problem(n.pos, path,
                      fmt::format("expected factors such as {{m: 4, k: 2}}, outermost first, found {}", n.describe()));
      return;
    }
    std::vector<const YamlEntry*> entries;
    for (const YamlEntry& e : n.entries) entries.push_back(&e);
    if (order != nullptr) entries = ordered(*order, order_path, n);
    for (const YamlEntry* e : entries) {
      const std::string here = path + "." + e->key;
      YamlNode key;
      key.kind = YamlNode::Kind::scalar;
      key.text = e->key;
      key.pos = e->pos;
      const auto d = dim(key, here);
      Written w;
      if (!d || !factor(e->value, here, w)) continue;
      LoopNode l = like;
      l.dim = *d;
      w.node = placed_.nest.nodes.size();
      w.pos = e->pos;
      w.path = here;
      add(l, e->pos);
      written_.push_back(std::move(w));
    }
  }

  /// Entries in the order that is asked for; every factor must be named in it.
  std::vector<const YamlEntry*> ordered(const YamlNode& order, const std::string& path, const YamlNode& factors) {
    std::vector<std::string> keys;
    for (const YamlEntry& e : factors.entries) keys.push_back(e.key);
    std::vector<const YamlEntry*> out;
    const auto list = fields_.list_of(order, path, keys, "a dimension with a factor here");
    if (!list) return out;
    if (list->size() != keys.size()) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (std::find(list->begin(), list->end(), static_cast<int>(i)) == list->end())
          fields_.problem(order.pos, path, fmt::format("'{}' has a factor but no place in the order", keys[i]));
      }
    }
    for (const int i : *list) out.push_back(&factors.entries[at(i)]);
    return out;
  }

  bool factor(const YamlNode& n, const std::string& path, Written& w) {
    if (n.is_scalar() && n.text == "rest") return true;
    if (n.is_map()) {
      if (!fields_.map(n, path, {"tile"})) return false;
      const YamlNode* tile = required(n, path, "tile");
      if (tile != nullptr) w.tile = fields_.whole(*tile, path + ".tile", 1);
      return w.tile.has_value();
    }
    if (n.is_scalar() && !n.quoted && !n.text.empty() && (n.text[0] == '-' || (n.text[0] >= '0' && n.text[0] <= '9'))) {
      w.factor = fields_.whole(n, path, 1);
      return w.factor.has_value();
    }
    fields_.problem(n.pos, path, fmt::format("expected a factor, 'rest' or {{tile: 16}}, found {}", n.describe()));
    return false;
  }

  /// Factors → tiles. Inside out a loop's tile is the factors inside multiplied, `rest` standing for as many iterations
  /// as the factors outside leave; then outside in every factor is compared with what it must be.
  void tiles() {
    const auto& nodes = placed_.nest.nodes;
    for (int d = 0; d < static_cast<int>(e_.dims.size()); ++d) {
      std::vector<Written*> mine;  // outermost first
      for (Written& w : written_) {
        if (std::get<LoopNode>(nodes[w.node]).dim == d) mine.push_back(&w);
      }
      one_dim(d, mine);
    }
  }

  void one_dim(int d, const std::vector<Written*>& mine) {
    const std::string& name = e_.dims[at(d)].name;
    const std::int64_t extent = e_.dims[at(d)].extent;
    // A stated tile ends a stretch of loops, whose last one takes as many iterations as are left.
    const Written* open = nullptr;
    for (const Written* w : mine) {
      if (w->factor) continue;
      if (open != nullptr) {
        fields_.problem(w->pos, w->path, fmt::format("'{}' has two loops that take what is left", name));
        return;
      }
      open = w->tile ? nullptr : w;
    }
    std::vector<std::int64_t> tile(mine.size() + 1, 1);
    for (std::size_t i = mine.size(); i-- > 0;) {
      const Written& w = *mine[i];
      if (w.tile) tile[i + 1] = *w.tile;
      const std::int64_t inside = tile[i + 1];
      std::int64_t factor = w.factor.value_or(1);
      if (!w.factor) {  // what one iteration of the loops outside holds: the extent over their factors
        std::int64_t outside = extent;
        for (std::size_t j = 0; j < i; ++j)
          outside = mine[j]->tile ? std::min(outside, *mine[j]->tile) : ceil_div(outside, mine[j]->factor.value_or(1));
        factor = ceil_div(outside, inside);
      }
      if (mul_overflows(inside, factor, tile[i])) tile[i] = extent;
      tile[i] = std::min(tile[i], extent);
    }
    std::int64_t outside = extent;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const Written& w = *mine[i];
      if (w.tile && *w.tile > outside) {
        fields_.problem(w.pos, w.path, fmt::format("a tile of {} in an extent of {}", *w.tile, outside));
        return;
      }
      const std::int64_t t = std::min(tile[i + 1], outside), trip = ceil_div(outside, t);
      if (w.factor && *w.factor != trip) {
        fields_.problem(w.pos, w.path,
                        fmt::format("factor {} of '{}', but {} iterations of {} cover the {} outside", *w.factor, name,
                                    trip, t, outside));
        return;
      }
      std::get<LoopNode>(placed_.nest.nodes[w.node]).tile = t;
      outside = t;
    }
  }

  int last_ = std::numeric_limits<int>::max();
  std::vector<Written> written_;  ///< outermost first
};

}  // namespace

PlacedNest read_node_form(const YamlNode& nodes, const YamlNode* networks, const Einsum& e, const Hierarchy& h) {
  return NodeForm(e, h).run(nodes, networks);
}

PlacedNest read_level_form(const YamlNode& levels, const Einsum& e, const Hierarchy& h) {
  return LevelForm(e, h).run(levels);
}

}  // namespace assay
