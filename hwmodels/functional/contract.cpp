#include "hwmodels/functional/contract.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/base/error.h"
#include "core/base/math.h"
#include "core/ir/convert.h"
#include "core/isa/byte_set.h"
#include "hwmodels/functional/gemm.h"
#include "hwmodels/functional/lanes.h"

namespace assay {
namespace {

constexpr std::int64_t kRowsPerBlock = 256;

template <class T>
T* room(std::vector<std::byte>& buffer, std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T) + 64;
  if (buffer.size() < bytes) buffer.resize(bytes);
  return reinterpret_cast<T*>(buffer.data());
}

/// Elements [k, k + n) of a contiguous run, converted and less the zero point.
template <class T>
void convert_run(DType type, const std::byte* from, std::int64_t stride, T* to, std::int64_t n, T zero) {
  if constexpr (std::is_integral_v<T>) {
    visit_storage(type, [&](auto sample) {
      using E = decltype(sample);
      if constexpr (std::is_integral_v<E>) {
        for (std::int64_t i = 0; i < n; ++i) {
          E v;
          std::memcpy(&v, from + i * stride, sizeof v);
          to[i] = static_cast<T>(static_cast<T>(v) - zero);
        }
      }
    });
  } else {
    const auto each = [&](auto sample, auto f) {
      for (std::int64_t i = 0; i < n; ++i) {
        auto v = sample;
        std::memcpy(&v, from + i * stride, sizeof v);
        to[i] = static_cast<T>(f(v)) - zero;
      }
    };
    switch (type) {
      case DType::f32:
        return each(float{}, [](float v) { return v; });
      case DType::f64:
        return each(double{}, [](double v) { return v; });
      case DType::f16:
        return each(std::uint16_t{}, from_f16);
      case DType::bf16:
        return each(std::uint16_t{}, from_bf16);
      default:
        break;
    }
  }
}

}  // namespace

ContractRunner::Table ContractRunner::table(const BoundOperand& o, const Roles& roles, DimRole role,
                                            std::span<const std::int64_t> extents) const {
  const auto& dims = roles.dims[static_cast<std::size_t>(role)];
  const auto n = static_cast<std::size_t>(roles.size[static_cast<std::size_t>(role)]);
  const auto walk = [&](const Steps& steps) {
    std::vector<std::int64_t> values = {0};
    values.reserve(n);
    for (const std::size_t d : dims) {
      std::vector<std::int64_t> next;
      next.reserve(n);
      for (const std::int64_t v : values)
        for (std::int64_t i = 0; i < extents[d]; ++i) next.push_back(v + i * steps[d]);
      values = std::move(next);
    }
    return values;
  };
  Table t;
  t.offset = walk(o.step);
  for (const CheckedDim& c : o.checked) t.coordinate.push_back(walk(c.step));
  return t;
}

template <class T>
void ContractRunner::pack(const BoundOperand& o, const Table& rows, const Table& cols, const Table& group,
                          std::size_t g, double zero, std::int64_t row_begin, std::int64_t row_end, T* to,
                          std::vector<std::int64_t>& valid) {
  const auto k = static_cast<std::int64_t>(cols.offset.size());
  const std::int64_t size = element_bytes(o.type);
  const T zero_value = static_cast<T>(zero);
  const T fill = static_cast<T>(convert_scalar<T>(o.fill) - zero_value);
  const std::byte* base = o.memory + o.base + group.offset[g];
  const std::size_t checks = o.checked.size();
  // Runs of columns that lie next to each other and share their checked coordinates.
  std::vector<std::int64_t> starts;
  for (std::int64_t c = 0; c < k; ++c) {
    const auto i = static_cast<std::size_t>(c);
    bool joined = c > 0 && cols.offset[i] == cols.offset[i - 1] + size;
    for (std::size_t d = 0; d < checks && joined; ++d) joined = cols.coordinate[d][i] == cols.coordinate[d][i - 1];
    if (!joined) starts.push_back(c);
  }
  starts.push_back(k);
  std::vector<std::int64_t> at(checks);
  for (std::int64_t r = row_begin; r < row_end; ++r) {
    const auto row = static_cast<std::size_t>(r);
    const std::byte* from = base + rows.offset[row];
    for (std::size_t d = 0; d < checks; ++d)
      at[d] = o.checked[d].start + group.coordinate[d][g] + rows.coordinate[d][row];
    std::int64_t inside = 0;
    for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
      const std::int64_t c = starts[s], n = starts[s + 1] - c;
      bool in = true;
      for (std::size_t d = 0; d < checks; ++d) {
        const std::int64_t v = at[d] + cols.coordinate[d][static_cast<std::size_t>(c)];
        in = in && v >= 0 && v < o.checked[d].size;
      }
      if (in) {
        convert_run(o.type, from + cols.offset[static_cast<std::size_t>(c)], size, to + c, n, zero_value);
        inside += n;
      } else {
        std::fill_n(to + c, n, fill);
      }
    }
    valid[row] = inside;
    to += k;
  }
}

