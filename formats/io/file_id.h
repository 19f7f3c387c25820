// FileId: which file a path leads to, whatever the path is called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

struct stat;  // the system's

namespace cleave {

// A file on this machine: two paths with the same id are hard links or lead there over links.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const FileId&, const FileId&) = default;
};

FileId file_id(const struct stat& status) noexcept;

// The file that is open; all zero where the system does not say.
FileId file_id(int fd) noexcept;

// The file that the path leads to, links followed; nullopt where there is none. This and those above
// may be called in a signal handler.
std::optional<FileId> file_id(const char* path) noexcept;
inline std::optional<FileId> file_id(const std::string& path) noexcept {
  return file_id(path.c_str());
}

}  // namespace cleave
