// Lanes: permanent threads, each with a worker of every backend. Jobs are done in any order; the
// caller keeps a slot for each result, so that results are in the order of the jobs.
//
// The system ends a child when the thread that started it ends (PR_SET_PDEATHSIG), so threads live
// as long as their workers.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cleave {

class Lanes {
 public:
  // A job gets the number of the lane that runs it.
  using Job = std::function<void(std::size_t lane)>;

  explicit Lanes(std::size_t count);
  // Waits for all jobs.
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  std::size_t count() const { return threads_.size(); }
  // Does all jobs and returns when they are done. Jobs must not throw.
  void do_all(std::vector<Job> jobs);
  // Runs one job on each lane, to set lanes up and to shut them down.
  void on_each(const Job& job);

 private:
  void work(std::size_t lane);

  std::mutex mutex_;
  std::condition_variable has_work_, is_idle_;
  std::deque<Job> jobs_;              // for any lane
  std::vector<std::deque<Job>> own_;  // for one lane
  std::size_t open_ = 0;              // jobs that are not done
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cleave