template <class Acc>
void ContractRunner::store(const Command& command, const BoundOperand& out, const Acc* block, const Table& m,
                           const Table& n, std::int64_t base, std::int64_t m_begin, std::int64_t m_end,
                           bool accumulate) {
  const auto width = static_cast<std::int64_t>(n.offset.size());
  const bool even = width < 2 || [&] {
    const std::int64_t step = n.offset[1] - n.offset[0];
    for (std::size_t i = 1; i < n.offset.size(); ++i)
      if (n.offset[i] != n.offset[i - 1] + step) return false;
    return true;
  }();
  const std::int64_t step = width < 2 ? 0 : n.offset[1] - n.offset[0];
  constexpr DType kBlockType = std::is_same_v<Acc, float>          ? DType::f32
                               : std::is_same_v<Acc, double>       ? DType::f64
                               : std::is_same_v<Acc, std::int32_t> ? DType::i32
                                                                   : DType::i64;
  Lanes value, old;
  const auto run = [&](const Acc* from, std::byte* to, std::int64_t stride, std::size_t count) {
    load_run(kBlockType, reinterpret_cast<const std::byte*>(from), sizeof(Acc), value, 0, count);
    cast_lanes(kBlockType, value, command.accumulator, value, count);
    if (accumulate) {
      load_run(out.type, to, stride, old, 0, count);
      cast_lanes(out.type, old, command.accumulator, old, count);
      fold_lanes(Combine::sum, command.accumulator, old, value, count);
      cast_lanes(command.accumulator, old, out.type, old, count);
      store_run(out.type, old, 0, to, stride, count);
    } else {
      cast_lanes(command.accumulator, value, out.type, value, count);
      store_run(out.type, value, 0, to, stride, count);
    }
  };
  if (width == 1 && m_end - m_begin > 1) {  // one column: run down it where it is evenly spaced
    for (std::int64_t r = m_begin; r < m_end;) {
      const auto first = static_cast<std::size_t>(r);
      std::int64_t count = 1, down = 0;
      while (r + count < m_end && count < static_cast<std::int64_t>(kLanes)) {
        const std::size_t i = first + static_cast<std::size_t>(count);
        if (count == 1) down = m.offset[i] - m.offset[i - 1];
        if (m.offset[i] - m.offset[i - 1] != down) break;
        ++count;
      }
      run(block + (r - m_begin), out.memory + base + m.offset[first] + n.offset[0], down,
          static_cast<std::size_t>(count));
      r += count;
    }
    return;
  }
  for (std::int64_t r = m_begin; r < m_end; ++r) {
    std::byte* to = out.memory + base + m.offset[static_cast<std::size_t>(r)];
    const Acc* from = block + (r - m_begin) * width;
    const std::int64_t longest = even ? static_cast<std::int64_t>(kLanes) : 1;
    for (std::int64_t j = 0; j < width; j += longest) {
      const std::int64_t count = std::min(longest, width - j);
      run(from + j, to + n.offset[static_cast<std::size_t>(j)], step, static_cast<std::size_t>(count));
    }
  }
}

