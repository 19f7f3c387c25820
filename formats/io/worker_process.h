// WorkerProcess: a function that runs in a child process of its own, request by request. What a
// library does wrong there (a crash, an endless loop, too much memory) costs one answer and not the
// program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "formats/io/descriptor.h"

namespace cleave {

// What became of a request. Without a text the child ended before it had answered.
struct WorkerAnswer {
  std::optional<std::string> text;
  int signal = 0;  // that ended the child; 0: it ended by itself
};

class WorkerProcess {
 public:
  // The answer to a request. It runs in a copy of this process, made when the first request comes:
  // it sees what was in memory then, and changes nothing here.
  using Work = std::string (*)(const std::string& request);

  // `most_bytes`: memory that the child may take beyond what this process had.
  WorkerProcess(Work work, std::uint64_t most_bytes) : work_(work), most_bytes_(most_bytes) {}
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;
  ~WorkerProcess() { stop(); }

  // Hands a request to the child, which is made where there is none. One request at a time. False,
  // with errno, when the system makes no process.
  bool give(const std::string& request);
  bool is_busy() const { return is_busy_; }
  // To poll for input: it is readable when take() has something to read.
  int descriptor() const { return socket_.get(); }
  // Reads what there is of the answer; nullopt while the rest is to come.
  std::optional<WorkerAnswer> take();
  // Processor time that the child has taken since it was made; 0 without a child.
  double cpu_seconds() const;
  // Ends the child, and the request with it.
  void stop();

 private:
  bool start();
  WorkerAnswer ended();

  Work work_;
  std::uint64_t most_bytes_;
  Descriptor socket_{-1};
  int child_ = -1;  // its process id
  bool is_busy_ = false;
  std::string received_;
};

}  // namespace cleave
