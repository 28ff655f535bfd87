#include "hwmodels/functional/bind.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/math.h"
#include "core/isa/byte_set.h"
#include "core/isa/queues.h"

namespace assay {

void bind_operand(const Program& program, const Operand& operand, bool is_output, std::byte* memory,
                  std::span<const std::int64_t> extents, std::span<const std::int64_t> vars, const std::string& what,
                  BoundOperand& out) {
  const Buffer& buffer = program.buffer(operand.buffer);
  out.memory = memory;
  out.type = operand.type;
  out.has_fill = operand.fill.has_value() && !is_output;
  out.fill = operand.fill.value_or(0);
  out.base = buffer.address + operand.byte_offset;
  out.step.fill(0);
  out.checked.clear();
  out.indexed = false;
  if (operand.ring)
    out.base += floor_mod(evaluate(operand.ring->sequence, vars), operand.ring->depth) * operand.ring->stride;
  out.lowest = out.base;
  out.highest = out.base + element_bytes(operand.type);
  bool empty = false;
  for (std::size_t d = 0; d < operand.dims.size(); ++d) {
    const ViewDim& dim = operand.dims[d];
    const std::int64_t start = evaluate(dim.offset, vars);
    std::int64_t low = start, high = start;
    for (const auto& [i, c] : dim.iter) {
      out.step[static_cast<std::size_t>(i)] += c * dim.stride;
      (c < 0 ? low : high) += c * (extents[static_cast<std::size_t>(i)] - 1);
    }
    out.base += start * dim.stride;
    const bool inside = low >= 0 && high < dim.size;
    if (!inside || dim.index_operand) {
      CheckedDim checked;
      checked.start = start;
      checked.size = dim.size;
      checked.stride = dim.stride;
      for (const auto& [i, c] : dim.iter) checked.step[static_cast<std::size_t>(i)] += c;
      checked.index_operand = dim.index_operand.value_or(-1);
      out.indexed = out.indexed || dim.index_operand.has_value();
      out.checked.push_back(checked);
      if (!dim.index_operand && !out.has_fill)
        throw InputError(
            "program", fmt::format("{}: coordinates {} to {} of dimension {} leave the {} elements of '{}'", what, low,
                                   high, d, dim.size, buffer.name));
      low = dim.index_operand ? 0 : std::max<std::int64_t>(low, 0);
      high = dim.index_operand ? dim.size - 1 : std::min(high, dim.size - 1);
      empty = empty || high < low;
    }
    (dim.stride < 0 ? out.highest : out.lowest) += low * dim.stride;
    (dim.stride < 0 ? out.lowest : out.highest) += high * dim.stride;
  }
  if (!empty && (out.lowest < buffer.address || out.highest > buffer.address + buffer.bytes))
    throw InputError("program",
                     fmt::format("{}: bytes {} to {} of buffer '{}', which has {}", what, out.lowest - buffer.address,
                                 out.highest - buffer.address, buffer.name, buffer.bytes));
}

namespace {

/// One coordinate: start + Σ coefficient·i, counted where it lies in [0, size) if it is bounded.
struct Coordinate {
  std::int64_t start = 0, size = 0;
  bool bounded = false;
  std::vector<std::pair<std::size_t, std::int64_t>> terms;  ///< iteration dimensions of extent > 1
};

std::int64_t distinct_values(const Coordinate& c, std::span<const std::int64_t> extents) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // (|coefficient|, extent)
  std::int64_t start = c.start, span = 0;
  for (const auto& [i, k] : c.terms) {
    if (k < 0) start += k * (extents[i] - 1);
    steps.emplace_back(k < 0 ? -k : k, extents[i]);
    span += steps.back().first * (extents[i] - 1);
  }
  std::sort(steps.begin(), steps.end());
  std::int64_t step = 1, count = 1;
  bool even = true;
  for (const auto& [k, n] : steps) {
    if (count == 1) {
      step = k;
      count = n;
    } else if (k % step == 0 && k / step <= count) {
      count += k / step * (n - 1);
    } else {
      even = false;
    }
  }
  if (even) {
    if (!c.bounded) return count;
    const std::int64_t first = start >= 0 ? 0 : ceil_div(-start, step);
    const std::int64_t room = c.size - 1 - start;
    const std::int64_t last = room < 0 ? -1 : std::min(count - 1, room / step);
    return std::max<std::int64_t>(0, last - first + 1);
  }
  // Uneven: mark what can be reached.
  std::vector<bool> reached(static_cast<std::size_t>(span) + 1, false);
  reached[0] = true;
  for (const auto& [k, n] : steps) {
    const std::vector<bool> before = reached;
    for (std::int64_t j = 1; j < n; ++j)
      for (std::int64_t v = 0; v + j * k <= span; ++v)
        if (before[static_cast<std::size_t>(v)]) reached[static_cast<std::size_t>(v + j * k)] = true;
  }
  std::int64_t result = 0;
  for (std::int64_t v = 0; v <= span; ++v)
    result += reached[static_cast<std::size_t>(v)] && (!c.bounded || (start + v >= 0 && start + v < c.size));
  return result;
}

/// Coordinates that share iteration dimensions: visits every point of the dimensions they mention.
std::int64_t distinct_by_visiting(const std::vector<Coordinate>& coordinates, std::span<const std::int64_t> extents) {
  std::vector<std::size_t> dims;
  for (const Coordinate& c : coordinates)
    for (const auto& term : c.terms) dims.push_back(term.first);
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  std::vector<std::int64_t> at(extents.size(), 0);
  std::vector<std::vector<std::int64_t>> seen;
  while (true) {
    std::vector<std::int64_t> values;
    bool inside = true;
    for (const Coordinate& c : coordinates) {
      std::int64_t v = c.start;
      for (const auto& [i, k] : c.terms) v += k * at[i];
      inside = inside && (!c.bounded || (v >= 0 && v < c.size));
      values.push_back(v);
    }
    if (inside) seen.push_back(std::move(values));
    std::size_t i = dims.size();
    while (i > 0 && ++at[dims[i - 1]] == extents[dims[i - 1]]) at[dims[--i]] = 0;
    if (i == 0) break;
  }
  std::sort(seen.begin(), seen.end());
  return std::unique(seen.begin(), seen.end()) - seen.begin();
}

}  // namespace

