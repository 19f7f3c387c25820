#include "formats/base/io/input_watch.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>

namespace cleave {
namespace {

// Changed under the lock; handlers read it without the lock, since their process is about to end.
std::atomic<InputWatch*> first_watch = nullptr;
std::mutex watch_lock;
// The path of the first input that had changed when its watch ended. Never freed.
std::atomic<const char*> changed_path = nullptr;

void remember(const std::string& path) {
  if (changed_path != nullptr) return;
  changed_path = ::strdup(path.c_str());
}

}  // namespace

InputWatch::InputWatch(std::string path, int fd, std::string_view bytes)
    : path_(std::move(path)), fd_(fd), bytes_(bytes), stamp_(file_stamp(fd)) {
  const std::lock_guard<std::mutex> lock(watch_lock);
  next_ = first_watch;
  first_watch = this;
}

InputWatch::~InputWatch() {
  const std::lock_guard<std::mutex> lock(watch_lock);
  if (has_changed()) remember(path_);
  if (first_watch == this) {
    first_watch = next_;
    return;
  }
  InputWatch* before = first_watch;
  while (before->next_ != this) before = before->next_;
  before->next_ = next_;
}

const char* changed_input() noexcept {
  if (const char* const path = changed_path) return path;
  for (const InputWatch* watch = first_watch; watch != nullptr; watch = watch->next_) {
    if (watch->has_changed()) return watch->path_.c_str();
  }
  return nullptr;
}

const char* input_at(const void* address) noexcept {
  const std::less<> before;
  for (const InputWatch* watch = first_watch; watch != nullptr; watch = watch->next_) {
    const char* const begin = watch->bytes_.data();
    const char* const at = static_cast<const char*>(address);
    if (!before(at, begin) && before(at, begin + watch->bytes_.size())) return watch->path_.c_str();
  }
  return nullptr;
}

}  // namespace cleave
