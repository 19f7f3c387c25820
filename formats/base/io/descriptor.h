// File descriptors: closed when they go out of scope, written to the last byte.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// Owns a descriptor; -1 means none.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release();
  // Closes now; false, with errno, when the system reports a problem with earlier writes.
  bool close();

 private:
  int fd_;
};

// Writes all bytes, in as many calls as needed; false, with errno, on an error.
bool write_all(int fd, std::string_view bytes);

// "No such file or directory": the system's words for this errno.
std::string system_words(int error);

}  // namespace cleave
