#include "formats/base/io/descriptor.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace cleave {

Descriptor::~Descriptor() { close(); }

int Descriptor::release() { return std::exchange(fd_, -1); }

bool Descriptor::close() {
  const int fd = release();
  return fd < 0 || ::close(fd) == 0;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string system_words(int error) { return std::generic_category().message(error); }

}  // namespace cleave
