#include "tests/campaigns/running_assay.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace assay {
namespace {

constexpr int kImpossible = 125;
constexpr double kLongest = 120;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void pause_briefly() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

/// A mount of our own, in a namespace that goes away with the process.
bool mount_small_disk(const Hardship& h) {
  if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  const std::string size = "size=" + std::to_string(h.disk_bytes);
  return mount("tmpfs", h.small_disk.c_str(), "tmpfs", 0, size.c_str()) == 0;
}

[[noreturn]] void become_assay(const std::string& folder, const std::vector<std::string>& args, const Hardship& h,
                               const std::string& out, const std::string& err) {
  const int files[] = {open("/dev/null", O_RDONLY), open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644),
                       open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644)};
  for (int i = 0; i < 3; ++i) {
    if (dup2(files[i], i) < 0) _exit(kImpossible);
  }
  for (const int f : files) {
    if (f > 2) close(f);
  }
  if (h.no_streams) {
    close(1);
    close(2);
  }
  if (!h.small_disk.empty() && !mount_small_disk(h)) _exit(kImpossible);
  if (chdir(folder.c_str()) != 0) _exit(kImpossible);
  if (h.file_bytes > 0) {
    const rlimit limit{static_cast<rlim_t>(h.file_bytes), static_cast<rlim_t>(h.file_bytes)};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(kImpossible);
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::vector<char*> argv{const_cast<char*>("assay")};
  for (const std::string& a : args) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  execv(ASSAY_BINARY, argv.data());
  _exit(kImpossible);
}

int next_run() {
  static int runs = 0;
  return runs++;
}

}  // namespace

RunningAssay::RunningAssay(const std::string& folder, const std::vector<std::string>& args, const Hardship& hardship) {
  // Beside the folder, so that what a run leaves in it is its own.
  const std::string stem = folder + "." + std::to_string(next_run());
  out_path_ = hardship.standard_out.empty() ? stem + ".out" : hardship.standard_out;
  err_path_ = stem + ".err";
  std::ofstream(err_path_).flush();
  start_ = seconds_now();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("no process");
  if (pid_ == 0) become_assay(folder, args, hardship, out_path_, err_path_);
}

RunningAssay::~RunningAssay() {
  if (ended_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, &status_, 0);
}

bool RunningAssay::running() {
  if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) {
    ended_ = true;
    end_ = seconds_now();
  }
  return !ended_;
}

void RunningAssay::send(int signal) {
  if (running()) kill(pid_, signal);
}

std::string RunningAssay::text_of(const std::string& path) const {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string RunningAssay::said() const { return text_of(err_path_); }

bool RunningAssay::wait_until_said(const std::string& text) {
  for (const double until = seconds_now() + 60; seconds_now() < until; pause_briefly()) {
    if (said().find(text) != std::string::npos) return true;
    if (!running()) return false;
  }
  return false;
}

EndedRun RunningAssay::wait() {
  while (running()) {
    if (seconds_now() - start_ > kLongest) kill(pid_, SIGKILL);
    pause_briefly();
  }
  EndedRun e;
  e.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  e.signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
  e.seconds = end_ - start_;
  e.out = text_of(out_path_);
  e.err = said();
  return e;
}

EndedRun run_to_end(const std::string& folder, const std::vector<std::string>& args, const Hardship& hardship) {
  return RunningAssay(folder, args, hardship).wait();
}

}  // namespace assay
