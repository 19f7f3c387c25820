#include "formats/run/lowering/lanes.h"

namespace cleave {

Lanes::Lanes(std::size_t count) : own_(count) {
  for (std::size_t lane = 0; lane < count; ++lane) {
    threads_.emplace_back([this, lane] { work(lane); });
  }
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
  open_ += jobs.size();
  for (Job& job : jobs) jobs_.push_back(std::move(job));
  has_work_.notify_all();
  is_idle_.wait(lock, [this] { return open_ == 0; });
}

void Lanes::on_each(const Job& job) {
  std::unique_lock lock(mutex_);
  open_ += own_.size();
  for (auto& own : own_) own.push_back(job);
  has_work_.notify_all();
  is_idle_.wait(lock, [this] { return open_ == 0; });
}

void Lanes::work(std::size_t lane) {
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [&] { return is_over_ || !jobs_.empty() || !own_[lane].empty(); });
    auto& queue = own_[lane].empty() ? jobs_ : own_[lane];
    if (queue.empty()) return;
    const Job job = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    job(lane);
    lock.lock();
    if (--open_ == 0) is_idle_.notify_all();
  }
}

}  // namespace cleave
