#pragma once

#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/spec/machine.h"
#include "core/spec/quantity.h"

// One table per part: name, kind of value, range, doc and where it is stored. The loader, the printer, the JSON Schema
// and the tables in docs/machine-format.md are all made from it.

namespace assay {

enum class FieldKind : std::uint8_t {
  boolean,
  integer,          ///< a whole plain number
  real,             ///< a plain number
  bytes,            ///< stored in B
  bandwidth,        ///< stored in B/s; B/cycle is converted by the part's clock
  frequency,        ///< Hz
  time,             ///< s; cycles are converted by the part's clock
  cycles,           ///< cycles of the part's clock
  energy,           ///< J
  energy_per_byte,  ///< J/B
  power,            ///< W
  area,             ///< m²
  length,           ///< m
  voltage,          ///< V
  op_rate,          ///< operations/s
  text,
  name,  ///< a letter or '_', then letters, digits and '_'
  choice,
  dtype,
  size_pair,  ///< [rows, columns]
  choice_list,
  memory,  ///< name of a memory
  memory_list,
  link,
  link_list,
  clock,
  matrix_types,  ///< {int8: int32} or {fp16: {accumulator: fp32, rate: 0.5}}
  vector_ops,    ///< any, [add, exp] or {add: 1, exp: 0.25}
  vector_types,  ///< [fp32] or {fp32: 1, fp16: 2}
};

struct TypeRate {
  std::string key;          ///< operand type or operation
  std::string accumulator;  ///< matrix_types only
  Real rate = 1;
  friend bool operator==(const TypeRate&, const TypeRate&) = default;
};

/// A checked value on its way between file and struct, in the kind's base unit; monostate: not set.
using FieldValue = std::variant<std::monostate, bool, Real, std::string, std::vector<Real>, std::vector<std::string>,
                                std::vector<TypeRate>>;

struct FieldSpec {
  std::string name;  ///< `capacity`; a dot makes a group: `timing.banks`
  FieldKind kind = FieldKind::text;
  std::string doc;
  bool required = false;
  Real low = 0, high = 0x1p60L;  ///< numbers: inclusive, in the base unit
  bool above_low = false;        ///< `low` itself is not allowed
  Real scale = 1;                ///< stored value = base value × scale (ns, pJ, mm²)
  bool whole = false;            ///< stored as an integer
  std::vector<std::string> choices;
};

/// Index ↔ name of everything a field may refer to. `memory_scopes` holds the grid's or array's name, or nothing.
struct Names {
  std::vector<std::string> memories, memory_scopes, links, clocks;
};

template <class T>
struct Field {
  FieldSpec spec;
  std::function<void(T&, const FieldValue&, const Names&)> set;
  std::function<FieldValue(const T&, const Names&)> get;

