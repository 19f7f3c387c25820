// FileId: identifies the file that a path leads to, by whatever name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

struct stat;  // the system's

namespace cleave {

// A file on this machine: two paths with the same id are hard links, or links lead them to the same
// file.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const FileId&, const FileId&) = default;
};

FileId file_id(const struct stat& status) noexcept;

// The id of an open file; all zero when the system does not give one.
FileId file_id(int fd) noexcept;

// The id of the file that the path leads to, following links; nullopt if there is none. This
// function and those above may be called in a signal handler.
std::optional<FileId> file_id(const char* path) noexcept;
inline std::optional<FileId> file_id(const std::string& path) noexcept {
  return file_id(path.c_str());
}

}  // namespace cleave
