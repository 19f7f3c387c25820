#include "formats/base/io/ticker.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "formats/base/io/temporary.h"

namespace cleave {

Ticker::Ticker(double seconds, std::function<void()> call) : call_(std::move(call)) {
  const Uninterrupted in_thread;  // it inherits the signals that are blocked
  try {
    thread_ = std::thread([this, seconds] { run(seconds); });
  } catch (const std::system_error&) {
  }
}

Ticker::~Ticker() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Ticker::run(double seconds) {
  std::unique_lock lock(mutex_);
  while (
      !over_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return is_over_; })) {
    call_();
  }
}

}  // namespace cleave
