#include "formats/base/io/lanes.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "formats/base/io/temporary.h"

namespace cleave {
namespace {

constexpr std::size_t kMostThreads = 8;
constexpr std::size_t kItemsPerThread = 4;

// 0: the caller does it.
std::size_t threads_for(std::size_t items) {
  const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  const std::size_t threads =
      std::min({kMostThreads, cores, (items + kItemsPerThread - 1) / kItemsPerThread});
  return threads > 1 ? threads : 0;
}

// An item of do_each() returned false.
struct Stopped {
  std::size_t item;
};

}  // namespace

Lanes::Lanes(std::size_t count) {
  const std::lock_guard lock(mutex_);  // the threads wait until own_ is there
  const Uninterrupted in_threads;      // they inherit the signals that are blocked
  try {
    for (std::size_t lane = 0; lane < count; ++lane) {
      threads_.emplace_back([this, lane] { work(lane); });
    }
  } catch (const std::system_error&) {
  }
  own_.resize(std::max<std::size_t>(threads_.size(), 1));
}

Lanes::~Lanes() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Lanes::do_all(std::vector<Job> jobs) {
  std::unique_lock lock(mutex_);
  for (Job& job : jobs) tasks_.push_back({std::move(job), open_++});
  wait_for_all(lock);
}

void Lanes::on_each(const Job& job) {
  std::unique_lock lock(mutex_);
  for (auto& own : own_) own.push_back({job, open_++});
  wait_for_all(lock);
}

void Lanes::wait_for_all(std::unique_lock<std::mutex>& lock) {
  has_work_.notify_all();
  while (threads_.empty() && open_ > 0) run(own_[0].empty() ? tasks_ : own_[0], 0, lock);
  is_idle_.wait(lock, [this] { return open_ == 0; });
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Lanes::work(std::size_t lane) {
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [&] { return is_over_ || !tasks_.empty() || !own_[lane].empty(); });
    auto& queue = own_[lane].empty() ? tasks_ : own_[lane];
    if (queue.empty()) return;
    run(queue, lane, lock);
  }
}

// Runs the first task of the queue, without the lock.
void Lanes::run(std::deque<Task>& queue, std::size_t lane, std::unique_lock<std::mutex>& lock) {
  std::exception_ptr thrown;
  std::size_t number = 0;
  {
    const Task task = std::move(queue.front());
    number = task.number;
    queue.pop_front();
    lock.unlock();
    try {
      task.job(lane);
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  lock.lock();
  if (thrown) {
    if (!thrown_ || number < thrown_by_) {
      thrown_ = std::move(thrown);
      thrown_by_ = number;
    }
    open_ -= tasks_.size();
    tasks_.clear();
  }
  if (--open_ == 0) is_idle_.notify_all();
}

std::size_t do_each(std::size_t count, const std::function<bool(std::size_t)>& work) {
  std::vector<Lanes::Job> jobs;
  jobs.reserve(count);
  for (std::size_t item = 0; item < count; ++item) {
    jobs.emplace_back([&work, item](std::size_t) {
      if (!work(item)) throw Stopped{item};
    });
  }
  try {
    Lanes(threads_for(count)).do_all(std::move(jobs));
  } catch (const Stopped& stopped) {
    return stopped.item;
  }
  return count;
}

}  // namespace cleave
