#include "formats/output_folder.h"

#include "formats/descriptor.h"
#include "formats/utf8.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace cleave {
namespace {

constexpr int kMostTries = 1000;
constexpr int kNewFile = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;

Diagnostics fault(const std::string& path, std::string message) {
  return {diagnostic_of(path, std::move(message))};
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// What stands at the path itself: a link counts as what it is, not as what it points to.
std::optional<mode_t> mode_at(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_mode;
}

bool is_folder(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// A name beside `path` that nothing has yet; the n-th try. Hidden, so that a glob passes it by.
std::string sibling_name(const std::string& path, int n) {
  return parent_of(path) + "/.cleave-" + std::to_string(::getpid()) + "-" + std::to_string(n);
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

// Renames where nothing may stand yet. A file system that cannot promise that gets a check first.
bool rename_new(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  if (mode_at(to)) {
    errno = EEXIST;
    return false;
  }
  return std::rename(from.c_str(), to.c_str()) == 0;
}

// Puts `from` where `to` is, and `to` where `from` was: at once where the system can, else the old
// one moves aside first and back again when the second step fails.
bool swap_places(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return true;
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

// A new folder beside `path`; "", with errno, when there can be none.
std::string make_temporary(const std::string& path) {
  for (int n = 0; n < kMostTries; ++n) {
    std::string name = sibling_name(path, n);
    if (::mkdir(name.c_str(), 0777) == 0) return name;
    if (errno != EEXIST) break;
  }
  return {};
}

// Names in the folder, sorted.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Files on their way from one folder to another; what they replace takes their place until the
// first folder goes.
class Moves {
 public:
  Moves(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}

  // False, with errno, when the file stays where it is.
  bool move(const std::string& name) {
    const std::string from = from_ + "/" + name, to = to_ + "/" + name;
    const bool replaces = mode_at(to).has_value();
    if (!(replaces ? swap_places(from, to) : rename_new(from, to))) return false;
    done_.push_back({name, replaces});
    return true;
  }

  void undo() {
    for (const Move& move : done_) {
      const std::string from = from_ + "/" + move.name, to = to_ + "/" + move.name;
      move.replaces ? static_cast<void>(swap_places(from, to))
                    : static_cast<void>(std::rename(to.c_str(), from.c_str()));
    }
    done_.clear();
  }

 private:
  struct Move {
    std::string name;
    bool replaces;
  };
  std::string from_, to_;
  std::vector<Move> done_;
};

std::string cut_at_character(std::string_view text, std::size_t most) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = std::max<std::size_t>(utf8_character(text.substr(at)), 1);
    if (at + length > most) break;
    at += length;
  }
  return std::string(text.substr(0, at));
}

// The file behind links, so that a link stays a link; what is not there yet is itself.
std::string behind_links(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

struct Sibling {
  std::string path;
  Descriptor fd;
};

// A new file beside `path`; not open, with errno, when there can be none.
Sibling open_sibling(const std::string& path) {
  for (int n = 0; n < kMostTries; ++n) {
    const std::string name = sibling_name(path, n);
    Descriptor fd(::open(name.c_str(), kNewFile, 0666));
    if (fd.is_open() || errno != EEXIST) return {name, std::move(fd)};
  }
  return {path, Descriptor(-1)};
}

// Devices and pipes cannot be replaced: they are written to as they are.
Status<Diagnostics> write_through(const std::string& path, std::string_view bytes) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.is_open() || !write_all(fd.get(), bytes) || !fd.close()) {
    return fault(path, "cannot be written: " + system_words(errno));
  }
  return Done{};
}

}  // namespace

Loaded<OutputFolder> OutputFolder::create(const std::string& path, bool force) {
  OutputFolder folder;
  folder.final_ = without_trailing_slashes(path);
  folder.force_ = force;
  const std::string last = folder.final_.substr(folder.final_.rfind('/') + 1);
  if (last.empty() || last == "." || last == "..") {
    return fault(path, "names no folder that could be made; give the folder a name of its own");
  }
  if (mode_at(folder.final_)) {
    if (!is_folder(folder.final_)) return fault(path, "is there already and is no folder");
    if (!force) return fault(path, "is there already; --force replaces it");
  }
  folder.temporary_ = make_temporary(folder.final_);
  if (!folder.temporary_.empty()) return folder;
  const std::string words = system_words(errno);
  return fault(
      path, "cannot be made in folder " + cleave::quoted(parent_of(folder.final_)) + ": " + words);
}

Loaded<OutputFolder> OutputFolder::inside(const std::string& path, bool force) {
  OutputFolder folder;
  folder.final_ = without_trailing_slashes(path);
  folder.force_ = force;
  folder.is_inside_ = true;
  if (!is_folder(folder.final_)) return fault(path, "is no folder that is there");
  folder.temporary_ = make_temporary(folder.final_ + "/new");
  if (!folder.temporary_.empty()) return folder;
  return fault(path, "cannot be written in: " + system_words(errno));
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : final_(std::move(other.final_)),
      temporary_(std::exchange(other.temporary_, {})),
      force_(other.force_),
      is_inside_(other.is_inside_) {}

OutputFolder::~OutputFolder() {
  if (!temporary_.empty()) remove_tree(temporary_);
}

std::string OutputFolder::path_of(std::string_view name) const {
  assert(!name.empty() && name.find('/') == name.npos && "a file's name is one path component");
  return temporary_ + "/" + std::string(name);
}

bool OutputFolder::would_remove(const std::string& path) const {
  if (is_inside_ || !mode_at(final_)) return false;
  const std::filesystem::path folder = behind_links(final_), file = behind_links(path);
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

Status<Diagnostics> OutputFolder::write(std::string_view name, std::string_view bytes) const {
  Descriptor fd(::open(path_of(name).c_str(), kNewFile, 0666));
  if (!fd.is_open() || !write_all(fd.get(), bytes) || !fd.close()) {
    const std::string words = system_words(errno);
    return fault(final_ + "/" + std::string(name), "cannot be written: " + words);
  }
  return Done{};
}

Status<Diagnostics> OutputFolder::commit() { return is_inside_ ? commit_files() : commit_folder(); }

Status<Diagnostics> OutputFolder::commit_folder() {
  const bool is_there = mode_at(final_).has_value();
  if (is_there && !force_) return fault(final_, "is there already; --force replaces it");
  const bool is_done = is_there ? swap_places(temporary_, final_) : rename_new(temporary_, final_);
  if (!is_done) return fault(final_, "cannot be put in place: " + system_words(errno));
  if (is_there) remove_tree(temporary_);
  temporary_.clear();
  return Done{};
}

Status<Diagnostics> OutputFolder::check_file(const std::string& name) const {
  const std::string path = final_ + "/" + name;
  if (!mode_at(path)) return Done{};
  if (is_folder(path)) return fault(path, "is there already and is a folder");
  if (!force_) return fault(path, "is there already; --force replaces it");
  return Done{};
}

Status<Diagnostics> OutputFolder::commit_files() {
  const std::vector<std::string> names = files_in(temporary_);
  for (const std::string& name : names) {
    if (auto free = check_file(name); !free) return free;
  }
  Moves moves(temporary_, final_);
  for (const std::string& name : names) {
    if (moves.move(name)) continue;
    const std::string words = system_words(errno);
    moves.undo();
    return fault(final_ + "/" + name, "cannot be put in place: " + words);
  }
  remove_tree(temporary_);
  temporary_.clear();
  return Done{};
}

Status<Diagnostics> write_file(const std::string& path, std::string_view bytes) {
  const std::string target = behind_links(path);
  const std::optional<mode_t> mode = mode_at(target);
  if (mode && S_ISDIR(*mode)) return fault(path, "cannot be written: is a folder");
  if (mode && !S_ISREG(*mode)) return write_through(path, bytes);
  Sibling sibling = open_sibling(target);
  if (!sibling.fd.is_open()) return fault(path, "cannot be written: " + system_words(errno));
  if (mode) ::fchmod(sibling.fd.get(), *mode & 07777U);
  const bool is_written = write_all(sibling.fd.get(), bytes) && sibling.fd.close();
  if (!is_written || std::rename(sibling.path.c_str(), target.c_str()) != 0) {
    const std::string words = system_words(errno);
    ::unlink(sibling.path.c_str());
    return fault(path, "cannot be written: " + words);
  }
  return Done{};
}

bool may_be_replaced(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return true;
  if (std::filesystem::is_empty(path, error)) return true;
  std::string head(64, '\0');
  std::ifstream(path + "/manifest.json", std::ios::binary).read(head.data(), 64);
  return head.find("\"format\": \"cleave.") != head.npos;
}

std::string file_name_of(std::string_view part_name) {
  constexpr std::size_t kMostBytes = 200;
  std::string name = cut_at_character(part_name, kMostBytes);
  const auto is_harmful = [](char c) {
    return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  };
  std::replace_if(name.begin(), name.end(), is_harmful, '_');
  if (name.empty()) return "_";
  if (name == "." || name == "..") std::fill(name.begin(), name.end(), '_');
  return name;
}

}  // namespace cleave
