#include "explorers/store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <mutex>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace assay {
namespace {

constexpr int kSchemaVersion = 2;

/// There is something in the store's place that can't be used; it may be replaced when that is asked for.
class UnusableStore : public StoreError {
 public:
  using StoreError::StoreError;
};

[[noreturn]] void damaged(const std::string& path) {
  throw UnusableStore(path, "the store is damaged: move it away, or run again with --fresh, which replaces it");
}

std::string checksum(const std::string& key, const std::string& json) {
  return Sha256().update(key).update(json).hex();
}

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
    if (code == SQLITE_NOTADB)
      throw UnusableStore(path_, "is not a store of Assay (not an SQLite database); --fresh replaces it");
    if (code == SQLITE_CORRUPT) damaged(path_);
    const std::string what =
        code == SQLITE_FULL
            ? "the disk is full: nothing finished before is lost; free some room and run the same command"
        : code == SQLITE_IOERR
            ? "can't be written or read (no room, a limit on files, or a bad disk): nothing finished before is lost"
        : code == SQLITE_BUSY || code == SQLITE_LOCKED ? "another process is writing this store"
        : code == SQLITE_READONLY                      ? "the store can't be written (read-only)"
                                                       : sqlite3_errmsg(db_);
    throw StoreError(path_, what);
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
  void open();
  void close() {
    sqlite3_close(db);
    db = nullptr;
  }
  ~Impl() { close(); }
};

void Store::Impl::open() {
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr) !=
      SQLITE_OK) {
    throw StoreError(path, fmt::format("can't be opened: {}", sqlite3_errmsg(db)));
  }
  sqlite3_busy_timeout(db, 200);
  run("PRAGMA locking_mode=EXCLUSIVE");
  run("PRAGMA journal_mode=WAL");
  run("PRAGMA synchronous=NORMAL");
  {
    // Damage is said before the work, not when the page that holds it happens to be read.
    Statement check(db, path, "PRAGMA quick_check(1)");
    if (!check.step() || check.text(0) != "ok") damaged(path);
  }
  Statement version(db, path, "PRAGMA user_version");
  version.step();
  const auto found = version.integer(0);
  if (found != 0 && found != kSchemaVersion) {
    throw UnusableStore(path, fmt::format("is a store of schema version {}; this build reads version {}; --fresh "
                                          "replaces it",
                                          found, kSchemaVersion));
  }
  run("CREATE TABLE IF NOT EXISTS results(key TEXT, stage TEXT, json TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY "
      "KEY(key, stage)) WITHOUT ROWID");
  run("CREATE TABLE IF NOT EXISTS manifest(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID");
  run(fmt::format("PRAGMA user_version={}", kSchemaVersion).c_str());
}

Store::Store(const std::string& path, bool fresh) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  std::error_code error;
  const auto parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error) throw StoreError(path, "the folder can't be made: " + error.message());
  try {
    impl_->open();
    // Emptied, not removed: the lock that keeps a second writer out lies on the file.
    if (fresh) {
      impl_->run("DELETE FROM results");
      impl_->run("DELETE FROM manifest");
    }
  } catch (const UnusableStore&) {
    if (!fresh) throw;
    impl_->close();
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix, error);
    impl_->open();
  }
}

Store::~Store() = default;

std::optional<std::string> Store::find(const std::string& key) const {
  const std::lock_guard lock(impl_->mutex);
  Statement s(impl_->db, impl_->path, "SELECT json, sha256 FROM results WHERE key=?1 ORDER BY stage DESC LIMIT 1");
  if (!s.bind(1, key).step()) return std::nullopt;
  std::string json = s.text(0);
  if (checksum(key, json) != s.text(1)) damaged(impl_->path);
  return json;
}

void Store::put(const std::string& key, const std::string& stage, const std::string& json) {
  const std::lock_guard lock(impl_->mutex);
  Statement(impl_->db, impl_->path, "INSERT OR REPLACE INTO results VALUES(?1,?2,?3,?4)")
      .bind(1, key)
      .bind(2, stage)
      .bind(3, json)
      .bind(4, checksum(key, json))
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
