// Both sides talk over a pair of sockets. A message is its length (8 bytes, native byte order) and
// its bytes. The child is a fork without exec, set up in these steps:
//   1. signals get their default action: the handlers here would remove this process's files;
//   2. it ends when this process ends, leaves no core file, and holds neither standard output nor
//      standard error: whoever reads them waits for this process alone;
//   3. its memory is limited to what it has plus `most_bytes`.
#include "formats/base/io/worker_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

namespace cleave {
namespace {

using Length = std::uint64_t;

// Bytes of writable memory that belong to this process alone; 0 when the system does not say.
std::uint64_t own_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long pages = 0;  // the type that scanf expects
  const int read = std::fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages);
  std::fclose(file);
  return read == 1 ? pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

void limit(int resource, std::uint64_t most) {
  struct rlimit bound {};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &bound) != 0) return;
  if (bound.rlim_cur != RLIM_INFINITY && bound.rlim_cur <= most) return;
  bound.rlim_cur = most;
  ::setrlimit(static_cast<__rlimit_resource>(resource), &bound);
}

void become_worker(std::uint64_t most_bytes, pid_t parent) {
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) std::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::set_new_handler(nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it ended before the line above took effect
  limit(RLIMIT_CORE, 0);
  const std::uint64_t own = own_bytes();
  if (own > 0) limit(RLIMIT_DATA, own + most_bytes);
  const int sink = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (sink >= 0) ::dup2(sink, fd);
  }
}

bool send_all(int fd, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = ::send(fd, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool send_message(int fd, const std::string& text) {
  const Length length = text.size();
  return send_all(fd, &length, sizeof length) && send_all(fd, text.data(), text.size());
}

bool receive_all(int fd, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = ::recv(fd, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

[[noreturn]] void serve(int fd, WorkerProcess::Work work) {
  Length length = 0;
  while (receive_all(fd, &length, sizeof length)) {
    std::string request(length, '\0');
    if (!receive_all(fd, request.data(), length)) break;
    if (!send_message(fd, work(request))) break;
  }
  ::_exit(0);
}

}  // namespace

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : work_(other.work_),
      most_bytes_(other.most_bytes_),
      socket_(std::move(other.socket_)),
      child_(std::exchange(other.child_, -1)),
      is_busy_(std::exchange(other.is_busy_, false)),
      received_(std::move(other.received_)) {}

bool WorkerProcess::start() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  Descriptor mine(ends[0]), its(ends[1]);
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ < 0) return false;
  if (child_ == 0) {
    mine.close();  // else the child would keep its own connection open, and never see it end
    become_worker(most_bytes_, parent);
    try {
      serve(its.get(), work_);
    } catch (...) {
      ::_exit(1);  // no other code of this process may run in the copy
    }
  }
  socket_.close();
  new (&socket_) Descriptor(mine.release());
  return true;
}

// A child that ended between two requests is replaced.
bool WorkerProcess::give(const std::string& request) {
  received_.clear();
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (child_ < 0 && !start()) return false;
    is_busy_ = send_message(socket_.get(), request);
    if (is_busy_) return true;
    stop();
  }
  return false;
}

ProcessAnswer WorkerProcess::ended() {
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  stop();
  return {.text = std::nullopt, .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

std::optional<ProcessAnswer> WorkerProcess::take() {
  std::array<char, 65536> piece;
  const ssize_t got = ::recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (got <= 0) return ended();
  received_.append(piece.data(), static_cast<std::size_t>(got));
  Length length = 0;
  if (received_.size() < sizeof length) return std::nullopt;
  std::memcpy(&length, received_.data(), sizeof length);
  if (received_.size() - sizeof length < length) return std::nullopt;
  is_busy_ = false;
  return ProcessAnswer{.text = received_.substr(sizeof length), .signal = 0};
}

double WorkerProcess::cpu_seconds() const {
  clockid_t clock{};
  struct timespec time {};
  if (child_ < 0 || ::clock_getcpuclockid(child_, &clock) != 0) return 0;
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void WorkerProcess::stop() {
  is_busy_ = false;
  socket_.close();
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

}  // namespace cleave
