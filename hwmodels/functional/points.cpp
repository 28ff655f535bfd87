#include "hwmodels/functional/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/base/math.h"
#include "core/isa/byte_set.h"

namespace assay {
namespace {

/// A position in some of the dimensions, with every operand's offset kept along.
class Odometer {
 public:
  Odometer(const std::vector<std::int64_t>& extents, const std::vector<int>& dims) : extents_(extents), dims_(dims) {
    at_.assign(extents.size(), 0);
  }
  void set(std::int64_t flat) {
    for (std::size_t i = extents_.size(); i-- > 0;) {
      at_[i] = flat % extents_[i];
      flat /= extents_[i];
    }
  }
  /// Points left in the innermost dimension.
  std::int64_t run() const { return extents_.empty() ? 1 : extents_.back() - at_.back(); }
  void advance(std::int64_t n) {  // n <= run()
    if (extents_.empty()) return;
    std::size_t i = extents_.size() - 1;
    at_[i] += n;
    while (i > 0 && at_[i] == extents_[i]) {
      at_[i] = 0;
      ++at_[--i];
    }
  }
  std::int64_t offset(const Steps& steps) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < at_.size(); ++i) sum += at_[i] * steps[static_cast<std::size_t>(dims_[i])];
    return sum;
  }
  std::int64_t inner_step(const Steps& steps) const {
    return dims_.empty() ? 0 : steps[static_cast<std::size_t>(dims_.back())];
  }
  /// The value of iteration slot `dim`, if it is among these dimensions.
  bool holds(int dim) const { return std::find(dims_.begin(), dims_.end(), dim) != dims_.end(); }
  std::int64_t value(int dim) const {
    const auto i = std::find(dims_.begin(), dims_.end(), dim) - dims_.begin();
    return at_[static_cast<std::size_t>(i)];
  }
  bool is_inner(int dim) const { return !dims_.empty() && dims_.back() == dim; }

 private:
  const std::vector<std::int64_t>& extents_;
  const std::vector<int>& dims_;
  std::vector<std::int64_t> at_;
};

std::int64_t product(const std::vector<std::int64_t>& v) {
  std::int64_t p = 1;
  for (const std::int64_t x : v) p *= x;
  return p;
}

/// Steps [first, last) of a run of n in which start + k·step lies in [0, size).
std::pair<std::int64_t, std::int64_t> inside(std::int64_t start, std::int64_t step, std::int64_t size, std::int64_t n) {
  if (step == 0) return start >= 0 && start < size ? std::pair{std::int64_t{0}, n} : std::pair{n, n};
  if (step < 0) {
    const auto [a, b] = inside(start + step * (n - 1), -step, size, n);
    return {n - b, n - a};
  }
  const std::int64_t first = start >= 0 ? 0 : std::min(n, ceil_div(-start, step));
  const std::int64_t last = size <= start ? 0 : std::min(n, (size - 1 - start) / step + 1);
  return first < last ? std::pair{first, last} : std::pair{n, n};
}

/// A run of an operand that needs no index: its address and the part of it that is in bounds.
struct Run {
  std::byte* at;
  std::int64_t step, first, last;
};
Run run_of(const BoundOperand& o, const Odometer& outer, const Odometer& inner, std::int64_t n) {
  Run r{o.memory + o.base + outer.offset(o.step) + inner.offset(o.step), inner.inner_step(o.step), 0, n};
  for (const CheckedDim& d : o.checked) {
    const auto [first, last] =
        inside(d.start + outer.offset(d.step) + inner.offset(d.step), inner.inner_step(d.step), d.size, n);
    r.first = std::max(r.first, first);
    r.last = std::min(r.last, last);
  }
  if (r.first >= r.last) r.first = r.last = n;
  return r;
}

