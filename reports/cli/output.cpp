#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "reports/cli/support.h"

namespace assay {
namespace {

/// A device or a pipe (`/dev/null`, `/dev/stdout`): it is written into, where a file is replaced as a whole.
bool is_special(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

bool written(const std::string& path, const std::string& content) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << content;
  out.close();
  return !out.fail();
}

/// Of the system call that failed last.
std::string reason() { return errno != 0 ? std::string(": ") + std::strerror(errno) : ""; }

}  // namespace

void check_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path there = fs::absolute(path, error);
  while (!fs::exists(fs::symlink_status(there, error)) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error)) throw InputError(path, "'" + there.string() + "' is not a folder");
  if (access(there.c_str(), W_OK | X_OK) != 0)
    throw InputError(path, "the folder '" + there.string() + "' can't be written into");
}

void check_target(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (is_special(path)) {
    if (access(path.c_str(), W_OK) != 0) throw InputError(path, "can't be written: it does not allow it");
    return;
  }
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (!fs::is_directory(folder, error)) throw InputError(path, "can't be written: there is no folder '" + folder + "'");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    throw InputError(path, "can't be written: the folder '" + folder + "' does not allow it");
  if (fs::is_directory(path, error)) throw InputError(path, "can't be written: it is a folder");
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw InputError(path, "the folder can't be made: " + error.message());
}

void write_file(const std::string& path, const std::string& content) {
  if (is_special(path)) {
    if (!written(path, content)) throw InputError(path, "can't be written" + reason());
    return;
  }
  // A link stays a link to what is replaced.
  std::error_code error, ignored;
  std::filesystem::path target = path;
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(path, ignored)))
    target = std::filesystem::weakly_canonical(path, ignored);
  const std::string temporary = target.string() + ".part";
  if (!written(temporary, content)) {
    const std::string why = reason();
    std::filesystem::remove(temporary, ignored);
    throw InputError(path, "can't be written" + why);
  }
  std::filesystem::rename(temporary, target, error);
  if (!error) return;
  std::filesystem::remove(temporary, ignored);
  throw InputError(path, "can't be written: " + error.message());
}

void print_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw InputError("stdout", "can't be written");
}

}  // namespace assay
