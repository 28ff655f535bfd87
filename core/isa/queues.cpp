#include "core/isa/queues.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace assay {
namespace {

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  return __builtin_add_overflow(a, b, &r) ? std::numeric_limits<std::int64_t>::max() : r;
}
std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  return __builtin_mul_overflow(a, b, &r) ? std::numeric_limits<std::int64_t>::max() : r;
}

class Flattener {
 public:
  explicit Flattener(const Program& program) : queues_(program.engines.size()) {
    for (std::size_t e = 0; e < queues_.size(); ++e) queues_[e].engine = EngineId(e);
  }
  std::vector<Queue> run(const std::vector<Stmt>& body) {
    block(body);
    return std::move(queues_);
  }

 private:
  struct Open {
    const Loop* loop;
    std::vector<std::pair<std::size_t, std::size_t>> begun;  ///< (engine, position of its begin step)
  };

  void block(const std::vector<Stmt>& stmts) {
    for (const Stmt& s : stmts) {
      if (const auto* loop = std::get_if<Loop>(&s.node)) {
        if (loop->trip <= 0) {
          skip(loop->body);
          continue;
        }
        open_.push_back({loop, {}});
        block(loop->body);
        close();
        continue;
      }
      const std::size_t e = engine_of(s).index();
      ASSAY_CHECK(e < queues_.size(), "engine " + std::to_string(e));
      auto& steps = queues_[e].steps;
      for (Open& open : open_) {
        const bool begun = std::any_of(open.begun.begin(), open.begun.end(), [&](auto& b) { return b.first == e; });
        if (begun) continue;
        open.begun.emplace_back(e, steps.size());
        QueueStep begin;
        begin.kind = QueueStep::Kind::begin;
        begin.var = open.loop->var.value;
        begin.trip = begin.head = begin.resume = open.loop->trip;
        steps.push_back(begin);
      }
      QueueStep leaf;
      leaf.leaf = &s;
      leaf.number = number_++;
      steps.push_back(leaf);
    }
  }

  void close() {
    for (const auto& [engine, begin] : open_.back().begun) {
      auto& steps = queues_[engine].steps;
      QueueStep end = steps[begin];
      end.kind = QueueStep::Kind::end;
      end.partner = begin;
      steps[begin].partner = steps.size();
      steps.push_back(end);
    }
    open_.pop_back();
  }

  void skip(const std::vector<Stmt>& stmts) {
    for (const Stmt& s : stmts) {
      if (const auto* loop = std::get_if<Loop>(&s.node))
        skip(loop->body);
      else
        ++number_;
    }
  }

  std::vector<Queue> queues_;
  std::vector<Open> open_;
  std::size_t number_ = 0;
};

}  // namespace

std::int64_t evaluate(const Affine& a, std::span<const std::int64_t> vars) {
  // Sums wrap rather than trap; the verifier rejects values that leave a buffer.
  auto sum = static_cast<std::uint64_t>(a.constant);
  for (const auto& [v, c] : a.terms) sum += static_cast<std::uint64_t>(c) * static_cast<std::uint64_t>(vars[v.index()]);
  return static_cast<std::int64_t>(sum);
}

std::int64_t evaluate(const Extent& e, std::span<const std::int64_t> vars) {
  if (!e.available) return e.full;
  return std::max<std::int64_t>(0, std::min(e.full, evaluate(*e.available, vars)));
}

std::vector<Queue> queues_of(const Program& program) { return Flattener(program).run(program.body); }

std::int64_t instance_count(const std::vector<Queue>& queues) {
  std::int64_t total = 0;
  for (const Queue& q : queues) {
    std::vector<std::int64_t> product = {1};
    for (const QueueStep& s : q.steps) {
      if (s.kind == QueueStep::Kind::begin)
        product.push_back(saturating_mul(product.back(), s.head + (s.trip - s.resume)));
      else if (s.kind == QueueStep::Kind::end)
        product.pop_back();
      else
        total = saturating_add(total, product.back());
    }
  }
  return total;
}

QueueCursor::QueueCursor(const Queue& queue, std::size_t var_count, std::int64_t core_row, std::int64_t core_col)
    : queue_(&queue), vars_(std::max(var_count, kFirstLoopVar), 0) {
  vars_[kCoreRow.index()] = core_row;
  vars_[kCoreCol.index()] = core_col;
  settle();
}

void QueueCursor::advance() {
  ++at_;
  settle();
}

void QueueCursor::settle() {
  const auto& steps = queue_->steps;
  while (at_ < steps.size() && steps[at_].kind != QueueStep::Kind::leaf) {
    const QueueStep& s = steps[at_];
    std::int64_t& v = vars_[s.var];
    if (s.kind == QueueStep::Kind::begin) {
      v = 0;  // a loop that is here has at least one iteration
      ++at_;
      continue;
    }
    ++v;
    if (v == s.head) v = s.resume;
    at_ = v < s.trip ? s.partner + 1 : at_ + 1;
  }
}

SemaphoreCounters::SemaphoreCounters(const Program& program) : program_(&program) {
  for (std::size_t s = 0; s < program.semaphores.size(); ++s) {
    first_.push_back(owner_.size());
    owner_.insert(owner_.end(), static_cast<std::size_t>(program.semaphores[s].slots), static_cast<std::uint32_t>(s));
  }
}

std::string SemaphoreCounters::name(std::size_t counter) const {
  const Semaphore& s = owner(counter);
  return s.slots == 1 ? s.name : s.name + "[" + std::to_string(counter - first_[owner_[counter]]) + "]";
}

EngineId engine_of(const Stmt& leaf) {
  if (const auto* c = std::get_if<Command>(&leaf.node)) return c->engine;
  if (const auto* h = std::get_if<HostCommand>(&leaf.node)) return h->engine;
  if (const auto* w = std::get_if<Wait>(&leaf.node)) return w->engine;
  if (const auto* s = std::get_if<Signal>(&leaf.node)) return s->engine;
  fail_check(__FILE__, __LINE__, "leaf", "a loop has no engine");
}

}  // namespace assay
