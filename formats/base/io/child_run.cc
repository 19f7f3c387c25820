// Runs a child to its end: reads its output as it arrives and watches its time. The child cannot
// block the reader, whatever it does with its descriptors.
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "formats/base/io/child.h"
#include "formats/base/io/kept_output.h"

namespace cleave {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGraceSeconds = 5;  // between SIGTERM and SIGKILL
constexpr int kTickMilliseconds = 20;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Reads what is available; false at the end.
bool take_output(int fd, KeptOutput& kept) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0) kept.add({buffer.data(), static_cast<std::size_t>(got)});
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

class RunningChild {
 public:
  RunningChild(SpawnedChild child, const ChildCommand& command)
      : child_(std::move(child)),
        timeout_seconds_(command.timeout_seconds),
        out_(command.keeps_line),
        err_(command.keeps_line) {
    exit_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, child_.pid, 0));
  }
  ~RunningChild() {
    if (exit_fd_ >= 0) ::close(exit_fd_);
  }
  RunningChild(const RunningChild&) = delete;
  RunningChild& operator=(const RunningChild&) = delete;

  ChildResult wait() {
    while (!has_ended()) {
      wait_for_something();
      watch_time();
    }
    drain(child_.out.get(), out_);
    drain(child_.err.get(), err_);
    const int status = end_child(child_);
    ChildResult result{.out = out_.text(), .err = err_.text(), .seconds = seconds_since(begin_)};
    result.end = WIFSIGNALED(status) ? ChildEnd::signalled : ChildEnd::exited;
    result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (is_late_) result.end = ChildEnd::timed_out;
    return result;
  }

 private:
  bool has_ended() const {
    siginfo_t info = {};
    return ::waitid(P_PID, static_cast<id_t>(child_.pid), &info, WEXITED | WNOHANG | WNOWAIT) ==
               0 &&
           info.si_pid == child_.pid;
  }

  void wait_for_something() {
    std::array<pollfd, 3> fds = {{{is_out_open_ ? child_.out.get() : -1, POLLIN, 0},
                                  {is_err_open_ ? child_.err.get() : -1, POLLIN, 0},
                                  {exit_fd_, POLLIN, 0}}};
    const int tick = exit_fd_ >= 0 ? 10 * kTickMilliseconds : kTickMilliseconds;
    if (::poll(fds.data(), fds.size(), tick) <= 0) return;
    if (fds[0].revents != 0) is_out_open_ = take_output(child_.out.get(), out_);
    if (fds[1].revents != 0) is_err_open_ = take_output(child_.err.get(), err_);
  }

  void watch_time() {
    const double over = seconds_since(begin_) - timeout_seconds_;
    if (over < 0) return;
    if (!is_late_) ::kill(-child_.pid, SIGTERM);
    is_late_ = true;
    if (over > kGraceSeconds) ::kill(-child_.pid, SIGKILL);
  }

  // Reads what is in the pipe when the child has ended. Bounded: a grandchild may go on writing.
  static void drain(int fd, KeptOutput& kept) {
    constexpr int kMostReads = 64;
    for (int i = 0; i < kMostReads; ++i) {
      const std::uint64_t before = kept.total();
      if (!take_output(fd, kept) || kept.total() == before) return;
    }
  }

  SpawnedChild child_;
  double timeout_seconds_;
  Clock::time_point begin_ = Clock::now();
  KeptOutput out_, err_;
  int exit_fd_ = -1;
  bool is_out_open_ = true, is_err_open_ = true;
  bool is_late_ = false;
};

}  // namespace

ChildResult run_child(const ChildCommand& command) {
  auto child = spawn_child(command, ChildInput::none);
  if (!child) return {.end = ChildEnd::not_started, .code = child.error()};
  return RunningChild(std::move(*child), command).wait();
}

}  // namespace cleave
