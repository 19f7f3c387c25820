#include "formats/base/io/renaming.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace cleave {
namespace {

// What the system can do at once; elsewhere ENOSYS, and callers do it step by step.
#ifdef RENAME_EXCHANGE
constexpr unsigned kOnlyNew = RENAME_NOREPLACE;
constexpr unsigned kExchange = RENAME_EXCHANGE;

bool rename_at_once(const std::string& from, const std::string& to, unsigned how) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), how) == 0;
}
#else
constexpr unsigned kOnlyNew = 0;
constexpr unsigned kExchange = 1;

bool rename_at_once(const std::string&, const std::string&, unsigned) {
  errno = ENOSYS;
  return false;
}
#endif

}  // namespace

std::optional<unsigned> mode_at(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_mode;
}

// Checks first on a file system that cannot guarantee that the target does not exist.
bool rename_new(const std::string& from, const std::string& to) {
  if (rename_at_once(from, to, kOnlyNew)) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  if (mode_at(to)) {
    errno = EEXIST;
    return false;
  }
  return std::rename(from.c_str(), to.c_str()) == 0;
}

bool swap_places(const std::string& from, const std::string& to) {
  if (rename_at_once(from, to, kExchange)) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  const std::string aside = from + "-old";
  if (std::rename(to.c_str(), aside.c_str()) != 0) return false;
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    std::rename(aside.c_str(), to.c_str());
    errno = error;
    return false;
  }
  return std::rename(aside.c_str(), from.c_str()) == 0;
}

Moves::Moves(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

bool Moves::move(const std::string& name) {
  Move move{.from = from_ + "/" + name, .to = to_ + "/" + name, .is_exchange = false};
  move.is_exchange = mode_at(move.to).has_value();
  if (!(move.is_exchange ? swap_places(move.from, move.to) : rename_new(move.from, move.to))) {
    return false;
  }
  done_.push_back(std::move(move));
  return true;
}

bool Moves::set_aside(const std::string& name) {
  Move move{.from = to_ + "/" + name, .to = from_ + "/" + name + "-old", .is_exchange = false};
  if (!mode_at(move.from)) return true;
  if (!rename_new(move.from, move.to)) return false;
  done_.push_back(std::move(move));
  return true;
}

void Moves::undo() {
  for (; !done_.empty(); done_.pop_back()) {
    const Move& move = done_.back();
    if (move.is_exchange) {
      swap_places(move.from, move.to);
    } else {
      std::rename(move.to.c_str(), move.from.c_str());
    }
  }
}

}  // namespace cleave