/// Addresses of an indexed operand's points of one run; nullptr: out of bounds and filled. Returns the points that are
/// in bounds but for the index, which depends on data.
std::int64_t indexed_run(const BoundOperand& o, const std::vector<BoundOperand>& in, const Odometer& outer,
                         const Odometer& inner, std::int64_t n, std::vector<std::byte*>& addresses) {
  addresses.assign(static_cast<std::size_t>(n), o.memory + o.base + outer.offset(o.step) + inner.offset(o.step));
  Lanes index;
  std::vector<bool> outside(static_cast<std::size_t>(n), false);
  for (std::int64_t k = 0; k < n; ++k) addresses[static_cast<std::size_t>(k)] += k * inner.inner_step(o.step);
  for (const CheckedDim& d : o.checked) {
    const std::int64_t start = d.start + outer.offset(d.step) + inner.offset(d.step), step = inner.inner_step(d.step);
    const BoundOperand* by = d.index_operand < 0 ? nullptr : &in[static_cast<std::size_t>(d.index_operand)];
    if (by != nullptr) {
      const Run r = run_of(*by, outer, inner, n);
      if (by->has_fill) fill_run(by->type, by->fill, index, 0, static_cast<std::size_t>(n));
      if (r.last > r.first)
        load_run(by->type, r.at + r.first * r.step, r.step, index, static_cast<std::size_t>(r.first),
                 static_cast<std::size_t>(r.last - r.first));
    }
    for (std::int64_t k = 0; k < n; ++k) {
      std::byte*& address = addresses[static_cast<std::size_t>(k)];
      const std::int64_t i = by == nullptr ? 0 : lane_integer(by->type, index, static_cast<std::size_t>(k));
      std::int64_t c = 0;
      const bool sane = !__builtin_add_overflow(start + k * step, i, &c);
      if (sane && c >= 0 && c < d.size) {
        if (address != nullptr) address += i * d.stride;
      } else if (o.has_fill) {
        address = nullptr;
        if (by == nullptr) outside[static_cast<std::size_t>(k)] = true;
      } else {
        throw InputError("program", fmt::format("index {} leads to coordinate {} of {}", i, sane ? c : i, d.size));
      }
    }
  }
  return std::count(outside.begin(), outside.end(), false);
}

/// Returns the points in bounds.
std::int64_t load_operand(const BoundOperand& o, const std::vector<BoundOperand>& in, const Odometer& outer,
                          const Odometer& inner, std::int64_t n, Lanes& to, std::int64_t at,
                          std::vector<std::byte*>& scratch) {
  const auto lane = static_cast<std::size_t>(at);
  if (o.indexed) {
    const std::int64_t valid = indexed_run(o, in, outer, inner, n, scratch);
    for (std::size_t k = 0; k < scratch.size(); ++k) {
      if (scratch[k] != nullptr)
        load_run(o.type, scratch[k], 0, to, lane + k, 1);
      else
        fill_run(o.type, o.fill, to, lane + k, 1);
    }
    return valid;
  }
  const Run r = run_of(o, outer, inner, n);
  if (r.first > 0) fill_run(o.type, o.fill, to, lane, static_cast<std::size_t>(r.first));
  if (r.last > r.first)
    load_run(o.type, r.at + r.first * r.step, r.step, to, lane + static_cast<std::size_t>(r.first),
             static_cast<std::size_t>(r.last - r.first));
  if (r.last < n)
    fill_run(o.type, o.fill, to, lane + static_cast<std::size_t>(r.last), static_cast<std::size_t>(n - r.last));
  return r.last - r.first;
}

void store_operand(const BoundOperand& o, const std::vector<BoundOperand>& in, const Odometer& outer,
                   const Odometer& inner, std::int64_t n, const Lanes& from, std::int64_t at,
                   std::vector<std::byte*>& scratch) {
  const auto lane = static_cast<std::size_t>(at);
  if (o.indexed) {
    indexed_run(o, in, outer, inner, n, scratch);
    for (std::size_t k = 0; k < scratch.size(); ++k) store_run(o.type, from, lane + k, scratch[k], 0, 1);
    return;
  }
  const Run r = run_of(o, outer, inner, n);
  store_run(o.type, from, lane, r.at, r.step, static_cast<std::size_t>(n));
}

}  // namespace

