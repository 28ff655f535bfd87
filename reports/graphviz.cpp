#include "reports/graphviz.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include "reports/format.h"
#include "reports/svg.h"

namespace assay {
namespace {

struct Fd {
  int fd = -1;
  Fd() = default;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { close(); }
  void close() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

bool open_pipe(Fd& read_end, Fd& write_end) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  read_end.fd = fds[0];
  write_end.fd = fds[1];
  return true;
}

/// Runs in the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become_dot(const char* program, int in, int out, int err, int report) {
  setpgid(0, 0);
  const rlimit memory{2ull << 30, 2ull << 30};
  setrlimit(RLIMIT_AS, &memory);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  // Each is duplicated above 2 first, so that one may not overwrite another.
  const int a = fcntl(in, F_DUPFD_CLOEXEC, 3), b = fcntl(out, F_DUPFD_CLOEXEC, 3), c = fcntl(err, F_DUPFD_CLOEXEC, 3);
  if (dup2(a, 0) == 0 && dup2(b, 1) == 1 && dup2(c, 2) == 2)
    execlp(program, program, "-Tsvg", static_cast<char*>(nullptr));
  const int reason = errno;
  [[maybe_unused]] const auto n = write(report, &reason, sizeof reason);
  _exit(127);
}

/// Reads both pipes until they close. False at the deadline or when there is too much.
enum class Drained { closed, late, too_much };
Drained drain(Fd& out, std::string& out_text, Fd& err, std::string& err_text, std::size_t max_output,
              std::chrono::steady_clock::time_point deadline) {
  char buffer[65536];
  while (out.fd >= 0 || err.fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Drained::late;
    pollfd fds[2] = {{out.fd, POLLIN, 0}, {err.fd, POLLIN, 0}};
    const int ready = poll(fds, 2, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return Drained::late;
    if (ready <= 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (!fds[i].revents) continue;
      Fd& from = i == 0 ? out : err;
      std::string& to = i == 0 ? out_text : err_text;
      const ssize_t n = read(from.fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        from.close();
      } else if (i == 0 && to.size() + static_cast<std::size_t>(n) > max_output) {
        return Drained::too_much;
      } else if (i == 0 || to.size() < 4096) {
        to.append(buffer, static_cast<std::size_t>(n));
      }
    }
  }
  return Drained::closed;
}

/// Waits for a process that has closed its output, which it may do long before it ends.
bool ended(pid_t child, int& status, std::chrono::steady_clock::time_point deadline) {
  for (int wait_ms = 0;; wait_ms = std::min(wait_ms + 1, 20)) {
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child || (done < 0 && errno != EINTR)) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    poll(nullptr, 0, wait_ms);
  }
}

std::size_t count_edges(const std::string& dot) {
  std::size_t n = 0;
  for (std::size_t i = dot.find("->"); i != dot.npos; i = dot.find("->", i + 2)) ++n;
  for (std::size_t i = dot.find("--"); i != dot.npos; i = dot.find("--", i + 2)) ++n;
  return n;
}

std::string first_line(const std::string& text) {
  return escape_terminal(text.substr(0, std::min(text.find('\n'), std::size_t{300})));
}

}  // namespace

GraphvizResult run_graphviz(const std::string& dot, const GraphvizOptions& options) {
  if (const std::size_t edges = count_edges(dot); edges > options.max_edges) {
    return {{}, fmt::format("{} edges are too many to draw (limit {})", edges, options.max_edges)};
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(options.timeout_ms);
  const std::unique_ptr<FILE, int (*)(FILE*)> input(tmpfile(), fclose);
  if (!input || fwrite(dot.data(), 1, dot.size(), input.get()) != dot.size() || fflush(input.get()) != 0) {
    return {{}, fmt::format("no temporary file: {}", std::strerror(errno))};
  }
  if (lseek(fileno(input.get()), 0, SEEK_SET) != 0)
    return {{}, fmt::format("temporary file: {}", std::strerror(errno))};

  Fd out, out_write, err, err_write, report, report_write;
  if (!open_pipe(out, out_write) || !open_pipe(err, err_write) || !open_pipe(report, report_write)) {
    return {{}, fmt::format("no pipe: {}", std::strerror(errno))};
  }
  const pid_t child = fork();
  if (child < 0) return {{}, fmt::format("no process: {}", std::strerror(errno))};
  if (child == 0) become_dot(options.program.c_str(), fileno(input.get()), out_write.fd, err_write.fd, report_write.fd);
  setpgid(child, child);  // here as well: whoever comes first
  out_write.close();
  err_write.close();
  report_write.close();

  GraphvizResult result;
  std::string svg, messages;
  Drained drained = drain(out, svg, err, messages, options.max_output, deadline);
  int status = 0;
  if (drained == Drained::closed && !ended(child, status, deadline)) drained = Drained::late;
  if (drained != Drained::closed) {
    kill(-child, SIGKILL);  // with whatever it started
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  int reason = 0;
  if (read(report.fd, &reason, sizeof reason) == sizeof reason) {
    result.error = fmt::format("'{}' could not be run: {}", options.program, std::strerror(reason));
    if (reason == ENOENT) result.error += " (Debian: apt install graphviz)";
  } else if (drained == Drained::late) {
    result.error = fmt::format("'{}' took longer than {} ms", options.program, options.timeout_ms);
  } else if (drained == Drained::too_much) {
    result.error = fmt::format("'{}' wrote more than {} bytes", options.program, options.max_output);
  } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    result.error = fmt::format("'{}' failed ({}): {}", options.program,
                               WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                                 : fmt::format("signal {}", WTERMSIG(status)),
                               messages.empty() ? "no message" : first_line(messages));
  } else if (auto clean = sanitise_svg(svg); clean.error.empty()) {
    result.svg = std::move(clean.svg);
  } else {
    result.error = fmt::format("'{}' wrote no usable SVG: {}", options.program, clean.error);
  }
  return result;
}

Svg GraphDrawer::draw(std::string title, const std::string& dot) {
  auto it = drawn_.find(dot);
  if (it == drawn_.end()) it = drawn_.emplace(dot, run_graphviz(dot, options_)).first;
  Svg out{std::move(title), it->second.svg, dot, {}};
  if (!it->second.error.empty()) out.note = "The graph is not drawn: " + it->second.error + ".";
  return out;
}

}  // namespace assay
