#include "explorers/store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <mutex>

#include "core/base/error.h"

namespace assay {
namespace {

constexpr int kSchemaVersion = 1;

/// A prepared statement that resets itself.
class Statement {
 public:
  Statement(sqlite3* db, const std::string& path, const char* sql) : db_(db), path_(path) {
    if (sqlite3_prepare_v2(db, sql, -1, &stmt_, nullptr) != SQLITE_OK) fail();
  }
  ~Statement() { sqlite3_finalize(stmt_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int i, const std::string& text) {
    if (sqlite3_bind_text(stmt_, i, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT) != SQLITE_OK) fail();
    return *this;
  }
  bool step() {
    const int rc = sqlite3_step(stmt_);
    if (rc == SQLITE_ROW) return true;
    if (rc != SQLITE_DONE) fail();
    return false;
  }
  std::string text(int column) const {
    const auto* p = reinterpret_cast<const char*>(sqlite3_column_text(stmt_, column));
    return p != nullptr ? std::string(p, static_cast<std::size_t>(sqlite3_column_bytes(stmt_, column))) : std::string();
  }
  std::int64_t integer(int column) const { return sqlite3_column_int64(stmt_, column); }

 private:
  [[noreturn]] void fail() const {
    const int code = sqlite3_errcode(db_);
    const std::string what =
        code == SQLITE_FULL
            ? "the disk is full: nothing finished before is lost; free some room and run the same command"
        : code == SQLITE_BUSY || code == SQLITE_LOCKED ? "another process is writing this store"
        : code == SQLITE_NOTADB                        ? "is not a store of Assay (not an SQLite database)"
        : code == SQLITE_CORRUPT                       ? "the store is damaged: move it away and run again"
        : code == SQLITE_READONLY                      ? "the store can't be written (read-only)"
                                                       : sqlite3_errmsg(db_);
    throw InputError(path_, what);
  }
  sqlite3* db_;
  std::string path_;
  sqlite3_stmt* stmt_ = nullptr;
};

}  // namespace

struct Store::Impl {
  std::string path;
  sqlite3* db = nullptr;
  mutable std::mutex mutex;  // one writer thread at a time; SQLite itself is opened without its own locking

  void run(const char* sql) const { Statement(db, path, sql).step(); }
  ~Impl() { sqlite3_close(db); }
};

Store::Store(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  std::error_code error;
  const auto parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error) throw InputError(path, "the folder can't be made: " + error.message());
  if (sqlite3_open_v2(path.c_str(), &impl_->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK) {
    throw InputError(path, fmt::format("can't be opened: {}", sqlite3_errmsg(impl_->db)));
  }
  sqlite3_busy_timeout(impl_->db, 200);
  impl_->run("PRAGMA locking_mode=EXCLUSIVE");
  impl_->run("PRAGMA journal_mode=WAL");
  impl_->run("PRAGMA synchronous=NORMAL");
  Statement version(impl_->db, path, "PRAGMA user_version");
  version.step();
  const auto found = version.integer(0);
  if (found != 0 && found != kSchemaVersion) {
    throw InputError(
        path, fmt::format("is a store of schema version {}; this build reads version {}", found, kSchemaVersion));
  }
  impl_->run(
      "CREATE TABLE IF NOT EXISTS results(key TEXT, stage TEXT, json TEXT NOT NULL, PRIMARY KEY(key, stage)) WITHOUT "
      "ROWID");
  impl_->run("CREATE TABLE IF NOT EXISTS manifest(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID");
  impl_->run(fmt::format("PRAGMA user_version={}", kSchemaVersion).c_str());
}

Store::~Store() = default;

std::optional<std::string> Store::find(const std::string& key) const {
  const std::lock_guard lock(impl_->mutex);
  Statement s(impl_->db, impl_->path, "SELECT json FROM results WHERE key=?1 ORDER BY stage DESC LIMIT 1");
  if (!s.bind(1, key).step()) return std::nullopt;
  return s.text(0);
}

void Store::put(const std::string& key, const std::string& stage, const std::string& json) {
  const std::lock_guard lock(impl_->mutex);
  Statement(impl_->db, impl_->path, "INSERT OR REPLACE INTO results VALUES(?1,?2,?3)")
      .bind(1, key)
      .bind(2, stage)
      .bind(3, json)
      .step();
}

std::int64_t Store::size() const {
  const std::lock_guard lock(impl_->mutex);
  Statement s(impl_->db, impl_->path, "SELECT COUNT(DISTINCT key) FROM results");
  s.step();
  return s.integer(0);
}

void Store::set_manifest(const std::vector<std::pair<std::string, std::string>>& manifest) {
  const std::lock_guard lock(impl_->mutex);
  impl_->run("BEGIN");
  impl_->run("DELETE FROM manifest");
  for (const auto& [k, v] : manifest) {
    Statement(impl_->db, impl_->path, "INSERT OR REPLACE INTO manifest VALUES(?1,?2)").bind(1, k).bind(2, v).step();
  }
  impl_->run("COMMIT");
}

std::vector<std::pair<std::string, std::string>> Store::manifest() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::pair<std::string, std::string>> out;
  Statement s(impl_->db, impl_->path, "SELECT key, value FROM manifest ORDER BY key");
  while (s.step()) out.push_back({s.text(0), s.text(1)});
  return out;
}

}  // namespace assay
