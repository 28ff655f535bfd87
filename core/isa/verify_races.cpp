#include "core/isa/verify_races.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace assay {
namespace {

void mark_outputs(const std::vector<Stmt>& stmts, std::vector<bool>& written) {
  for (const Stmt& s : stmts) {
    if (const auto* loop = std::get_if<Loop>(&s.node)) mark_outputs(loop->body, written);
    if (const auto* c = std::get_if<Command>(&s.node)) written[c->out.buffer.index()] = true;
    if (const auto* h = std::get_if<HostCommand>(&s.node))
      for (const BufferId id : h->out)
        if (id.valid()) written[id.index()] = true;
  }
}

}  // namespace

std::int64_t AccessHistory::BufferState::bucket(std::int64_t address) const {
  return std::clamp<std::int64_t>((address - origin) / bucket_bytes, 0, kBuckets - 1);
}

void AccessHistory::BufferState::file(std::uint32_t number) {
  if (buckets.empty()) buckets.resize(kBuckets);
  const std::int64_t first = bucket(records[number].begin), last = bucket(records[number].end - 1);
  if (last - first >= kSpan) return wide.push_back(number);
  for (std::int64_t b = first; b <= last; ++b) buckets[static_cast<std::size_t>(b)].push_back(number);
}

/// Records that may touch [begin, end); one that spans several buckets may come several times.
template <class F>
void AccessHistory::BufferState::each_near(std::int64_t begin, std::int64_t end, F f) const {
  const auto look = [&](std::uint32_t number) {
    const Record& r = records[number];
    if (r.begin < end && begin < r.end) f(r);
  };
  if (records.size() <= 2 * kSpan || bucket(end - 1) - bucket(begin) >= kBuckets / 2) {
    for (std::uint32_t i = 0; i < records.size(); ++i) look(i);
    return;
  }
  for (const std::uint32_t i : wide) look(i);
  for (std::int64_t b = bucket(begin); b <= bucket(end - 1); ++b)
    for (const std::uint32_t i : buckets[static_cast<std::size_t>(b)]) look(i);
}

AccessHistory::AccessHistory(const Program& program, const Machine& machine, std::vector<QueueState>& queues,
                             OnRace on_race)
    : program_(program), machine_(machine), queues_(queues), on_race_(std::move(on_race)) {
  const auto& buffers = program.buffers;
  const std::size_t n = buffers.size();
  sharing_.resize(n);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(buffers[a].memory.value, buffers[a].address, a) <
           std::tie(buffers[b].memory.value, buffers[b].address, b);
  });
  for (std::size_t i = 0; i < n; ++i) {
    const Buffer& a = buffers[order[i]];
    sharing_[order[i]].emplace_back(order[i]);
    for (std::size_t j = i + 1; j < n; ++j) {
      const Buffer& b = buffers[order[j]];
      if (b.memory != a.memory || b.address >= a.address + a.bytes) break;
      sharing_[order[i]].emplace_back(order[j]);
      sharing_[order[j]].emplace_back(order[i]);
    }
  }
  std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, std::uint32_t> first;
  for (std::size_t i = 0; i < n; ++i) {
    const Buffer& b = buffers[i];
    const auto view = first.try_emplace({b.memory.value, b.address, b.bytes, b.first_step, b.last_step}, i);
    same_bytes_.push_back(view.first->second);
  }
  std::vector<bool> written(n);
  mark_outputs(program.body, written);
  may_race_.resize(n);
  starts_written_.resize(n);
  const auto cores = static_cast<std::uint32_t>(program.grid.cores());
  for (std::size_t i = 0; i < n; ++i) {
    std::sort(sharing_[i].begin(), sharing_[i].end());
    may_race_[i] = std::any_of(sharing_[i].begin(), sharing_[i].end(), [&](BufferId b) { return written[b.index()]; });
    const BufferKind kind = buffers[i].kind;
    starts_written_[i] = kind == BufferKind::input || kind == BufferKind::constant || kind == BufferKind::state;
    if (!starts_written_[i] || sharing_[i].size() < 2) continue;
    const bool shared = machine.memory(buffers[i].memory).scope == Scope::chip;
    for (std::uint32_t core = 0; core < (shared ? 1 : cores); ++core)
      written_of(core, BufferId(i)).add(buffers[i].address, buffers[i].address + buffers[i].bytes);
  }
  states_.resize(n * cores);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i].origin = buffers[i % n].address;
    states_[i].bucket_bytes =
        std::max<std::int64_t>(1, (buffers[i % n].bytes + BufferState::kBuckets - 1) / BufferState::kBuckets);
  }
}

std::size_t AccessHistory::slot(std::uint32_t core, BufferId buffer) const {
  const bool shared = machine_.memory(program_.buffer(buffer).memory).scope == Scope::chip;
  return (shared ? 0 : core) * program_.buffers.size() + buffer.index();
}

WrittenBytes& AccessHistory::written_of(std::uint32_t core, BufferId buffer) {
  const MemoryId memory = program_.buffer(buffer).memory;
  return written_[{same_bytes_[buffer.index()], machine_.memory(memory).scope == Scope::chip ? 0 : core}];
}

