#include "formats/base/io/worker_process.h"

#include <poll.h>

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

}  // namespace
}  // namespace cleave