PointSpace simplify(const Command& command, std::span<const std::int64_t> extents, std::span<const std::int64_t> origin,
                    std::span<BoundOperand* const> operands, bool keep) {
  PointSpace s;
  s.origin.assign(origin.begin(), origin.end());
  const auto collect = [&](bool reduction, std::vector<std::int64_t>& ext, std::vector<int>& dims) {
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (command.iter[i].reduction != reduction || (extents[i] == 1 && !keep)) continue;
      // Merge into the dimension before, if that is the same walk for every operand.
      const std::int64_t n = extents[i];
      bool even = !keep && !dims.empty();
      if (even) {
        const auto outer = static_cast<std::size_t>(dims.back());
        for (const BoundOperand* o : operands) {
          even = even && o->step[outer] == o->step[i] * n;
          for (const CheckedDim& d : o->checked) even = even && d.step[outer] == d.step[i] * n;
        }
      }
      if (even) {
        ext.back() *= n;
        dims.back() = static_cast<int>(i);
      } else {
        ext.push_back(n);
        dims.push_back(static_cast<int>(i));
      }
    }
  };
  collect(false, s.parallel, s.parallel_dims);
  collect(true, s.reduction, s.reduction_dims);
  return s;
}

std::int64_t run_copy(const PointSpace& space, std::vector<BoundOperand>& in, BoundOperand& out) {
  static const std::vector<std::int64_t> kNoExtents;
  static const std::vector<int> kNoDims;
  const Odometer none(kNoExtents, kNoDims);
  Odometer at(space.parallel, space.parallel_dims);
  const std::int64_t points = product(space.parallel);
  const BoundOperand& from = in[0];
  const std::int64_t size = element_bytes(from.type);
  std::vector<std::byte*> scratch;
  Lanes lanes;
  std::int64_t inside_points = 0;
  for (std::int64_t done = 0; done < points;) {
    if (from.type == out.type && !from.indexed && !out.indexed) {
      const std::int64_t n = at.run();
      const Run src = run_of(from, none, at, n), dst = run_of(out, none, at, n);
      const std::int64_t valid = src.last - src.first;
      if (valid < n) {
        fill_run(out.type, from.fill, lanes, 0, 1);
        for (std::int64_t k = 0; k < n; ++k)
          if (k < src.first || k >= src.last) store_run(out.type, lanes, 0, dst.at + k * dst.step, 0, 1);
      }
      if (src.step == size && dst.step == size) {
        std::memmove(dst.at + src.first * size, src.at + src.first * size, static_cast<std::size_t>(valid * size));
      } else {
        for (std::int64_t k = src.first; k < src.last; ++k)
          std::memcpy(dst.at + k * dst.step, src.at + k * src.step, static_cast<std::size_t>(size));
      }
      inside_points += valid;
      at.advance(n);
      done += n;
      continue;
    }
    const std::int64_t n = std::min<std::int64_t>(at.run(), kLanes);
    inside_points += load_operand(from, in, none, at, n, lanes, 0, scratch);
    cast_lanes(from.type, lanes, out.type, lanes, static_cast<std::size_t>(n));
    store_operand(out, in, none, at, n, lanes, 0, scratch);
    at.advance(n);
    done += n;
  }
  return inside_points;
}