bool AccessHistory::written(std::uint32_t core, BufferId buffer, std::int64_t begin, std::int64_t end) const {
  if (starts_written_[buffer.index()]) return true;
  const MemoryId memory = program_.buffer(buffer).memory;
  const auto at = written_.find({same_bytes_[buffer.index()], machine_.memory(memory).scope == Scope::chip ? 0 : core});
  return begin >= end || (at != written_.end() && at->second.holds(begin, end));
}

bool AccessHistory::unordered(std::uint32_t queue, const Touch& before) const {
  return before.site.queue != queue && queues_[queue].clock[before.site.queue] < before.segment;
}

void AccessHistory::compare(const Record& r, const ByteSet& bytes, bool write, const AccessSite& site, BufferId buffer,
                            BufferId other) {
  const Touch* found = r.has_write && unordered(site.queue, r.write) ? &r.write : nullptr;
  const bool before_wrote = found != nullptr;
  if (found == nullptr && write) {
    for (const Touch& read : r.reads)
      if (unordered(site.queue, read)) {
        found = &read;
        break;
      }
  }
  if (found != nullptr && overlap(r.bytes, bytes)) on_race_(site, write, found->site, before_wrote, buffer, other);
}

bool AccessHistory::access(std::uint32_t core, BufferId buffer, const ByteSet& bytes, bool write, bool exact,
                           const AccessSite& site) {
  if (!may_race_[buffer.index()]) return starts_written_[buffer.index()];
  ++accesses_;
  BufferState& state = states_[slot(core, buffer)];
  QueueState& queue = queues_[site.queue];
  const auto at = state.index.find(bytes);
  if (at != state.index.end()) {
    Record& r = state.records[at->second];
    if (r.stamp == queue.stamp && r.stamp_queue == site.queue && r.stamp_write == write) return true;
  }
  const std::int64_t begin = bytes.begin(), end = bytes.end();
  for (const BufferId other : sharing_[buffer.index()]) {
    states_[slot(core, other)].each_near(begin, end,
                                         [&](const Record& r) { compare(r, bytes, write, site, buffer, other); });
  }

  std::size_t number = state.records.size();
  if (at != state.index.end()) {
    number = at->second;
  } else {
    state.index.emplace(bytes, number);
    Record fresh;
    fresh.bytes = bytes;
    fresh.begin = begin;
    fresh.end = end;
    state.records.push_back(std::move(fresh));
    state.file(static_cast<std::uint32_t>(number));
  }
  Record& r = state.records[number];
  r.stamp = queue.stamp;
  r.stamp_queue = site.queue;
  r.stamp_write = write;
  bool initialised = true;
  if (write) {
    if (exact && !r.read_checked) mark_written(core, buffer, bytes);
    r.read_checked = r.read_checked || exact;
    r.has_write = true;
    r.write = {site, queue.segment};
    r.reads.clear();
  } else {
    const auto mine =
        std::find_if(r.reads.begin(), r.reads.end(), [&](const Touch& t) { return t.site.queue == site.queue; });
    if (mine != r.reads.end())
      *mine = {site, queue.segment};
    else
      r.reads.push_back({site, queue.segment});
    if (!r.read_checked && !starts_written_[buffer.index()]) {
      WrittenBytes& known = written_of(core, buffer);
      if (exact) bytes.for_each_run([&](std::int64_t b, std::int64_t e) { return initialised = known.holds(b, e); });
      r.read_checked = initialised;
    }
  }
  if (state.records.size() >= state.prune_at) prune(state);
  return initialised;
}

void AccessHistory::mark_written(std::uint32_t core, BufferId buffer, const ByteSet& bytes) {
  WrittenBytes& known = written_of(core, buffer);
  bytes.for_each_run([&](std::int64_t b, std::int64_t e) {
    known.add(std::max<std::int64_t>(b, 0), e);
    return true;
  });
}

void AccessHistory::prune(BufferState& state) {
  const std::size_t n = queues_.size();
  if (oldest_.empty() || accesses_ - oldest_at_ >= 8 * n) {
    oldest_at_ = accesses_;
    oldest_.assign(n, std::numeric_limits<std::uint32_t>::max());
    for (std::size_t q = 0; q < n; ++q) {
      if (queues_[q].cursor.done()) continue;
      for (std::size_t i = 0; i < n; ++i)
        if (i != q) oldest_[i] = std::min(oldest_[i], queues_[q].clock[i]);
    }
  }
  const auto past = [&](const Touch& t) { return oldest_[t.site.queue] >= t.segment; };
  std::erase_if(state.records, [&](const Record& r) {
    return (!r.has_write || past(r.write)) && std::all_of(r.reads.begin(), r.reads.end(), past);
  });
  state.index.clear();
  state.wide.clear();
  for (auto& bucket : state.buckets) bucket.clear();
  for (std::size_t i = 0; i < state.records.size(); ++i) {
    state.index.emplace(state.records[i].bytes, i);
    state.file(static_cast<std::uint32_t>(i));
  }
  state.prune_at = 2 * state.records.size() + 64;
}

}  // namespace assay
