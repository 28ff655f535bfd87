#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/lowering/kernel_lowering.h"

namespace assay {
namespace {

/// What each engine knows of the others' progress: `knows[e][f]` is the number of kernels of f that are complete
/// before e goes on. Own-core knowledge and knowledge about all cores are kept apart.
class Progress {
 public:
  explicit Progress(std::size_t engines) : local_(engines, std::vector<std::size_t>(engines, 0)), global_(local_) {}

  bool covers(EngineId reader, EngineId writer, std::size_t kernel, bool all_cores) const {
    return (all_cores ? global_ : local_)[reader.index()][writer.index()] > kernel;
  }
  /// `reader` has waited for `writer` to finish `kernel`: it now knows that, and all that `writer` knew by then.
  void learn(EngineId reader, EngineId writer, std::size_t kernel, bool all_cores, const Progress& then) {
    const auto merge = [&](std::vector<std::size_t>& mine, const std::vector<std::size_t>& theirs) {
      for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = std::max(mine[i], theirs[i]);
    };
    merge(local_[reader.index()], then.local_[writer.index()]);
    local_[reader.index()][writer.index()] = std::max(local_[reader.index()][writer.index()], kernel + 1);
    if (!all_cores) return;
    merge(global_[reader.index()], then.global_[writer.index()]);
    global_[reader.index()][writer.index()] = std::max(global_[reader.index()][writer.index()], kernel + 1);
  }

 private:
  std::vector<std::vector<std::size_t>> local_, global_;
};

struct Touch {
  std::size_t kernel = 0;
  EngineId engine;
  std::int64_t from = 0, to = 0;
  bool write = false, remote = false;
};

}  // namespace

void synchronise(std::vector<LoweredKernel>& kernels, const Machine& machine, Program& program) {
  const std::size_t engines = program.engines.size();
  const bool grid = machine.grid.cores() > 1;
  Progress progress(engines);
  std::vector<Progress> after;  // knowledge at the end of each kernel
  std::vector<std::vector<Touch>> history(machine.memories.size());
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    std::vector<Stmt> waits;
    // Latest kernel first: a later one's completion usually implies the earlier ones'.
    for (const KernelAccessRange& a : kernels[k].accesses) {
      const Buffer& b = program.buffer(a.buffer);
      const Memory& memory = machine.memory(b.memory);
      const bool shared = grid && memory.scope == Scope::chip;
      const std::vector<Touch>& touches = history[b.memory.index()];
      for (std::size_t i = touches.size(); i-- > 0;) {
        const Touch& t = touches[i];
        if (!(t.write || a.write) || t.to <= b.address || b.address + b.bytes <= t.from) continue;
        const bool all_cores = shared || (grid && (t.remote || a.remote));
        if (t.engine == a.engine && !all_cores) continue;  // one queue is in order
        if (progress.covers(a.engine, t.engine, t.kernel, all_cores)) continue;
        const std::string name = fmt::format("s{}.{}.k{}.{}", t.kernel, program.engines[t.engine.index()].name, k,
                                             program.engines[a.engine.index()].name);
        program.semaphores.push_back({name, 0});
        const SemaphoreId s(program.semaphores.size() - 1);
        const Axes everyone = all_cores ? Axes{machine.grid.rows > 1, machine.grid.cols > 1} : Axes{};
        kernels[t.kernel].body.push_back({Signal{t.engine, s, 1, {}, everyone, {}}});
        waits.push_back({Wait{a.engine, s, all_cores ? machine.grid.cores() : 1, {}}});
        progress.learn(a.engine, t.engine, t.kernel, all_cores, after[t.kernel]);
      }
    }
    kernels[k].body.insert(kernels[k].body.begin(), std::make_move_iterator(waits.begin()),
                           std::make_move_iterator(waits.end()));
    for (const KernelAccessRange& a : kernels[k].accesses) {
      const Buffer& b = program.buffer(a.buffer);
      std::vector<Touch>& touches = history[b.memory.index()];
      if (a.write) {
        // A write over the whole of an older range, ordered after it, hides that range's accesses from later kernels
        // only when everyone who waits for the writer has seen them too: that is what `learn` merges, so they may go.
        std::erase_if(touches, [&](const Touch& t) {
          return t.kernel < k && t.from >= b.address && t.to <= b.address + b.bytes &&
                 progress.covers(a.engine, t.engine, t.kernel,
                                 grid && (machine.memory(b.memory).scope == Scope::chip || t.remote || a.remote));
        });
      }
      touches.push_back({k, a.engine, b.address, b.address + b.bytes, a.write, a.remote});
    }
    after.push_back(progress);
  }
}

}  // namespace assay
