// Processes: children with limits, workers, lanes, the heap.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/base.h"
#include "formats/base/files.h"

namespace cleave {

// ---- child ----
//
// Child processes that may misbehave: crash, hang, fork, flood, fill the disk. Each has its own
// session and process group, /dev/null as standard input, limits, and only the environment it is
// given. Processes that it leaves behind are ended with it, even those that left its group: this
// process is a *subreaper* (prctl(2)), so it inherits orphans.
//
// A signal that stops this process ends the children first: see end_children().

enum class ChildKind : std::uint8_t {
  local,
  launcher,  // runs its command elsewhere, as srun does. It gets SIGTERM before it is killed, since
             // what it runs elsewhere would go on otherwise
};

struct ChildCommand {
  std::vector<std::string> argv = {};
  std::vector<std::string> environment = {};  // "NAME=value"; its PATH is used to find the program
  std::string folder = {};                    // working directory
  double timeout_seconds = 600;
  std::uint64_t memory_bytes = 0;  // RLIMIT_AS; 0: no limit
  std::uint64_t file_bytes = 0;    // RLIMIT_FSIZE; 0: no limit
  ChildKind kind = ChildKind::local;
  std::function<bool(std::string_view)> keeps_line = {};  // the lines that KeptOutput never drops
};

enum class ChildEnd : std::uint8_t { exited, signalled, timed_out, not_started };

struct ChildResult {
  ChildEnd end = ChildEnd::not_started;
  int code = 0;          // exit status, signal, or errno
  std::string out = {};  // what KeptOutput kept; "" when it was not started
  std::string err = {};
  double seconds = 0;
};

// Runs the command to its end. A child that exceeds its time gets SIGTERM, and SIGKILL 5 s later.
// Returns when the child has ended, even if other processes still hold its output.
ChildResult run_child(const ChildCommand& command);

// A child whose standard input and output are pipes, for a worker.
struct SpawnedChild {
  int pid = -1;
  std::uint64_t tag = 0;  // identifies it for end_left_behind()
  ChildKind kind = ChildKind::local;
  Descriptor in, out, err;
};
enum class ChildInput : std::uint8_t { none, pipe };

// Starts the command. Error: errno. The descriptors do not block.
Result<SpawnedChild, int> spawn_child(const ChildCommand& command, ChildInput input);

// Kills the child's group, waits for the child, and ends what it left behind. A launcher first gets
// 2 s to end by itself, then SIGTERM and 5 s more. Returns the child's wait status.
int end_child(const SpawnedChild& child);

// Kills the groups of all children and all that they started, but sends SIGTERM to launchers and leaves
// what these started to them. The process must end after it. It allocates nothing, so that
// signal handlers may call it.
void end_children() noexcept;
// True once they were: how a child ends from then on says nothing of its work.
bool has_ended_children() noexcept;

// ---- child table ----
//
// The children that this process has started and not yet waited for. There is one table per
// process, since a signal handler has no arguments to pass it in.

inline constexpr int kMostChildren = 1024;

// ---- worker process ----
//
// WorkerProcess: runs a function in a child process, request by request. A failure of a library
// there (a crash, an endless loop, too much memory) costs one answer and not the program.

// The outcome of a request. Without text the child ended before it answered.
struct ProcessAnswer {
  std::optional<std::string> text;
  int signal = 0;  // the signal that ended the child; 0: it ended by itself
};

class WorkerProcess {
 public:
  // Answers a request. It runs in a copy of this process, made at the first request: it sees the
  // memory as it was then, and changes nothing here.
  using Work = std::string (*)(const std::string& request);

  // `most_bytes`: memory that the child may use beyond what this process had.
  WorkerProcess(Work work, std::uint64_t most_bytes) : work_(work), most_bytes_(most_bytes) {}
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;
  ~WorkerProcess() { stop(); }

  // Sends a request to the child, and starts the child if there is none. One request at a time.
  // False, with errno, when the system cannot start a process.
  bool give(const std::string& request);
  bool is_busy() const { return is_busy_; }
  // For polling: readable when take() has something to read.
  int descriptor() const { return socket_.get(); }
  // Reads the available part of the answer; nullopt while the rest is missing.
  std::optional<ProcessAnswer> take();
  // Processor time of the child since it started; 0 without a child.
  double cpu_seconds() const;
  // Ends the child and its request.
  void stop();

 private:
  bool start();
  ProcessAnswer ended();

  Work work_;
  std::uint64_t most_bytes_;
  Descriptor socket_{-1};
  int child_ = -1;  // its process id
  bool is_busy_ = false;
  std::string received_;
};

// ---- ticker ----
//
// Ticker: calls a function every so many seconds, in a thread of its own, while work goes on in others.

class Ticker : Pinned {
 public:
  // `call` runs beside everything else until this object goes out of scope. Where the system starts no
  // thread it is never called.
  Ticker(double seconds, std::function<void()> call);
  ~Ticker();

 private:
  void run(double seconds);

  std::function<void()> call_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

// ---- lanes ----
//
// Lanes: permanent threads for jobs, and do_each(), which uses them for independent items. The outcome
// is that of one thread: the caller keeps what each job gives in a place of its own, and the fault that
// counts is that of the first job.
//
// The system ends a child process when the thread that started it ends (PR_SET_PDEATHSIG), so the
// threads live as long as the workers that they start.

class Lanes : Pinned {
 public:
  // A job gets the number of the lane that runs it.
  using Job = std::function<void(std::size_t lane)>;

  // Starts `count` threads. Where the system starts fewer, there are fewer lanes; without any thread
  // the caller is lane 0. Signals go to the calling thread alone.
  explicit Lanes(std::size_t count);
  // Ends the threads.
  ~Lanes();

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

// ---- heap ----
//
// The heap of a process that reads models: how the C library treats large blocks. Only programs
// call these; a library must not change how its program allocates.

// Keeps freed memory in the process for the next table. By default the C library returns each block
// beyond 32 MiB to the system and gets the pages of the next one again, with a fault and a clearing
// each: for tables of ten million entries that takes most of a pass's time.
void keep_freed_memory();

// Asks for pages of 2 MiB for the next `bytes` bytes by which the heap grows: walks over tables of
// gigabytes miss fewer translations, and there are fewer page faults. Takes no memory by itself.
// Has no effect when the system has no such pages, below 64 MiB, or without keep_freed_memory().
void prefer_large_pages(std::size_t bytes);

}  // namespace cleave
