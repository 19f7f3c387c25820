// Steps:
// 1. create a temporary folder next to the final one, or inside it;
// 2. write files there;
// 3. commit(): check that inputs are unchanged, then put the whole folder in place, or move its
//    files one by one with a journal, the manifest last.
#include "formats/base/io/output_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "formats/base/io/descriptor.h"
#include "formats/base/io/folder_walk.h"
#include "formats/base/io/input_record.h"
#include "formats/base/io/move_journal.h"
#include "formats/base/io/output_file.h"
#include "formats/base/io/renaming.h"

namespace cleave {
namespace {

constexpr int kNewFile = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;

Diagnostics fault(const std::string& path, std::string message) {
  return {diagnostic_of(path, std::move(message))};
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The files of the folder and of folders within by name and size, sorted.
Loaded<std::vector<ListedFile>> list_of(const std::string& folder) {
  const auto paths = paths_below(folder);
  if (!paths) return paths.error();
  std::vector<ListedFile> files;
  for (const std::string& path : *paths) {
    struct stat status = {};
    if (::lstat(path.c_str(), &status) != 0 || S_ISDIR(status.st_mode)) continue;
    files.push_back({std::filesystem::path(path).lexically_relative(folder).string(),
                     static_cast<std::uint64_t>(status.st_size)});
  }
  std::sort(files.begin(), files.end(),
            [](const ListedFile& a, const ListedFile& b) { return a.name < b.name; });
  return files;
}

// The names of these files, with the manifest last. The manifest is put in place last and the old one
// removed first: if it exists, its files are complete.
Loaded<std::vector<std::string>> files_in(const std::string& folder) {
  auto files = list_of(folder);
  if (!files) return files.error();
  std::vector<std::string> names;
  for (ListedFile& file : *files) names.push_back(std::move(file.name));
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name != kManifestName; });
  return names;
}

// The folders within that these files are in, the deepest first.
std::set<std::string, std::greater<>> folders_of(const std::vector<std::string>& names) {
  std::set<std::string, std::greater<>> folders;
  for (const std::string& name : names) {
    for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      folders.insert(name.substr(0, at));
    }
  }
  return folders;
}

