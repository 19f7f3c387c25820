// FileStamp: tells whether a file has changed, without reading it.
#pragma once

#include <cstdint>

struct stat;  // the system's

namespace cleave {

// The file's size, and when its content last changed.
struct FileStamp {
  std::int64_t size = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// The stamp of an open file; all zero when the system does not give one. May be called in a signal
// handler.
FileStamp file_stamp(int fd) noexcept;
FileStamp file_stamp(const struct stat& status) noexcept;

}  // namespace cleave
