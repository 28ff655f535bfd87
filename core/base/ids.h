#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace assay {

/// A typed index: `using NodeId = Id<struct NodeTag>`. Two kinds of id never mix. A default-constructed id is
/// invalid; there is no other "none".
template <class Tag>
struct Id {
  static constexpr std::uint32_t kInvalid = UINT32_MAX;
  std::uint32_t value = kInvalid;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}
  constexpr bool valid() const { return value != kInvalid; }
  constexpr std::size_t index() const { return value; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace assay

template <class Tag>
struct std::hash<assay::Id<Tag>> {
  std::size_t operator()(assay::Id<Tag> id) const noexcept { return std::hash<std::uint32_t>{}(id.value); }
};