template <class T, class Acc>
void ContractRunner::multiply(const MatrixUnit& unit, const Command& command, std::span<const std::int64_t> extents,
                              const Roles& roles, const BoundOperand& a, const BoundOperand& b, const BoundOperand& out,
                              bool accumulate, ContractCounts& counts) {
  const Table a_m = table(a, roles, DimRole::m, extents), a_k = table(a, roles, DimRole::k, extents);
  const Table b_n = table(b, roles, DimRole::n, extents), b_k = table(b, roles, DimRole::k, extents);
  const Table out_m = table(out, roles, DimRole::m, extents), out_n = table(out, roles, DimRole::n, extents);
  const Table a_g = table(a, roles, DimRole::g, extents), b_g = table(b, roles, DimRole::g, extents);
  const Table out_g = table(out, roles, DimRole::g, extents);
  const auto m = static_cast<std::int64_t>(a_m.offset.size()), n = static_cast<std::int64_t>(b_n.offset.size());
  const auto k = static_cast<std::int64_t>(a_k.offset.size());
  const std::int64_t block = std::min(m, kRowsPerBlock);
  const std::vector<DimRole> by_dim = dim_roles(command);
  std::vector<RolePoint> points[4];
  for (const DimRole r : {DimRole::m, DimRole::n, DimRole::k})
    points[static_cast<std::size_t>(r)] = role_points(command, by_dim, r, extents);
  ValidRows valid;
  valid.a.resize(static_cast<std::size_t>(m));
  valid.b.resize(static_cast<std::size_t>(n));
  T* packed_a = room<T>(a_, block * k);
  T* packed_b = room<T>(b_, n * k);
  Acc* result = room<Acc>(c_, block * n);
  for (std::size_t g = 0; g < a_g.offset.size(); ++g) {
    pack(b, b_n, b_k, b_g, g, command.zero[1], 0, n, packed_b, valid.b);
    for (std::int64_t m0 = 0; m0 < m; m0 += block) {
      const std::int64_t m1 = std::min(m, m0 + block);
      pack(a, a_m, a_k, a_g, g, command.zero[0], m0, m1, packed_a, valid.a);
      gemm(packed_a, packed_b, result, m1 - m0, n, k);
      store(command, out, result, out_m, out_n, out.base + out_g.offset[g], m0, m1, accumulate);
    }
    a_valid_ += std::accumulate(valid.a.begin(), valid.a.end(), std::int64_t{0});
    b_valid_ += std::accumulate(valid.b.begin(), valid.b.end(), std::int64_t{0});
    if (unit.style != ArrayStyle::pe_array)
      count_folds(unit, command.array->dataflow, points, valid, accumulate, counts);
  }
}

void ContractRunner::run(const Machine& machine, const MatrixUnit& unit, const Command& command,
                         std::span<const std::int64_t> extents, const BoundOperand& a, const BoundOperand& b,
                         const BoundOperand& out, bool accumulate, ContractCounts& counts) {
  if (a.indexed || b.indexed || out.indexed) throw InputError("program", "a contraction with an index operand");
  Roles roles;
  const std::vector<DimRole> by_dim = dim_roles(command);
  for (std::size_t d = 0; d < by_dim.size(); ++d) {
    const auto r = static_cast<std::size_t>(by_dim[d]);
    roles.dims[r].push_back(d);
    roles.size[r] *= extents[d];
  }
  a_valid_ = b_valid_ = 0;
  const double z0 = command.zero[0], z1 = command.zero[1];
  const bool integers = is_integer(a.type) && is_integer(b.type);
  if (integers && (z0 != std::floor(z0) || z1 != std::floor(z1) || std::abs(z0) > 1e9 || std::abs(z1) > 1e9))
    throw InputError("program", "zero points of integer operands are integers");
  const auto byte_wide = [](const BoundOperand& o, double zero) {
    return bits(o.type) == 8 && zero >= (is_signed(o.type) ? -128 : 0) && zero <= (is_signed(o.type) ? 127 : 255);
  };
  const bool i32 = command.accumulator == DType::i32 || command.accumulator == DType::u32;
  if (integers && byte_wide(a, z0) && byte_wide(b, z1) && i32)
    multiply<std::int16_t, std::int32_t>(unit, command, extents, roles, a, b, out, accumulate, counts);
  else if (integers && is_integer(command.accumulator))
    multiply<std::int64_t, std::int64_t>(unit, command, extents, roles, a, b, out, accumulate, counts);
  else if (a.type == DType::f64 && b.type == DType::f64)
    multiply<double, double>(unit, command, extents, roles, a, b, out, accumulate, counts);
  else if (is_float(a.type) && is_float(b.type) && a.type != DType::f64 && b.type != DType::f64)
    multiply<float, float>(unit, command, extents, roles, a, b, out, accumulate, counts);
  else
    throw InputError("program", "a contraction of " + std::string(name(a.type)) + " by " + std::string(name(b.type)) +
                                    " in " + std::string(name(command.accumulator)));
  if (unit.style != ArrayStyle::pe_array) return;
  // Dimensions that an operand is merely repeated over do not make more elements of it.
  const auto repeats = [&](const BoundOperand& o, DimRole own) {
    std::int64_t r = 1;
    for (std::size_t d = 0; d < by_dim.size(); ++d) {
      bool moves = o.step[d] != 0;
      for (const CheckedDim& c : o.checked) moves = moves || c.step[d] != 0;
      if (!moves && (by_dim[d] == own || by_dim[d] == DimRole::k)) r *= extents[d];
    }
    return r;
  };
  count_pe_array(machine, unit, command, extents, a_valid_ / repeats(a, DimRole::m), b_valid_ / repeats(b, DimRole::n),
                 accumulate, counts);
}

}  // namespace assay