std::int64_t distinct_elements(const Command& command, const Operand& operand, std::span<const std::int64_t> extents,
                               std::span<const std::int64_t> vars) {
  std::vector<Coordinate> all;
  const auto collect = [&](const Operand& o, bool bounded) {
    for (const ViewDim& d : o.dims) {
      Coordinate c{evaluate(d.offset, vars), d.size, bounded && !d.index_operand, {}};
      for (const auto& [i, k] : d.iter)
        if (k != 0 && extents[static_cast<std::size_t>(i)] > 1) c.terms.emplace_back(static_cast<std::size_t>(i), k);
      all.push_back(std::move(c));
    }
  };
  collect(operand, operand.fill.has_value());
  for (const ViewDim& d : operand.dims)
    if (d.index_operand) collect(command.in[static_cast<std::size_t>(*d.index_operand)], false);
  std::array<int, kMaxIter> uses{};
  for (const Coordinate& c : all) {
    std::array<bool, kMaxIter> here{};
    for (const auto& term : c.terms) here[term.first] = true;
    for (std::size_t i = 0; i < kMaxIter; ++i) uses[i] += here[i];
  }
  if (std::any_of(uses.begin(), uses.end(), [](int n) { return n > 1; })) return distinct_by_visiting(all, extents);
  std::int64_t product = 1;
  for (const Coordinate& c : all) product *= distinct_values(c, extents);
  return product;
}

}  // namespace assay
