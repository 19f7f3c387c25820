// Lanes: permanent threads for jobs, and do_each(), which uses them for independent items. The outcome
// is that of one thread: the caller keeps what each job gives in a place of its own, and the fault that
// counts is that of the first job.
//
// The system ends a child process when the thread that started it ends (PR_SET_PDEATHSIG), so the
// threads live as long as the workers that they start.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cleave {

class Lanes {
 public:
  // A job gets the number of the lane that runs it.
  using Job = std::function<void(std::size_t lane)>;

  // Starts `count` threads. Where the system starts fewer, there are fewer lanes; without any thread
  // the caller is lane 0. Signals go to the calling thread alone.
  explicit Lanes(std::size_t count);
  // Ends the threads.
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  std::size_t count() const { return own_.size(); }
  // Begins the jobs in their order, and returns when all are done. When jobs throw, those that have
  // not begun are left out, and the exception of the first that threw is thrown again.
  void do_all(std::vector<Job> jobs);
  // Runs one job on each lane, to set lanes up and to shut them down. Exceptions as above.
  void on_each(const Job& job);

 private:
  struct Task {
    Job job;
    std::size_t number;
  };

  void wait_for_all(std::unique_lock<std::mutex>& lock);
  void work(std::size_t lane);
  void run(std::deque<Task>& queue, std::size_t lane, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable has_work_, is_idle_;
  std::deque<Task> tasks_;             // for any lane
  std::vector<std::deque<Task>> own_;  // for one lane
  std::size_t open_ = 0;               // tasks that are not done
  std::exception_ptr thrown_;          // by the task with the lowest number
  std::size_t thrown_by_ = 0;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

// Calls work(0) to work(count - 1), each once, by up to eight threads, one for every four items.
// Items begin in this order. An item that returns false stops the work: items that have not begun are
// left out. Returns the lowest item that returned false, or `count`; all items below it are done.
// Throws the exception of the lowest item if it threw.
std::size_t do_each(std::size_t count, const std::function<bool(std::size_t)>& work);

}  // namespace cleave