void VectorRunner::run(const Command& command, const PointSpace& space, std::vector<BoundOperand>& in,
                       BoundOperand& out, bool accumulate) {
  const Body& body = command.body;
  values_.resize(body.code.size());
  std::vector<std::byte*> scratch;
  const std::int64_t points = product(space.parallel), folds = product(space.reduction);
  const bool reduces = command.combine != Combine::none;
  // Lanes lie along the parallel points, or, where those are few, along the reduction. Each output folds its values
  // in the written order either way.
  const bool along_reduction = reduces && points < 64 && folds > 4 * points;
  const auto& lane_extents = along_reduction ? space.reduction : space.parallel;
  const auto& lane_dims = along_reduction ? space.reduction_dims : space.parallel_dims;
  const auto& other_extents = along_reduction ? space.parallel : space.reduction;
  const auto& other_dims = along_reduction ? space.parallel_dims : space.reduction_dims;
  const std::int64_t lanes_total = product(lane_extents), others = product(other_extents);

  // Fills the inputs of one block of lanes with the other dimensions standing still, and evaluates the body.
  const auto evaluate_block = [&](const Odometer& other, const Odometer& start, std::int64_t n) {
    for (std::size_t v = 0; v < body.code.size(); ++v) {
      const ScalarInstr& instr = body.code[v];
      if (instr.op != ScalarOp::input && instr.op != ScalarOp::index) continue;
      Odometer at = start;
      for (std::int64_t done = 0; done < n;) {
        const std::int64_t run = std::min(at.run(), n - done);
        if (instr.op == ScalarOp::input) {
          load_operand(in[static_cast<std::size_t>(instr.a)], in, other, at, run, values_[v], done, scratch);
        } else {
          const std::int64_t base = space.origin[static_cast<std::size_t>(instr.a)] +
                                    (at.holds(instr.a) ? at.value(instr.a) : other.value(instr.a));
          const bool moves = at.is_inner(instr.a);
          for (std::int64_t k = 0; k < run; ++k) values_[v].i64()[done + k] = base + (moves ? k : 0);
        }
        at.advance(run);
        done += run;
      }
      if (instr.op == ScalarOp::index)
        cast_lanes(DType::i64, values_[v], instr.type, values_[v], static_cast<std::size_t>(n));
    }
    evaluate_body(body, values_, static_cast<std::size_t>(n));
  };
  // Output lanes of a block, run by run.
  const auto each_run = [&](const Odometer& start, std::int64_t n, auto f) {
    Odometer at = start;
    for (std::int64_t done = 0; done < n;) {
      const std::int64_t run = std::min(at.run(), n - done);
      f(at, run, done);
      at.advance(run);
      done += run;
    }
  };
  const DType value_type = body.type();
  Odometer other(other_extents, other_dims);
  Odometer lane(lane_extents, lane_dims);

  if (along_reduction) {
    for (std::int64_t p = 0; p < others; ++p) {
      other.set(p);
      lane.set(0);
      if (accumulate) {
        load_operand(out, in, other, lane, 1, acc_, 0, scratch);
        cast_lanes(out.type, acc_, command.accumulator, acc_, 1);
      } else {
        fill_identity(command.combine, command.accumulator, acc_, 1);
      }
      for (std::int64_t done = 0; done < lanes_total;) {
        const std::int64_t n = std::min<std::int64_t>(kLanes, lanes_total - done);
        lane.set(done);
        evaluate_block(other, lane, n);
        cast_lanes(value_type, values_.back(), command.accumulator, spare_, static_cast<std::size_t>(n));
        fold_into_first(command.combine, command.accumulator, acc_, spare_, static_cast<std::size_t>(n));
        done += n;
      }
      lane.set(0);
      cast_lanes(command.accumulator, acc_, out.type, acc_, 1);
      store_operand(out, in, other, lane, 1, acc_, 0, scratch);
    }
    return;
  }

  for (std::int64_t done = 0; done < lanes_total;) {
    const std::int64_t n = std::min<std::int64_t>(kLanes, lanes_total - done);
    const auto count = static_cast<std::size_t>(n);
    lane.set(done);
    other.set(0);
    if (!reduces) {
      evaluate_block(other, lane, n);
      cast_lanes(value_type, values_.back(), out.type, acc_, count);
    } else {
      if (accumulate) {
        each_run(lane, n, [&](const Odometer& at, std::int64_t run, std::int64_t first) {
          load_operand(out, in, other, at, run, acc_, first, scratch);
        });
        cast_lanes(out.type, acc_, command.accumulator, acc_, count);
      } else {
        fill_identity(command.combine, command.accumulator, acc_, count);
      }
      for (std::int64_t r = 0; r < others; ++r) {
        other.set(r);
        evaluate_block(other, lane, n);
        cast_lanes(value_type, values_.back(), command.accumulator, spare_, count);
        fold_lanes(command.combine, command.accumulator, acc_, spare_, count);
      }
      other.set(0);
      cast_lanes(command.accumulator, acc_, out.type, acc_, count);
    }
    each_run(lane, n, [&](const Odometer& at, std::int64_t run, std::int64_t first) {
      store_operand(out, in, other, at, run, acc_, first, scratch);
    });
    done += n;
  }
}

}  // namespace assay
