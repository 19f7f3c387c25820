// FileStamp: what tells a file's content from what it was before, without reading it.
#pragma once

#include <cstdint>

struct stat;  // the system's

namespace cleave {

// The file's size, and the time of the last change of its content.
struct FileStamp {
  std::int64_t size = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Of the open file; all zero where the system does not tell. May be called in a signal handler.
FileStamp file_stamp(int fd) noexcept;
FileStamp file_stamp(const struct stat& status) noexcept;

}  // namespace cleave
