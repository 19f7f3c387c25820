#include "formats/run/backend/worker.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

namespace cleave {
namespace {

constexpr std::size_t kMostLine = std::size_t{256} << 20U;  // of an answer

double left_of(std::chrono::steady_clock::time_point deadline) {
  return std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count();
}

std::chrono::steady_clock::time_point deadline_in(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(seconds));
}

int milliseconds(double seconds) {
  return seconds <= 0 ? 0 : static_cast<int>(std::min(seconds * 1000 + 1, 60000.0));
}

std::string version_of(const std::string& greeting) {
  const auto json = nlohmann::json::parse(greeting, nullptr, false);
  if (!json.is_object() || !json.contains("ready")) return {};
  const auto version = json.find("version");
  return version != json.end() && version->is_string() ? version->get<std::string>() : "unknown";
}

}  // namespace

Worker::~Worker() { stop(); }

void Worker::stop() {
  if (!child_) return;
  child_->in.close();  // a worker exits at the end of its input; we do not wait for that
  end_child(*child_);
  child_.reset();
  pending_.clear();
}

std::optional<WorkerAnswer> Worker::start() {
  if (child_) return std::nullopt;
  err_ = KeptOutput();
  pending_.clear();
  calls_ = 0;
  auto spawned = spawn_child(options_.command, ChildInput::pipe);
  if (!spawned) return WorkerAnswer{.text = system_words(spawned.error()), .code = spawned.error()};
  child_ = std::make_unique<SpawnedChild>(std::move(*spawned));
  std::string greeting;
  const Wait wait = wait_for_line(options_.start_timeout_seconds, greeting);
  if (wait == Wait::line) version_ = version_of(greeting);
  if (wait == Wait::line && !version_.empty()) return std::nullopt;
  WorkerAnswer answer = answer_of_end(WorkerAnswer::Kind::not_started);
  if (wait == Wait::line) answer.text = "its first line is not a greeting: " + greeting;
  if (wait == Wait::late) answer.text = "no greeting in time\n" + answer.text;
  answer.code = 0;
  return answer;
}

WorkerAnswer Worker::call(const std::string& request) {
  if (calls_ >= options_.restart_after) stop();
  if (auto failure = start()) return *std::move(failure);
  err_ = KeptOutput();
  const Clock::time_point begin = Clock::now();
  const double timeout = options_.command.timeout_seconds;
  std::string line;
  const Wait wait = send(request + "\n", timeout) ? wait_for_line(timeout, line) : Wait::end;
  ++calls_;
  WorkerAnswer answer;
  if (wait == Wait::line) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    answer.kind = json.is_object() ? WorkerAnswer::Kind::line : WorkerAnswer::Kind::garbled;
    answer.text = std::move(line);
    if (answer.kind == WorkerAnswer::Kind::garbled) stop();
  } else {
    answer = answer_of_end(wait == Wait::late ? WorkerAnswer::Kind::timed_out
                                              : WorkerAnswer::Kind::died);
  }
  answer.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return answer;
}

// The end of standard output comes shortly before the process ends.
WorkerAnswer Worker::answer_of_end(WorkerAnswer::Kind kind) {
  if (kind == WorkerAnswer::Kind::timed_out) ::kill(-child_->pid, SIGTERM);
  const auto deadline = deadline_in(kind == WorkerAnswer::Kind::timed_out ? 5 : 1);
  siginfo_t info = {};
  while (left_of(deadline) > 0 && info.si_pid == 0) {
    take_error_output();
    ::waitid(P_PID, static_cast<id_t>(child_->pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid == 0) ::usleep(5000);
  }
  take_error_output();
  const int status = end_child(*child_);
  child_.reset();
  WorkerAnswer answer{.kind = kind, .text = err_.text()};
  answer.is_signal = WIFSIGNALED(status);
  answer.code = answer.is_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  return answer;
}

// A worker that waits for its standard error to be read reads no request.
bool Worker::send(std::string_view bytes, double seconds) {
  const auto deadline = deadline_in(seconds);
  bool is_err_open = true;
  while (!bytes.empty()) {
    const ssize_t written = ::write(child_->in.get(), bytes.data(), bytes.size());
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    if (written >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN || left_of(deadline) <= 0) return false;
    std::array<pollfd, 2> fds = {
        {{child_->in.get(), POLLOUT, 0}, {is_err_open ? child_->err.get() : -1, POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), milliseconds(left_of(deadline)));
    if ((fds[1].revents & POLLHUP) != 0) is_err_open = false;
    take_error_output();
  }
  return true;
}

void Worker::take_error_output() {
  std::array<char, 65536> buffer;
  constexpr int kMostReads = 64;
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t got = ::read(child_->err.get(), buffer.data(), buffer.size());
    if (got <= 0) return;
    err_.add({buffer.data(), static_cast<std::size_t>(got)});
  }
}

Worker::Wait Worker::wait_for_line(double seconds, std::string& line) {
  const auto deadline = deadline_in(seconds);
  bool is_err_open = true;
  std::array<char, 65536> buffer;
  for (std::size_t looked_at = 0;;) {
    const std::size_t end = pending_.find('\n', looked_at);
    if (end != pending_.npos) {
      line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return Wait::line;
    }
    looked_at = pending_.size();
    if (left_of(deadline) <= 0) return Wait::late;
    if (pending_.size() > kMostLine) return Wait::end;
    std::array<pollfd, 2> fds = {
        {{child_->out.get(), POLLIN, 0}, {is_err_open ? child_->err.get() : -1, POLLIN, 0}}};
    ::poll(fds.data(), fds.size(), milliseconds(left_of(deadline)));
    if ((fds[1].revents & POLLHUP) != 0) is_err_open = false;
    if (fds[1].revents != 0) take_error_output();
    if (fds[0].revents == 0) continue;
    const ssize_t got = ::read(child_->out.get(), buffer.data(), buffer.size());
    if (got > 0) pending_.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return Wait::end;
  }
}

}  // namespace cleave
