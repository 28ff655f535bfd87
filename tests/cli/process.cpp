#include "tests/cli/process.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace assay {
namespace {

constexpr uid_t kNobody = 65534;

[[noreturn]] void child(const std::vector<std::string>& args, const ProcessOptions& options, int out, int err) {
  const int nothing = open("/dev/null", O_RDONLY);
  const int target = options.stdout_file.empty() ? out : open(options.stdout_file.c_str(), O_WRONLY);
  if (dup2(nothing, 0) < 0 || dup2(target, 1) < 0 || dup2(err, 2) < 0) _exit(125);
  for (int stream = 0; options.no_streams && stream <= 2; ++stream) close(stream);
  if (chdir(options.folder.c_str()) != 0) _exit(125);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit space{rlim_t{6} << 30, rlim_t{6} << 30};
  setrlimit(RLIMIT_AS, &space);
#endif
  alarm(60);
  if (options.powerless && geteuid() == 0 &&
      (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0))
    _exit(125);
  std::vector<char*> argv{const_cast<char*>("assay")};
  for (const std::string& a : args) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  execv(ASSAY_BINARY, argv.data());
  _exit(126);
}

/// Reads both pipes to their ends, whichever has something to say first.
void drain(std::array<int, 2> pipes, std::array<std::string*, 2> texts) {
  std::array<pollfd, 2> waits{{{pipes[0], POLLIN, 0}, {pipes[1], POLLIN, 0}}};
  int open_ends = 2;
  while (open_ends > 0 && poll(waits.data(), 2, -1) >= 0) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (waits[i].fd < 0 || waits[i].revents == 0) continue;
      std::array<char, 4096> buffer{};
      const ssize_t n = read(waits[i].fd, buffer.data(), buffer.size());
      if (n > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(n));
      } else {
        waits[i].fd = -1;
        --open_ends;
      }
    }
  }
}

}  // namespace

Finished run_assay(const std::vector<std::string>& args, const ProcessOptions& options) {
  std::array<int, 2> out{}, err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipes");
  if (options.no_reader) close(std::exchange(out[0], open("/dev/null", O_RDONLY | O_CLOEXEC)));
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("no process");
  if (pid == 0) child(args, options, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  Finished f;
  drain({out[0], err[0]}, {&f.out, &f.err});
  close(out[0]);
  close(err[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  f.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  f.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return f;
}

bool powerless_can_run() {
  if (geteuid() != 0) return true;
  return run_assay({"--version"}, {.folder = "/", .powerless = true, .stdout_file = {}}).code == 0;
}

}  // namespace assay
