#include "formats/io/output_folder.h"

#include "formats/io/descriptor.h"
#include "formats/io/input_watch.h"
#include "formats/io/renaming.h"

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

bool is_folder(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Whoever finds this file finds the whole set that it tells of: it comes last, and what it replaces
// goes first.
constexpr std::string_view kLastFile = "manifest.json";

// Names in the folder: sorted, but for kLastFile, which is last.
Result<std::vector<std::string>, std::error_code> files_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) return error;
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a == kLastFile, std::string_view(a)) <
           std::pair(b == kLastFile, std::string_view(b));
  });
  return names;
}

// What was made is of no use when the input was another by the time it was copied from.
Status<Diagnostics> check_inputs() {
  const char* const changed = changed_input();
  if (changed == nullptr) return Done{};
  return fault(changed, std::string(kInputChanged));
}

// The file behind links, so that a link stays a link; what is not there yet is itself.
std::string behind_links(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
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
  const std::string parent = parent_of(folder.final_);
  folder.temporary_ = Temporary::folder_in(parent);
  if (folder.temporary_.is_there()) return folder;
  const std::string words = system_words(errno);
  return fault(path, "cannot be made in folder " + cleave::quoted(parent) + ": " + words);
}

Loaded<OutputFolder> OutputFolder::inside(const std::string& path, bool force) {
  OutputFolder folder;
  folder.final_ = without_trailing_slashes(path);
  folder.force_ = force;
  folder.is_inside_ = true;
  if (!is_folder(folder.final_)) return fault(path, "is no folder that is there");
  folder.temporary_ = Temporary::folder_in(folder.final_);
  if (folder.temporary_.is_there()) return folder;
  return fault(path, "cannot be written in: " + system_words(errno));
}

Loaded<OutputFolder> OutputFolder::beside(const std::string& path, bool force) {
  if (is_folder(path)) return fault(path, "is a folder; name a file");
  auto folder = inside(parent_of(path), force);
  if (folder) folder->is_set_ = false;
  return folder;
}

std::string OutputFolder::path_of(std::string_view name) const {
  assert(!name.empty() && name.find('/') == name.npos && "a file's name is one path component");
  return temporary_.path() + "/" + std::string(name);
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

Status<Diagnostics> OutputFolder::commit() {
  if (auto same = check_inputs(); !same) return same;
  const Uninterrupted whole;
  auto done = is_inside_ ? commit_files() : commit_folder();
  if (done) temporary_.remove();
  return done;
}

Status<Diagnostics> OutputFolder::commit_folder() {
  const bool is_there = mode_at(final_).has_value();
  if (is_there && !force_) return fault(final_, "is there already; --force replaces it");
  const bool is_done =
      is_there ? swap_places(temporary_.path(), final_) : rename_new(temporary_.path(), final_);
  if (!is_done) return fault(final_, "cannot be put in place: " + system_words(errno));
  if (!is_there) temporary_.keep();
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
  const auto names = files_in(temporary_.path());
  if (!names) return fault(final_, "cannot be put in place: " + names.error().message());
  for (const std::string& name : *names) {
    if (auto free = check_file(name); !free) return free;
  }
  Moves moves(temporary_.path(), final_);
  const auto give_up = [&](const std::string& name) {
    const std::string words = system_words(errno);
    moves.undo();
    return fault(final_ + "/" + name, "cannot be put in place: " + words);
  };
  if (is_set_ && !moves.set_aside(std::string(kLastFile))) return give_up(std::string(kLastFile));
  for (const std::string& name : *names) {
    if (!moves.move(name)) return give_up(name);
  }
  return Done{};
}

Status<Diagnostics> check_may_write(const std::string& path) {
  const std::string target = behind_links(path);
  const std::optional<unsigned> mode = mode_at(target);
  if (mode && S_ISDIR(*mode)) return fault(path, "cannot be written: is a folder");
  if (mode && !S_ISREG(*mode)) return Done{};
  if (!is_folder(parent_of(target))) {
    return fault(path,
                 "cannot be written: there is no folder " + cleave::quoted(parent_of(target)));
  }
  const TemporaryFile begun = Temporary::file_in(parent_of(target));  // and removed at once
  if (!begun.file.is_there()) return fault(path, "cannot be written: " + system_words(errno));
  return Done{};
}

Status<Diagnostics> write_file(const std::string& path, std::string_view bytes) {
  if (auto same = check_inputs(); !same) return same;
  const std::string target = behind_links(path);
  const std::optional<unsigned> mode = mode_at(target);
  if (mode && S_ISDIR(*mode)) return fault(path, "cannot be written: is a folder");
  if (mode && !S_ISREG(*mode)) return write_through(path, bytes);
  auto [file, fd] = Temporary::file_in(parent_of(target));
  if (!file.is_there()) return fault(path, "cannot be written: " + system_words(errno));
  if (mode) ::fchmod(fd.get(), *mode & 07777U);
  const bool is_written = write_all(fd.get(), bytes) && fd.close();
  const Uninterrupted whole;
  if (!is_written || std::rename(file.path().c_str(), target.c_str()) != 0) {
    return fault(path, "cannot be written: " + system_words(errno));
  }
  file.keep();
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

}  // namespace cleave
