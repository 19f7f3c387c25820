#include "formats/base/io/each_item.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "formats/base/io/temporary.h"

namespace cleave {
namespace {

constexpr std::size_t kMostThreads = 8;
constexpr std::size_t kItemsPerThread = 4;

class EachItem {
 public:
  EachItem(std::size_t count, const std::function<bool(std::size_t)>& work)
      : count_(count), work_(work), stopped_(count) {}

  // Takes items until none is left or one has stopped the work.
  void work() noexcept {
    while (!is_over_) {
      const std::size_t item = next_++;
      if (item >= count_) return;
      try {
        if (!work_(item)) stop(item, nullptr);
      } catch (...) {
        stop(item, std::current_exception());
      }
    }
  }

  std::size_t result() const {
    if (exception_) std::rethrow_exception(exception_);
    return stopped_;
  }

 private:
  void stop(std::size_t item, std::exception_ptr exception) {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    if (item >= stopped_) return;
    stopped_ = item;
    exception_ = std::move(exception);
  }

  std::size_t count_;
  const std::function<bool(std::size_t)>& work_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  std::size_t stopped_;  // the lowest item that stopped the work
  std::exception_ptr exception_;
};

std::size_t threads_for(std::size_t count) {
  const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  return std::min({kMostThreads, cores, (count + kItemsPerThread - 1) / kItemsPerThread});
}

// Threads inherit the signals that are blocked here. Where the system starts no more, fewer do it.
std::vector<std::thread> start(EachItem& items, std::size_t count) {
  const Uninterrupted in_threads;
  std::vector<std::thread> threads;
  try {
    while (threads.size() < count) threads.emplace_back(&EachItem::work, &items);
  } catch (const std::system_error&) {
  }
  return threads;
}

}  // namespace

std::size_t do_each(std::size_t count, const std::function<bool(std::size_t)>& work) {
  EachItem items(count, work);
  std::vector<std::thread> threads;
  if (const std::size_t wanted = threads_for(count); wanted > 1) threads = start(items, wanted - 1);
  items.work();
  for (std::thread& thread : threads) thread.join();
  return items.result();
}

}  // namespace cleave
