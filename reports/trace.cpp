#include "reports/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/base/error.h"
#include "reports/format.h"
#include "reports/summary.h"

namespace assay {
namespace {

struct Track {
  int process = 0, thread = 0;
  double busy_until = 0;
};

std::string metadata(const char* what, int process, int thread, const std::string& name) {
  return fmt::format("{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", what, process,
                     thread, escape_json(name));
}

/// Rounded to picoseconds, as the durations are, so that rounding makes no neighbours overlap.
std::string micros(double seconds) { return exact_number(std::nearbyint(seconds * 1e12) / 1e6); }

}  // namespace

std::string chrome_trace(const WorkloadResult& w) {
  std::vector<const TimelineSpan*> spans;
  for (const auto& s : w.timeline) {
    if (!std::isfinite(s.start) || !std::isfinite(s.end) || s.end < s.start) {
      throw InputError("timeline", fmt::format("expected start <= end, found {} to {} for '{}' on '{}'", s.start, s.end,
                                               s.name, s.lane));
    }
    spans.push_back(&s);
  }
  std::stable_sort(spans.begin(), spans.end(), [](auto* a, auto* b) {
    return std::tie(a->lane, a->start, a->end) < std::tie(b->lane, b->start, b->end);
  });

  std::vector<std::string> events;
  std::map<std::string, int> processes;
  std::map<int, int> threads;  // process → threads so far
  std::string lane;
  std::vector<Track> tracks;  // of the current lane
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const TimelineSpan& s = *spans[i];
    if (i == 0 || s.lane != lane) {
      lane = s.lane;
      tracks.clear();
    }
    const std::size_t slash = lane.find(" / ");
    const std::string core = slash == lane.npos ? "machine" : lane.substr(0, slash);
    const std::string engine = slash == lane.npos ? lane : lane.substr(slash + 3);
    const auto [process, is_new] = processes.emplace(core, static_cast<int>(processes.size()) + 1);
    if (is_new) events.push_back(metadata("process_name", process->second, 0, core));
    auto track = std::find_if(tracks.begin(), tracks.end(), [&](const Track& t) { return t.busy_until <= s.start; });
    if (track == tracks.end()) {
      track = tracks.insert(tracks.end(), Track{process->second, ++threads[process->second], 0});
      const std::string name = tracks.size() == 1 ? engine : fmt::format("{} #{}", engine, tracks.size());
      events.push_back(metadata("thread_name", track->process, track->thread, name));
    }
    track->busy_until = s.end;
    events.push_back(fmt::format("{{\"ph\":\"X\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{}}}",
                                 escape_json(s.name), track->process, track->thread, micros(s.start),
                                 exact_number((std::nearbyint(s.end * 1e12) - std::nearbyint(s.start * 1e12)) / 1e6)));
  }
  std::string out = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"workload\":" + escape_json(phase_name(w)) +
                    ",\"truncated\":" + (w.timeline_truncated ? "true" : "false") + "},\"traceEvents\":[\n";
  for (std::size_t i = 0; i < events.size(); ++i) out += (i ? ",\n" : "") + events[i];
  return out + "\n]}\n";
}

}  // namespace assay
