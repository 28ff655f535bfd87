#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>
#include <variant>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/compiler/compiler.h"

namespace assay {
namespace {

void feed(Sha256& h, std::string_view text) { h.update(static_cast<std::int64_t>(text.size())).update(text); }
void feed(Sha256& h, std::int64_t v) { h.update(v); }

void feed(Sha256& h, const KernelNest& nest, const KernelAccess& a) {
  feed(h, static_cast<std::int64_t>(a.tensor));
  feed(h, static_cast<std::int64_t>(a.dims.size()));
  h.update(a.fill.value_or(0));
  feed(h, std::int64_t{a.fill.has_value()});
  for (const AccessDim& d : a.dims) {
    feed(h, d.offset);
    feed(h, static_cast<std::int64_t>(d.index_operand.value_or(-1)));
    feed(h, static_cast<std::int64_t>(d.terms.size()));
    for (const auto& [dim, c] : d.terms) {
      feed(h, static_cast<std::int64_t>(dim));
      feed(h, c);
      feed(h, static_cast<std::int64_t>(nest.shared[static_cast<std::size_t>(dim)]));
    }
  }
}

/// Everything of a kernel that the search reads: structure and sizes, no names.
void feed(Sha256& h, const Kernel& k, const KernelHomes& homes) {
  feed(h, static_cast<std::int64_t>(k.dims.size()));
  for (const KernelDim& d : k.dims) {
    feed(h, d.extent);
    feed(h, std::int64_t{d.reduction});
  }
  feed(h, static_cast<std::int64_t>(k.tensors.size()));
  for (std::size_t t = 0; t < k.tensors.size(); ++t) {
    const KernelTensor& tensor = k.tensors[t];
    feed(h, static_cast<std::int64_t>(tensor.kind));
    feed(h, static_cast<std::int64_t>(tensor.type.dtype));
    feed(h, static_cast<std::int64_t>(tensor.type.shape.size()));
    for (const std::int64_t e : tensor.type.shape) feed(h, e);
    feed(h, static_cast<std::int64_t>(homes.home[t].value));
  }
  for (const KernelNest& n : k.nests) {
    feed(h, static_cast<std::int64_t>(n.dims.size()));
    for (std::size_t i = 0; i < n.dims.size(); ++i) {
      feed(h, n.dims[i].extent);
      feed(h, std::int64_t{n.dims[i].reduction});
      feed(h, static_cast<std::int64_t>(n.shared[i]));
    }
    for (const KernelAccess& a : n.ins) feed(h, n, a);
    feed(h, n, n.out);
    feed(h, static_cast<std::int64_t>(n.combine));
    feed(h, static_cast<std::int64_t>(n.accumulator));
    feed(h, std::int64_t{n.contraction});
    for (const ScalarInstr& s : n.body.code) {
      feed(h, static_cast<std::int64_t>(s.op) * 64 + static_cast<std::int64_t>(s.type));
      feed(h, static_cast<std::int64_t>(s.a));
    }
  }
}

void feed(Sha256& h, const MapEnvironment& env) {
  feed(h, env.grid.rows);
  feed(h, env.grid.cols);
  h.update(env.core_hz);
  for (const std::int64_t a : env.available) feed(h, a);
  for (const auto* table : {&env.load, &env.store}) {
    for (const auto& row : *table) {
      for (const PathRate& p : row) {
        feed(h, std::int64_t{p.exists} * 8 + std::int64_t{p.multicast} * 4 + std::int64_t{p.overlaps});
        feed(h, static_cast<std::int64_t>(p.engine.value));
        h.update(p.cycles_per_byte).update(p.shared_cycles_per_byte).update(p.latency);
        feed(h, p.max_request);
        feed(h, p.outstanding);
      }
    }
  }
  for (const Memory& m : env.memories) {
    feed(h, static_cast<std::int64_t>(m.scope) * 64 + static_cast<std::int64_t>(m.kind) * 4 +
                std::int64_t{m.double_buffered});
    feed(h, m.capacity);
    for (const Role r : m.holds) feed(h, static_cast<std::int64_t>(r));
    feed(h, static_cast<std::int64_t>(m.holds.size()));
  }
  for (const double p : env.port_cycles_per_byte) h.update(p);
  for (std::size_t i = 0; i < env.matrix.size(); ++i) {
    const MatrixUnit& u = env.matrix[i];
    for (const std::int64_t v :
         {std::int64_t{u.count}, static_cast<std::int64_t>(u.style), static_cast<std::int64_t>(u.dataflow), u.rows,
          u.cols, u.m, u.k, u.n, u.every, std::int64_t{u.double_buffered_weights}, u.issue_cycles, u.pipeline_cycles}) {
      feed(h, v);
    }
    for (const MatrixType& t : u.types) {
      feed(h, static_cast<std::int64_t>(t.operand) * 64 + static_cast<std::int64_t>(t.accumulator));
      h.update(t.rate);
    }
    h.update(env.matrix_clock_ratio[i]);
  }
  for (std::size_t i = 0; i < env.vector.size(); ++i) {
    const VectorUnit& u = env.vector[i];
    for (const std::int64_t v : {std::int64_t{u.count}, u.lanes, u.issue_cycles, u.pipeline_cycles}) feed(h, v);
    for (const auto& [op, rate] : u.ops) {
      feed(h, op);
      h.update(rate);
    }
    for (const auto& [type, rate] : u.types) {
      feed(h, static_cast<std::int64_t>(type));
      h.update(rate);
    }
    h.update(env.vector_clock_ratio[i]);
  }
}

}  // namespace

struct MappingCache::Impl {
  mutable std::mutex mutex;
  std::map<std::string, std::variant<SearchResult, std::string>> results;
  std::atomic<std::int64_t> hits{0}, searches{0};
};

MappingCache::MappingCache() : impl_(std::make_unique<Impl>()) {}
MappingCache::~MappingCache() = default;
std::int64_t MappingCache::hits() const { return impl_->hits; }
std::int64_t MappingCache::searches() const { return impl_->searches; }

SearchResult MappingCache::get(const Kernel& k, const KernelHomes& homes, const MapEnvironment& env) {
  Sha256 h;
  feed(h, k, homes);
  feed(h, env);
  const std::string key = h.hex();
  const auto unpack = [&](const std::variant<SearchResult, std::string>& v) -> SearchResult {
    if (const auto* reason = std::get_if<std::string>(&v)) throw Infeasible(*reason);
    return std::get<SearchResult>(v);
  };
  {
    const std::lock_guard lock(impl_->mutex);
    const auto it = impl_->results.find(key);
    if (it != impl_->results.end()) {
      ++impl_->hits;
      return unpack(it->second);
    }
  }
  // Two threads may search the same layer at once: both get the same answer, so only time is lost.
  ++impl_->searches;
  std::variant<SearchResult, std::string> result;
  try {
    result = search_mapping(k, homes, env);
  } catch (const Infeasible& e) {
    result = std::string(e.what());
  }
  const std::lock_guard lock(impl_->mutex);
  return unpack(impl_->results.emplace(key, std::move(result)).first->second);
}

}  // namespace assay
