#include "formats/base/io/file_id.h"

#include <sys/stat.h>

namespace cleave {

FileId file_id(const struct stat& status) noexcept {
  return {.device = static_cast<std::uint64_t>(status.st_dev),
          .inode = static_cast<std::uint64_t>(status.st_ino)};
}

FileId file_id(int fd) noexcept {
  struct stat status = {};
  return ::fstat(fd, &status) == 0 ? file_id(status) : FileId{};
}

std::optional<FileId> file_id(const char* path) noexcept {
  struct stat status = {};
  if (::stat(path, &status) != 0) return std::nullopt;
  return file_id(status);
}

}  // namespace cleave
