// InputWatch: notices that somebody changes an input while it is mapped. Its bytes are then no
// longer those that were checked: a number may lead out of bounds, a page may be gone (the system
// sends SIGBUS). So an input is watched from when it is mapped to when it is unmapped, and whoever
// is about to deliver a result, or has to tell of a crash, asks here first.
//
// The watched inputs are a list of the whole process, since a signal handler can be given nothing.
#pragma once

#include <string>
#include <string_view>

#include "formats/io/file_stamp.h"

namespace cleave {

class InputWatch {
 public:
  // `bytes` are those of the open file, mapped; `path` is what messages call it.
  InputWatch(std::string path, int fd, std::string_view bytes);
  InputWatch(const InputWatch&) = delete;
  InputWatch& operator=(const InputWatch&) = delete;
  ~InputWatch();

  const FileStamp& stamp() const { return stamp_; }
  bool has_changed() const noexcept { return !(file_stamp(fd_) == stamp_); }

 private:
  friend const char* changed_input() noexcept;
  friend const char* input_at(const void* address) noexcept;

  std::string path_;
  int fd_;
  std::string_view bytes_;
  FileStamp stamp_;
  InputWatch* next_ = nullptr;
};

// The path of an input that has changed while it was watched, or else by now; nullptr: none has.
// One fstat for each watched input. This and the next may be called in a signal handler.
const char* changed_input() noexcept;

// What is said of such an input.
inline constexpr std::string_view kInputChanged =
    "was changed while it was read; run again when it is complete";

// The path of the watched input that is mapped at the address; nullptr: none is.
const char* input_at(const void* address) noexcept;

}  // namespace cleave