  Field required() && {
    spec.required = true;
    return std::move(*this);
  }
  Field range(Real low, Real high) && {
    spec.low = low;
    spec.high = high;
    return std::move(*this);
  }
  Field at_least(Real low) && {
    spec.low = low;
    return std::move(*this);
  }
  Field above_zero() && {
    spec.low = 0;
    spec.above_low = true;
    return std::move(*this);
  }
  Field scaled(Real scale) && {
    spec.scale = scale;
    return std::move(*this);
  }
  /// Printed only when `when` holds (a field of another kind of part otherwise).
  Field only_if(std::function<bool(const T&)> when) && {
    get = [inner = std::move(get), when = std::move(when)](const T& part, const Names& names) {
      return when(part) ? inner(part, names) : FieldValue{};
    };
    return std::move(*this);
  }
};
template <class T>
using Table = std::vector<Field<T>>;

namespace field_detail {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

template <class V>
void store(V& slot, Real v) {
  if constexpr (is_optional<V>::value) {
    slot = static_cast<typename V::value_type>(v);
  } else if constexpr (std::is_integral_v<V>) {
    slot = static_cast<V>(v);  // in range and whole: checked against the spec
  } else {
    slot = static_cast<V>(v);
  }
}

std::size_t index_of(const std::vector<std::string>& names, const std::string& name);

}  // namespace field_detail

/// A number: int, std::int64_t, double or std::optional<double>. `slot` maps the part to the member.
template <class T, class Slot>
Field<T> number(std::string name, FieldKind kind, Slot slot, std::string doc) {
  using V = std::remove_reference_t<decltype(slot(std::declval<T&>()))>;
  Field<T> f;
  f.spec = {.name = std::move(name), .kind = kind, .doc = std::move(doc), .choices = {}};
  f.spec.whole = std::is_integral_v<V>;
  if constexpr (std::is_same_v<V, int>) f.spec.high = 1'000'000;
  f.set = [slot](T& part, const FieldValue& v, const Names&) { field_detail::store(slot(part), std::get<Real>(v)); };
  f.get = [slot](const T& part, const Names&) -> FieldValue {
    const auto& v = slot(const_cast<T&>(part));
    if constexpr (field_detail::is_optional<V>::value) {
      return v ? FieldValue{static_cast<Real>(*v)} : FieldValue{};
    } else {
      return static_cast<Real>(v);
    }
  };
  return f;
}

template <class T, class Slot>
Field<T> flag(std::string name, Slot slot, std::string doc) {
  Field<T> f;
  f.spec = {.name = std::move(name), .kind = FieldKind::boolean, .doc = std::move(doc), .choices = {}};
  f.set = [slot](T& part, const FieldValue& v, const Names&) { slot(part) = std::get<bool>(v); };
  f.get = [slot](const T& part, const Names&) -> FieldValue { return slot(const_cast<T&>(part)); };
  return f;
}

template <class T, class Slot>
Field<T> text(std::string name, FieldKind kind, Slot slot, std::string doc) {
  Field<T> f;
  f.spec = {.name = std::move(name), .kind = kind, .doc = std::move(doc), .choices = {}};
  f.set = [slot](T& part, const FieldValue& v, const Names&) { slot(part) = std::get<std::string>(v); };
  f.get = [slot](const T& part, const Names&) -> FieldValue {
    const std::string& v = slot(const_cast<T&>(part));
    return v.empty() ? FieldValue{} : FieldValue{v};
  };
  return f;
}

/// An enum whose enumerators are 0, 1, 2 … in the order of `choices`.
template <class T, class Slot>
Field<T> choice(std::string name, std::vector<std::string> choices, Slot slot, std::string doc) {
  using E = std::remove_reference_t<decltype(slot(std::declval<T&>()))>;
  Field<T> f;
  f.spec = {.name = std::move(name), .kind = FieldKind::choice, .doc = std::move(doc), .choices = choices};
  f.set = [slot, choices](T& part, const FieldValue& v, const Names&) {
    slot(part) = static_cast<E>(field_detail::index_of(choices, std::get<std::string>(v)));
  };
  f.get = [slot, choices](const T& part, const Names&) -> FieldValue {
    return choices.at(static_cast<std::size_t>(slot(const_cast<T&>(part))));
  };
  return f;
}

/// A list of ids (MemoryId, LinkId) written as names; not printed when empty.
template <class T, class Slot>
Field<T> reference_list(std::string name, FieldKind kind, std::vector<std::string> Names::*pool, Slot slot,
                        std::string doc) {
  using IdType = typename std::remove_reference_t<decltype(slot(std::declval<T&>()))>::value_type;
  Field<T> f;
  f.spec = {.name = std::move(name), .kind = kind, .doc = std::move(doc), .choices = {}};
  f.set = [slot, pool](T& part, const FieldValue& v, const Names& names) {
    slot(part).clear();
    for (const std::string& item : std::get<std::vector<std::string>>(v)) {
      slot(part).push_back(IdType(field_detail::index_of(names.*pool, item)));
    }
  };
  f.get = [slot, pool](const T& part, const Names& names) -> FieldValue {
    std::vector<std::string> out;
    for (const IdType id : slot(const_cast<T&>(part))) out.push_back((names.*pool).at(id.index()));
    return out.empty() ? FieldValue{} : FieldValue{out};
  };
  return f;
}

template <class T, class Slot>
Field<T> memory_list(std::string name, Slot slot, std::string doc) {
  return reference_list<T>(std::move(name), FieldKind::memory_list, &Names::memories, slot, std::move(doc));
}

template <class T>
Field<T> clock_field() {
  Field<T> f;
  f.spec = {.name = "clock",
            .kind = FieldKind::clock,
            .doc = "Clock domain; `B/cycle` and cycle counts are by it. Default: the first clock.",
            .choices = {}};
  f.set = [](T& part, const FieldValue& v, const Names& names) {
    part.clock = static_cast<int>(field_detail::index_of(names.clocks, std::get<std::string>(v)));
  };
  f.get = [](const T& part, const Names& names) -> FieldValue {
    if (names.clocks.empty()) return {};
    return names.clocks.at(static_cast<std::size_t>(part.clock));
  };
  return f;
}

/// What the text of a kind looks like in messages and docs: `a size with a unit, for example 128 KiB`.
struct KindInfo {
  std::string noun;                ///< `a size with a unit, for example 128 KiB`
  std::string short_name;          ///< for the tables: `size`
  std::vector<std::string> units;  ///< in which it is printed, largest first; one of them is the base unit
  Dimension dim;
  std::optional<Dimension> by_clock;  ///< the other dimension it may be given in, converted by the clock
  bool numeric = false;
};
const KindInfo& kind_info(FieldKind kind);

/// Canonical YAML of a value (flow style): `128 KiB`, `[dram, lls]`, `{int8: {accumulator: int32, rate: 1}}`.
/// Reading it gives the stored value again.
std::string format_value(const FieldSpec& spec, const FieldValue& value);
/// A number of the stored scale of the field, with its unit.
std::string format_number(const FieldSpec& spec, Real stored);
/// A YAML double-quoted scalar.
std::string quote(const std::string& text);
/// `>= 1`, `> 0 B`, `1 … 64`: the field's range for messages and docs; empty if nothing is to be said.
std::string describe_range(const FieldSpec& spec);

}  // namespace assay