// A lock on a folder that other runs of cleave see: two that put files into one folder take turns.
// It ends with the descriptor. Where a file system has no locks, there is none.
Descriptor locked_folder(const std::string& folder) {
  Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (fd.is_open() && ::flock(fd.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return fd;
}

// Removes a folder and the files that its manifest lists; false when it contains anything else.
bool remove_listed_folder(const std::string& folder) {
  std::vector<std::string> names;
  for (const ListedFile& file : listed_files(folder).value_or(std::vector<ListedFile>{})) {
    ::unlink((folder + "/" + file.name).c_str());
    names.push_back(file.name);
  }
  for (const std::string& within : folders_of(names)) ::rmdir((folder + "/" + within).c_str());
  ::unlink((folder + "/" + std::string(kManifestName)).c_str());
  return ::rmdir(folder.c_str()) == 0;
}

// Why the folder at `path`, called `shown` in messages, may not be replaced.
Status<Diagnostics> check_is_ours(const std::string& path, const std::string& shown) {
  const auto input = input_in_folder(path);
  if (!input) return input.error();
  if (!input->empty()) {
    return fault(shown, "holds an input (" + escaped_in_quotes(*input) +
                            "), and would be replaced: give another folder");
  }
  const bool has_list = listed_files(path).has_value();
  const auto unlisted = unlisted_entries(path);
  if (!unlisted) return unlisted.error();
  const std::vector<std::string>& others = *unlisted;
  if (others.empty()) return Done{};
  Diagnostics faults =
      has_list
          ? fault(shown, "holds what its manifest.json does not list: " + named_entries(others))
          : fault(shown, "exists already, and has no manifest.json of cleave's: it has " +
                             named_entries(others));
  faults.front().notes.emplace_back(
      "--force removes what cleave wrote, as its manifest lists it by name and size, and nothing "
      "else: move the rest, or give another folder");
  return faults;
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
  folder.real_ = behind_links(folder.final_);
  if (mode_at(folder.real_)) {
    if (!is_folder(folder.real_)) return fault(path, "exists already and is not a folder");
    if (!force) return fault(path, std::string(kExists));
    if (auto ours = check_is_ours(folder.real_, folder.final_); !ours) return ours.error();
    folder.replaced_ = file_id(folder.real_);
  }
  const std::string parent = parent_folder(folder.real_);
  folder.temporary_ = Temporary::folder_in(parent);
  if (folder.temporary_.is_there()) return folder;
  const std::string words = system_words(errno);
  return fault(path, "cannot be made in folder " + escaped_in_quotes(parent) + ": " + words);
}

Loaded<OutputFolder> OutputFolder::open_within(const std::string& path) {
  OutputFolder folder;
  folder.final_ = without_trailing_slashes(path);
  folder.real_ = behind_links(folder.final_);
  if (!is_folder(folder.real_)) return fault(path, "is not an existing folder");
  const Descriptor lock = locked_folder(folder.real_);
  if (auto done = undo_unfinished_moves(folder.real_); !done) return std::move(done).error();
  folder.temporary_ = Temporary::folder_in(folder.real_);
  if (folder.temporary_.is_there()) return folder;
  return fault(path, "cannot be written in: " + system_words(errno));
}

Loaded<OutputFolder> OutputFolder::inside(const std::string& path, bool force) {
  auto folder = open_within(path);
  if (!folder) return folder;
  folder->force_ = force;
  folder->place_ = Place::within;
  return folder;
}

Loaded<OutputFolder> OutputFolder::beside(const std::string& path, bool force) {
  if (is_folder(path)) return fault(path, "is a folder; name a file");
  if (auto free = check_may_replace(path, force); !free) return std::move(free).error();
  auto folder = open_within(parent_folder(path));
  if (!folder) return folder;
  folder->force_ = force;
  folder->place_ = Place::beside;
  return folder;
}

std::string OutputFolder::path_of(std::string_view name) const {
  assert(!name.empty() && name.find('/') == name.npos && "a file's name is one path component");
  return temporary_.path() + "/" + std::string(name);
}

bool OutputFolder::would_remove(const std::string& path) const {
  if (place_ != Place::folder || !mode_at(real_)) return false;
  const std::filesystem::path folder = real_, file = behind_links(path);
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first ==
         folder.end();
}

Status<Diagnostics> OutputFolder::write_text(std::string_view name, const MakeText& make) const {
  Descriptor fd(::open(path_of(name).c_str(), kNewFile, 0666));
  int failed = fd.is_open() ? 0 : errno;
  if (failed == 0) {
    make([&](std::string_view piece) {
      if (failed == 0 && !write_all(fd.get(), piece)) failed = errno;
    });
  }
  if (failed == 0 && !fd.close()) failed = errno;
  if (failed == 0) return Done{};
  return fault(final_ + "/" + std::string(name), "cannot be written: " + system_words(failed));
}

Status<Diagnostics> OutputFolder::write(std::string_view name, std::string_view bytes) const {
  return write_text(name, [&](const TakeText& take) { take(bytes); });
}

Status<Diagnostics> OutputFolder::write_manifest(const MakeText& make) const {
  const auto files = list_of(temporary_.path());
  if (!files) return files.error();
  const std::string end = file_list_end(*files);
  return write_text(kManifestName, [&](const TakeText& take) {
    std::string held;  // what may be kReportEnd: the last bytes so far
    make([&](std::string_view piece) {
      const std::size_t kept = std::min(piece.size(), kReportEnd.size());
      held += piece.substr(piece.size() - kept);
      const std::size_t over = held.size() - std::min(held.size(), kReportEnd.size());
      take(held.substr(0, over));
      take(piece.substr(0, piece.size() - kept));
      held.erase(0, over);
    });
    assert(held == kReportEnd);
    take(end);
  });
}

Status<Diagnostics> OutputFolder::write_manifest(std::string_view json) const {
  return write_manifest([&](const TakeText& take) { take(json); });
}

Status<Diagnostics> OutputFolder::commit() {
  if (auto same = check_inputs_unchanged(); !same) return same;
  const Uninterrupted whole;
  if (place_ == Place::folder) return commit_folder();
  auto done = commit_files();
  if (done) temporary_.remove();
  return done;
}

Status<Diagnostics> OutputFolder::commit_folder() {
  if (!mode_at(real_)) {
    if (!rename_new(temporary_.path(), real_)) {
      return fault(final_, "cannot be put in place: " + system_words(errno));
    }
    temporary_.keep();
    return Done{};
  }
  if (!force_) return fault(final_, std::string(kExists));
  if (!replaced_ || file_id(real_) != replaced_) {
    return fault(final_, "appeared while cleave ran: it is left as it is");
  }
  if (auto ours = check_is_ours(real_, final_); !ours) return ours;
  if (!swap_places(temporary_.path(), real_)) {
    return fault(final_, "cannot be put in place: " + system_words(errno));
  }
  if (auto ours = put_back_unless_ours(); !ours) return ours;
  const std::string old = temporary_.path();
  temporary_.keep();
  if (remove_listed_folder(old)) return Done{};
  return fault(final_, "is complete, but what it replaced could not be removed: see " +
                           escaped_in_quotes(old));
}

// Another folder may have been swapped out than the one checked before. If it is not ours, swaps it
// back.
Status<Diagnostics> OutputFolder::put_back_unless_ours() {
  auto ours = check_is_ours(temporary_.path(), final_);
  if (ours && file_id(temporary_.path()) == replaced_) return ours;
  const std::string old = temporary_.path();
  if (!swap_places(old, real_)) {
    temporary_.keep();
    return fault(final_, "is complete; what it replaced is not cleave's and is now in " +
                             escaped_in_quotes(old));
  }
  if (!ours) return ours;
  return fault(final_, "appeared while cleave ran: it is left as it is");
}

// `ours` are the names of files that may be replaced.
Status<Diagnostics> OutputFolder::check_file(const std::string& name,
                                             const std::set<std::string>& ours) const {
  const std::string path = real_ + "/" + name, shown = final_ + "/" + name;
  const auto mode = mode_at(path);
  if (!mode) return Done{};
  if (S_ISDIR(*mode)) return fault(shown, "exists already and is a folder");
  if (auto free = check_may_replace(path, force_); !free) {
    return fault(shown, free.error().front().message);
  }
  if (!force_ && !S_ISREG(*mode)) return fault(shown, std::string(kExists));
  if (place_ == Place::beside) return Done{};  // the user named it
  if (ours.contains(name)) return Done{};
  return fault(shown,
               "exists already, and no manifest.json of cleave's lists it: --force only replaces "
               "what cleave wrote");
}

// Refuses when a file that the manifest lists has changed since: it would be lost.
Status<Diagnostics> OutputFolder::check_listed(const std::vector<ListedFile>& listed) const {
  std::vector<std::string> others;
  for (const ListedFile& file : listed) {
    const bool is_same =
        is_as_listed(real_, file) && input_at_path(real_ + "/" + file.name).empty();
    if (!is_same) others.push_back(file.name);
  }
  if (others.empty()) return Done{};
  return fault(final_, "holds files that are not as cleave wrote them: " + named_entries(others) +
                           "; move them, or write elsewhere");
}

// Files of an earlier set that this one does not have are removed with the earlier set's manifest.
Status<Diagnostics> OutputFolder::commit_files() {
  const Descriptor lock = locked_folder(real_);  // from the checks to the last move
  const auto names = files_in(temporary_.path());
  if (!names) return names.error();
  const bool may_replace = force_ && place_ == Place::within;
  const auto listed = may_replace ? listed_files(real_) : std::nullopt;
  std::set<std::string> ours;
  if (listed) {
    if (auto same = check_listed(*listed); !same) return same;
    for (const ListedFile& file : *listed) ours.insert(file.name);
    ours.emplace(kManifestName);
  }
  for (const std::string& name : *names) {
    if (auto free = check_file(name, ours); !free) return free;
    ours.erase(name);
  }
  ours.erase(std::string(kManifestName));
  return move_files(*names, {ours.begin(), ours.end()});
}

// `stale` are files of the earlier set that this one does not have.
Status<Diagnostics> OutputFolder::move_files(const std::vector<std::string>& names,
                                             const std::vector<std::string>& stale) const {
  auto journal = MoveJournal::begin(temporary_.path(), real_, names, stale);
  if (!journal) return std::move(journal).error();
  Moves moves(temporary_.path(), real_);
  const auto give_up = [&](const std::string& name) {
    const std::string words = system_words(errno);
    moves.undo();
    journal->end();
    return fault(final_ + "/" + name, "cannot be put in place: " + words);
  };
  std::error_code ignored;  // a folder that is missing is told by the move into it
  for (const std::string& within : folders_of(names)) {
    std::filesystem::create_directories(real_ + "/" + within, ignored);
  }
  for (const std::string& within : folders_of(stale)) {
    std::filesystem::create_directories(temporary_.path() + "/" + within, ignored);
  }
  const bool has_manifest = !names.empty() && names.back() == kManifestName;
  if (has_manifest && !moves.set_aside(std::string(kManifestName))) {
    return give_up(std::string(kManifestName));
  }
  for (const std::string& name : stale) {
    if (!moves.set_aside(name)) return give_up(name);
  }
  for (const std::string& name : names) {
    if (!moves.move(name)) return give_up(name);
  }
  if (!journal->replaced_what_it_says()) {
    errno = EBUSY;
    return give_up(std::string(kManifestName));
  }
  journal->end();
  return Done{};
}

}  // namespace cleave
