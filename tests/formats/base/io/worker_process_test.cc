#include "formats/base/io/worker_process.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "tests/catch2.h"

namespace cleave {
namespace {

constexpr std::uint64_t kMuch = std::uint64_t{1} << 30;

std::string shout(const std::string& request) {
  if (request == "crash") std::raise(SIGKILL);
  if (request == "leave") std::_Exit(3);
  if (request == "hang") {
    while (true) ::poll(nullptr, 0, 1000);
  }
  if (request == "grow") {
    std::vector<std::string> all;
    while (true) all.emplace_back(std::size_t{1} << 24, 'x');
  }
  return request + "!";
}

ProcessAnswer answer_of(WorkerProcess& worker) {
  while (true) {
    ::pollfd source = {.fd = worker.descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&source, 1, -1);
    if (auto answer = worker.take()) return *std::move(answer);
  }
}

ProcessAnswer ask(WorkerProcess& worker, const std::string& request) {
  REQUIRE(worker.give(request));
  return answer_of(worker);
}

TEST_CASE("A worker answers request after request, of any length") {
  WorkerProcess worker(shout, kMuch);
  CHECK(ask(worker, "a").text == "a!");
  CHECK(ask(worker, "").text == "!");
  const std::string large(3'000'000, 'x');
  CHECK(ask(worker, large).text == large + "!");
  CHECK_FALSE(worker.is_busy());
}

TEST_CASE("A worker that crashes or exits loses only its request") {
  WorkerProcess worker(shout, kMuch);
  const ProcessAnswer crashed = ask(worker, "crash");
  CHECK_FALSE(crashed.text);
  CHECK(crashed.signal == SIGKILL);
  CHECK(ask(worker, "a").text == "a!");
  const ProcessAnswer left = ask(worker, "leave");
  CHECK_FALSE(left.text);
  CHECK(left.signal == 0);
  CHECK(ask(worker, "b").text == "b!");
}

TEST_CASE("A worker that hangs can be stopped, and works again") {
  WorkerProcess worker(shout, kMuch);
  REQUIRE(worker.give("hang"));
  CHECK_FALSE(worker.take());
  CHECK(worker.is_busy());
  worker.stop();
  CHECK_FALSE(worker.is_busy());
  CHECK(ask(worker, "a").text == "a!");
}

TEST_CASE("A worker that takes too much memory ends") {
  WorkerProcess worker(shout, std::uint64_t{200} << 20);
  CHECK_FALSE(ask(worker, "grow").text);
  CHECK(ask(worker, "a").text == "a!");
}

// A copy of this process starts a worker that never answers, and ends by SIGKILL. `held` is the
// writing end of a pipe that the copy has as standard output.
void die_with_a_busy_worker(int held) {
  const pid_t copy = ::fork();
  REQUIRE(copy >= 0);
  if (copy == 0) {
    ::dup2(held, STDOUT_FILENO);
    ::close(held);
    WorkerProcess worker(shout, kMuch);
    worker.give("hang");
    std::raise(SIGKILL);
  }
  ::waitpid(copy, nullptr, 0);
}

TEST_CASE("Nobody waits for the worker of a process that is gone") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  for (int i = 0; i < 20; ++i) die_with_a_busy_worker(ends[1]);  // before or after it is set up
  ::close(ends[1]);
  ::pollfd source = {.fd = ends[0], .events = POLLIN, .revents = 0};
  CHECK(::poll(&source, 1, 10'000) == 1);
  CHECK((source.revents & POLLHUP) != 0);
  ::close(ends[0]);
}

TEST_CASE("A busy worker does not outlive its process, whenever that ends") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  for (int i = 0; i < 50; ++i) {  // mostly before the worker is set up
    const pid_t copy = ::fork();
    REQUIRE(copy >= 0);
    if (copy == 0) {
      WorkerProcess worker(shout,
                           kMuch);  // it inherits the writing end, and holds it while it lives
      worker.give("hang");
      if (i % 2 == 1) ::usleep(2000);  // after
      std::raise(SIGKILL);
    }
    ::waitpid(copy, nullptr, 0);
  }
  ::close(ends[1]);
  ::pollfd source = {.fd = ends[0], .events = POLLIN, .revents = 0};
  CHECK(::poll(&source, 1, 10'000) == 1);
  CHECK((source.revents & POLLHUP) != 0);
  ::close(ends[0]);
}

TEST_CASE("A worker ends when its process ends, also while it waits for a request") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t copy = ::fork();
  REQUIRE(copy >= 0);
  if (copy == 0) {
    WorkerProcess worker(shout, kMuch);  // it inherits the writing end, and holds it while it lives
    worker.give("a");
    answer_of(worker);
    std::raise(SIGKILL);
  }
  ::close(ends[1]);
  ::waitpid(copy, nullptr, 0);
  ::pollfd source = {.fd = ends[0], .events = POLLIN, .revents = 0};
  CHECK(::poll(&source, 1, 10'000) == 1);
  ::close(ends[0]);
}

}  // namespace
}  // namespace cleave
