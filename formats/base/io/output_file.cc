#include "formats/base/io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "formats/base/io/descriptor.h"
#include "formats/base/io/input_record.h"
#include "formats/base/io/input_watch.h"
#include "formats/base/io/renaming.h"
#include "formats/base/io/temporary.h"

namespace cleave {
namespace {

Diagnostics fault(const std::string& path, std::string message) {
  return {diagnostic_of(path, std::move(message))};
}

// Devices and pipes cannot be replaced: writes to them directly.
Status<Diagnostics> write_through(const std::string& path, std::string_view bytes) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.is_open() || !write_all(fd.get(), bytes) || !fd.close()) {
    return fault(path, "cannot be written: " + system_words(errno));
  }
  return Done{};
}

}  // namespace

std::string parent_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::string behind_links(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

Status<Diagnostics> check_inputs_unchanged() {
  const char* const changed = changed_input();
  if (changed == nullptr) return Done{};
  return fault(changed, std::string(kInputChanged));
}

Status<Diagnostics> check_is_no_input(const std::string& path) {
  const std::string input = input_at_path(path);
  if (input.empty()) return Done{};
  return fault(path, "would overwrite an input" +
                         (input == path ? std::string() : " (" + escaped_in_quotes(input) + ")") +
                         ": give the output another name");
}

Status<Diagnostics> check_may_replace(const std::string& path, bool force) {
  if (auto other = check_is_no_input(path); !other) return other;
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return Done{};
  if (S_ISDIR(status.st_mode)) return fault(path, "cannot be written: is a folder");
  if (force || !S_ISREG(status.st_mode) || status.st_size == 0) return Done{};
  return fault(path, std::string(kExists));
}

Status<Diagnostics> check_may_write(const std::string& path, bool force) {
  if (auto free = check_may_replace(path, force); !free) return free;
  const std::string target = behind_links(path);
  const std::optional<unsigned> mode = mode_at(target);
  if (mode && !S_ISREG(*mode)) return Done{};
  if (!is_folder(parent_folder(target))) {
    return fault(
        path, "cannot be written: there is no folder " + escaped_in_quotes(parent_folder(target)));
  }
  const TemporaryFile begun = Temporary::file_in(parent_folder(target));  // removed again at once
  if (!begun.file.is_there()) return fault(path, "cannot be written: " + system_words(errno));
  return Done{};
}

Status<Diagnostics> write_file(const std::string& path, std::string_view bytes, bool force) {
  if (auto same = check_inputs_unchanged(); !same) return same;
  if (auto free = check_may_replace(path, force); !free) return free;
  const std::string target = behind_links(path);
  const std::optional<unsigned> mode = mode_at(target);
  if (mode && !S_ISREG(*mode)) return write_through(path, bytes);
  auto [file, fd] = Temporary::file_in(parent_folder(target));
  if (!file.is_there()) return fault(path, "cannot be written: " + system_words(errno));
  if (mode) ::fchmod(fd.get(), *mode & 07777U);
  if (!write_all(fd.get(), bytes) || !fd.close()) {
    return fault(path, "cannot be written: " + system_words(errno));
  }
  const Uninterrupted whole;
  if (auto free = check_may_replace(path, force); !free) return free;
  // What appears now, after the check, is not replaced without `force`.
  const bool is_new = !mode && !force;
  const bool is_done = is_new ? rename_new(file.path(), target)
                              : std::rename(file.path().c_str(), target.c_str()) == 0;
  if (!is_done && is_new && errno == EEXIST) return fault(path, std::string(kExists));
  if (!is_done) return fault(path, "cannot be written: " + system_words(errno));
  file.keep();
  return Done{};
}

}  // namespace cleave
