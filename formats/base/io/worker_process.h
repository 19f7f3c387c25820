// WorkerProcess: runs a function in a child process, request by request. A failure of a library
// there (a crash, an endless loop, too much memory) costs one answer and not the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "formats/base/io/descriptor.h"

namespace cleave {

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

}  // namespace cleave
