#include "core/lowering/operands.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/check.h"
#include "core/base/math.h"

namespace assay {

OperandBuilder::OperandBuilder(const LoweringInput& input, std::size_t kernel, std::vector<VarId> loop_vars)
    : in_(input),
      k_(input.kernels[kernel]),
      m_(input.mappings[kernel]),
      index_(kernel),
      vars_(std::move(loop_vars)),
      shape_(k_, m_) {}

std::int64_t OperandBuilder::element_bytes(int tensor) const {
  return std::max(1, bits(k_.tensors[static_cast<std::size_t>(tensor)].type.dtype) / 8);
}

std::int64_t OperandBuilder::covered(int dim) const {
  std::int64_t all = shape_.chunk(dim);
  for (int i = 0; i < loop_count(); ++i) {
    if (m_.loops[static_cast<std::size_t>(i)].dim != dim) continue;
    all = shape_.trip(i) * m_.loops[static_cast<std::size_t>(i)].tile;  // tiles inside divide this one
    break;
  }
  for (const SpatialSplit& s : m_.spatial) {
    if (s.dim == dim) all *= (s.axes.row ? in_.machine->grid.rows : 1) * (s.axes.col ? in_.machine->grid.cols : 1);
  }
  return all;
}

bool OperandBuilder::may_clip(int dim) const { return covered(dim) != k_.dims[static_cast<std::size_t>(dim)].extent; }

bool OperandBuilder::may_be_empty(int dim) const {
  return covered(dim) - k_.dims[static_cast<std::size_t>(dim)].extent >= shape_.tile(dim);
}

Affine OperandBuilder::inner_start(int dim, int from, int to) const {
  Affine a;
  for (int i = from; i < to && i < loop_count(); ++i) {
    const TemporalLoop& l = m_.loops[static_cast<std::size_t>(i)];
    if (l.dim == dim) a.add(vars_[static_cast<std::size_t>(i)], l.tile);
  }
  return a;
}

Affine OperandBuilder::start(int dim, int depth) const {
  Affine a = inner_start(dim, 0, depth);
  for (const SpatialSplit& s : m_.spatial) {
    if (s.dim != dim) continue;
    if (s.axes.row && s.axes.col) {
      a.add(kCoreRow, s.chunk * in_.machine->grid.cols);
      a.add(kCoreCol, s.chunk);
    } else {
      a.add(s.axes.row ? kCoreRow : kCoreCol, s.chunk);
    }
  }
  return a;
}

Extent OperandBuilder::extent(int dim, int depth) const {
  Extent e{shape_.range(dim, depth), std::nullopt};
  if (!may_clip(dim)) return e;
  Affine available = start(dim, depth).scaled(-1);
  available.constant += k_.dims[static_cast<std::size_t>(dim)].extent;
  e.available = available;
  return e;
}

std::vector<IterDim> OperandBuilder::iteration(const KernelNest& nest, int depth) const {
  std::vector<IterDim> iter;
  for (std::size_t i = 0; i < nest.dims.size(); ++i) {
    const int s = nest.shared[i];
    iter.push_back({nest.dims[i].name, s >= 0 ? extent(s, depth) : Extent{nest.dims[i].extent, std::nullopt},
                    nest.dims[i].reduction});
  }
  return iter;
}

std::vector<ViewDim> OperandBuilder::home_dims(int tensor) const {
  const Shape& shape = k_.tensors[static_cast<std::size_t>(tensor)].type.shape;
  std::vector<ViewDim> dims(shape.size());
  std::int64_t stride = element_bytes(tensor);
  for (std::size_t d = shape.size(); d-- > 0;) {
    dims[d].size = shape[d];
    dims[d].stride = stride;
    stride *= shape[d];
  }
  return dims;
}

Affine OperandBuilder::sequence(int depth) const {
  Affine a;
  std::int64_t weight = 1;
  for (int i = depth; i-- > 0;) {
    a.add(vars_[static_cast<std::size_t>(i)], weight);
    weight *= shape_.trip(i);
  }
  return a;
}

Ring OperandBuilder::ring(int depth, std::int64_t buffers, std::int64_t slot) const {
  return {sequence(depth), buffers, slot};
}

std::int64_t OperandBuilder::slot_bytes(int tensor) const {
  const Buffer& b = in_.buffers[in_.tile.at({index_, tensor}).index()];
  return b.bytes / m_.placements[static_cast<std::size_t>(tensor)].buffers;
}

Operand OperandBuilder::home_operand(const KernelNest& nest, const KernelAccess& access, int depth) const {
  const KernelTensor& t = k_.tensors[static_cast<std::size_t>(access.tensor)];
  ASSAY_CHECK(t.graph_tensor.valid(), t.name);
  Operand o;
  o.buffer = in_.home.at(in_.root[t.graph_tensor.index()]);
  o.type = t.type.dtype;
  o.dims = home_dims(access.tensor);
  o.fill = access.fill;
  for (std::size_t d = 0; d < access.dims.size(); ++d) {
    ViewDim& v = o.dims[d];
    v.offset.constant = access.dims[d].offset;
    v.index_operand = access.dims[d].index_operand;
    for (const auto& [dim, c] : access.dims[d].terms) {
      v.iter.push_back({dim, c});
      const int s = nest.shared[static_cast<std::size_t>(dim)];
      if (s >= 0) v.offset = v.offset + start(s, depth).scaled(c);
    }
  }
  return o;
}

Operand OperandBuilder::operand(const KernelNest& nest, const KernelAccess& access, int depth) const {
  const Placement& p = m_.placements[static_cast<std::size_t>(access.tensor)];
  if (p.resident) return home_operand(nest, access, depth);
  const KernelTensor& t = k_.tensors[static_cast<std::size_t>(access.tensor)];
  const TensorBox box = tensor_box(k_, shape_, access.tensor, p.depth);
  Operand o;
  o.buffer = in_.tile.at({index_, access.tensor});
  o.type = t.type.dtype;
  if (p.buffers > 1) o.ring = ring(p.depth, p.buffers, slot_bytes(access.tensor));
  o.dims.resize(access.dims.size());
  std::int64_t stride = element_bytes(access.tensor);
  for (std::size_t d = access.dims.size(); d-- > 0;) {
    ViewDim& v = o.dims[d];
    v.size = box.extent[d];
    v.stride = stride;
    stride *= box.extent[d];
    const std::int64_t step = box.step[d];
    // Coordinate in the box: (coordinate − lo of the box − start of the box) / step.
    std::int64_t constant = access.dims[d].offset - box.lo[d];
    for (const auto& [dim, c] : access.dims[d].terms) {
      const int s = nest.shared[static_cast<std::size_t>(dim)];
      const std::int64_t range = s >= 0 ? shape_.range(s, p.depth) : nest.dims[static_cast<std::size_t>(dim)].extent;
      if (range == 1) continue;  // never moves inside the box
      ASSAY_CHECK(c % step == 0, fmt::format("coefficient {} in a box of step {}", c, step));
      v.iter.push_back({dim, c / step});
      if (s >= 0) v.offset = v.offset + inner_start(s, p.depth, depth).scaled(c / step);
    }
    ASSAY_CHECK(constant % step == 0, fmt::format("offset {} in a box of step {}", constant, step));
    v.offset.constant += constant / step;
  }
  return o;
}

Command OperandBuilder::box_copy(int tensor, bool load, EngineId engine) const {
  const KernelTensor& t = k_.tensors[static_cast<std::size_t>(tensor)];
  const Placement& p = m_.placements[static_cast<std::size_t>(tensor)];
  const TensorBox box = tensor_box(k_, shape_, tensor, p.depth);
  Command c;
  c.opcode = Opcode::copy;
  c.engine = engine;
  c.body.input(0, t.type.dtype);
  c.trail = static_cast<std::int64_t>(index_);
  if (load) c.multicast = p.multicast;
  Operand home, tile;
  home.buffer = in_.home.at(in_.root[t.graph_tensor.index()]);
  home.type = tile.type = t.type.dtype;
  home.dims = home_dims(tensor);
  tile.buffer = in_.tile.at({index_, tensor});
  if (p.buffers > 1) tile.ring = ring(p.depth, p.buffers, slot_bytes(tensor));
  tile.dims.resize(home.dims.size());

  // Which kernel dimensions move each coordinate, by any access of any nest.
  std::vector<std::map<int, std::int64_t>> moved(home.dims.size());
  const auto scan = [&](const KernelNest& nest, const KernelAccess& a) {
    if (a.tensor != tensor) return;
    if (load && a.fill) home.fill = a.fill;
    for (std::size_t d = 0; d < a.dims.size(); ++d) {
      for (const auto& [dim, coefficient] : a.dims[d].terms) {
        const int s = nest.shared[static_cast<std::size_t>(dim)];
        if (s >= 0) moved[d][s] = coefficient;
      }
    }
  };
  for (const KernelNest& nest : k_.nests) {
    for (const KernelAccess& a : nest.ins) scan(nest, a);
    scan(nest, nest.out);
  }

  std::vector<int> guards;
  std::int64_t stride = element_bytes(tensor);
  for (std::size_t d = home.dims.size(); d-- > 0;) {
    ViewDim& h = home.dims[d];
    ViewDim& v = tile.dims[d];
    v.size = box.extent[d];
    v.stride = stride;
    stride *= box.extent[d];
    h.offset.constant = box.lo[d];
    h.iter = {{static_cast<int>(d), box.step[d]}};
    v.iter = {{static_cast<int>(d), 1}};
    for (const auto& [s, coefficient] : moved[d]) h.offset = h.offset + start(s, p.depth).scaled(coefficient);
  }
  for (std::size_t d = 0; d < home.dims.size(); ++d) {
    Extent e{box.extent[d], std::nullopt};
    for (const auto& [s, coefficient] : moved[d]) {
      const Extent own = extent(s, p.depth);
      if (!own.available || coefficient <= 0) continue;
      if (own.full == 1) {
        if (may_be_empty(s)) guards.push_back(s);
        continue;
      }
      // The box shrinks with the last tile of the one dimension that is tiled here.
      const std::int64_t per_step = coefficient / box.step[d];
      Affine available = own.available->scaled(per_step);
      available.constant += box.extent[d] - per_step * own.full;
      e.available = available;
      if (may_be_empty(s)) guards.push_back(s);
    }
    c.iter.push_back({fmt::format("x{}", d), e, false});
  }
  // A window keeps a halo even where its tile is empty: a guard of extent 0 or 1 makes the copy vanish there.
  for (const int s : guards) {
    Extent own = extent(s, p.depth);
    c.iter.push_back({"guard_" + k_.dims[static_cast<std::size_t>(s)].name, {1, own.available}, false});
  }
  if (load) {
    c.in = {home};
    c.out = tile;
  } else {
    c.in = {tile};
    c.out = home;
  }
  return c;
}

}  // namespace assay
