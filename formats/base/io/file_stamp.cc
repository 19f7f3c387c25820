#include "formats/base/io/file_stamp.h"

#include <sys/stat.h>

namespace cleave {

FileStamp file_stamp(int fd) noexcept {
  struct stat status = {};
  return ::fstat(fd, &status) == 0 ? file_stamp(status) : FileStamp{};
}

FileStamp file_stamp(const struct stat& status) noexcept {
  return {.size = status.st_size,
          .seconds = status.st_mtim.tv_sec,
          .nanoseconds = status.st_mtim.tv_nsec};
}

}  // namespace cleave
