// InputWatch: notices when another process changes an input while it is mapped. Its bytes then
// differ from those that were checked: a number may lead out of bounds, and a page may be gone (the
// system sends SIGBUS). So an input is watched while it is mapped, and code that delivers a result
// or reports a crash checks here first.
//
// The watched inputs form one list per process, since a signal handler has no arguments to pass it
// in.
#pragma once

#include <string>
#include <string_view>

#include "formats/base/io/file_stamp.h"

namespace cleave {

class InputWatch {
 public:
  // `bytes` are the mapped bytes of the open file; `path` is its name in messages.
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

// The path of an input that changed while it was watched, up to now; nullptr when none did. One
// fstat per watched input. This and the next function may be called in a signal handler.
const char* changed_input() noexcept;

// The message about such an input.
inline constexpr std::string_view kInputChanged =
    "was changed while it was read; run again when it is complete";

// The path of the watched input mapped at the address; nullptr if there is none.
const char* input_at(const void* address) noexcept;

}  // namespace cleave
