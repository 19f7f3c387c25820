#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "formats/base/files.h"
#include "formats/base/process.h"
#include "tests/catch2.h"

// ---- child test ----

using namespace cleave;

namespace {

ChildCommand shell(const std::string& text) {
  return {.argv = {"sh", "-c", text}, .environment = {"PATH=/usr/bin:/bin"}, .folder = "/tmp"};
}

// Zombies count: a process that was not waited for is left behind.
bool is_there(const std::string& pid) { return std::ifstream("/proc/" + pid + "/stat").good(); }

std::string line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

TEST_CASE("a child has its own environment, session and input") {
  const ChildResult result =
      run_child(shell("env | grep -v -e PWD -e _= -e SHLVL | sort | cut -d= -f1; "
                      "cat; pwd; exit 3"));
  CHECK(result.end == ChildEnd::exited);
  CHECK(result.code == 3);
  CHECK(result.out == "CLEAVE_CHILD\nPATH\n/tmp\n");
}

TEST_CASE("a missing program is reported by errno") {
  const ChildResult result = run_child({.argv = {"no-such-program"}, .environment = {"PATH=/bin"}});
  CHECK(result.end == ChildEnd::not_started);
  CHECK(result.code == ENOENT);
}

TEST_CASE("a child that crashes is reported by its signal") {
  const ChildResult result = run_child(shell("kill -SEGV $$"));
  CHECK(result.end == ChildEnd::signalled);
  CHECK(result.code == SIGSEGV);
}

TEST_CASE("a child that hangs and ignores SIGTERM is killed") {
  ChildCommand command = shell("trap '' TERM; echo $$; while :; do sleep 0.1; done");
  command.timeout_seconds = 0.3;
  const ChildResult result = run_child(command);
  CHECK(result.end == ChildEnd::timed_out);
  CHECK_FALSE(is_there(line_of(result.out)));
  CHECK(result.seconds < 20);
}

TEST_CASE("a child ends when the process that started it is killed") {
  const std::string pipe = "/tmp/cleave_child_test." + std::to_string(::getpid());
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const pid_t starter = ::fork();
  REQUIRE(starter >= 0);
  if (starter == 0) {
    run_child(shell("exec sleep 600 > " + pipe));
    std::_Exit(0);
  }
  const int end = ::open(pipe.c_str(), O_RDONLY);  // waits for the child
  ::unlink(pipe.c_str());
  ::kill(starter, SIGKILL);
  ::waitpid(starter, nullptr, 0);
  ::pollfd source = {.fd = end, .events = POLLIN, .revents = 0};
  CHECK(::poll(&source, 1, 10'000) == 1);
  CHECK((source.revents & POLLHUP) != 0);
  ::close(end);
}

TEST_CASE("a child does not outlive the process that started it, whenever that is killed") {
  const std::string pipe = "/tmp/cleave_child_test.early." + std::to_string(::getpid());
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int end = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ::close(::open(pipe.c_str(), O_WRONLY));  // from now on it tells that nobody writes
  for (int i = 0; i < 150; ++i) {
    const pid_t starter = ::fork();
    REQUIRE(starter >= 0);
    if (starter == 0) {
      const itimerval soon = {{0, 0}, {0, 20 + 4 * i}};  // ends it while it starts the child
      ::setitimer(ITIMER_REAL, &soon, nullptr);
      run_child(shell("exec sleep 600 > " + pipe));
      std::_Exit(0);
    }
    ::waitpid(starter, nullptr, 0);
  }
  // Who still starts ends soon; a child that lives on holds the pipe.
  const auto is_held = [&] {
    ::pollfd source = {.fd = end, .events = POLLIN, .revents = 0};
    ::poll(&source, 1, 0);
    return (source.revents & POLLHUP) == 0;
  };
  ::usleep(300'000);
  for (int i = 0; i < 100 && is_held(); ++i) ::usleep(100'000);
  CHECK_FALSE(is_held());
  ::close(end);
  ::unlink(pipe.c_str());
}

TEST_CASE("grandchildren that hold the output or leave the group are ended") {
  const auto begin = std::chrono::steady_clock::now();
  const ChildResult result = run_child(
      shell("sleep 600 & echo $!; setsid sh -c 'echo $$; exec sleep 601' & sleep 0.3; exit 0"));
  CHECK(result.end == ChildEnd::exited);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
  const std::string first = line_of(result.out);
  const std::string second = line_of(result.out.substr(first.size() + 1));
  REQUIRE_FALSE(second.empty());
  CHECK_FALSE(is_there(first));
  CHECK_FALSE(is_there(second));
}

TEST_CASE("a flood of output is read and cut") {
  const ChildResult result = run_child(shell("head -c 50000000 /dev/zero | tr '\\0' x; echo end"));
  CHECK(result.end == ChildEnd::exited);
  CHECK(result.out.ends_with("end\n"));
  CHECK(result.out.size() < 3 * KeptOutput::kKept);
}

TEST_CASE("limits of memory and of files hold") {
  ChildCommand command = shell(
      "head -c 3000000 /dev/zero > /tmp/cleave_child_test; echo $?; "
      "wc -c < /tmp/cleave_child_test; rm /tmp/cleave_child_test");
  command.file_bytes = 1000000;
  CHECK(run_child(command).out.find("1000000") != std::string::npos);
}

namespace cleave {

// ---- heap test ----

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHasOwnHeap = true;
#elif defined(__has_feature)
constexpr bool kHasOwnHeap = __has_feature(address_sanitizer);
#else
constexpr bool kHasOwnHeap = false;
#endif

long page_faults() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// Page faults while writing all of a new table of 96 MiB.
long faults_of_table() {
  const long before = page_faults();
  const std::vector<char> table(std::size_t{96} << 20U, 'x');
  CHECK(table.back() == 'x');
  return page_faults() - before;
}

TEST_CASE("the memory of a large table serves the next one") {
  if (kHasOwnHeap) return;  // a sanitizer's heap, which has other rules
  keep_freed_memory();
  prefer_large_pages(std::size_t{96} << 20U);
  faults_of_table();
  CHECK(faults_of_table() < 100);  // of 24,576 pages
}

TEST_CASE("large pages cannot be asked for more memory than there is") {
  prefer_large_pages(static_cast<std::size_t>(-1) / 2);
  CHECK(faults_of_table() >= 0);
}

}  // namespace

}  // namespace cleave

// ---- lanes test ----

using namespace cleave;

TEST_CASE("each item is done once, whatever the number of items") {
  for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 1000U}) {
    std::vector<std::atomic<int>> times(count);
    const std::size_t stopped = do_each(count, [&](std::size_t i) {
      ++times[i];
      return true;
    });
    CHECK(stopped == count);
    CHECK(std::all_of(times.begin(), times.end(), [](const auto& n) { return n == 1; }));
  }
}

TEST_CASE("the lowest item that stops the work is returned, and all before it are done") {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::atomic<bool>> is_done(500);
    const std::size_t stopped = do_each(is_done.size(), [&](std::size_t i) {
      is_done[i] = true;
      return i % 100 != 99;
    });
    CHECK(stopped == 99);
    CHECK(std::all_of(is_done.begin(), is_done.begin() + 100,
                      [](const auto& done) -> bool { return done; }));
    CHECK_FALSE(is_done.back());
  }
}

TEST_CASE("the exception of the lowest item is thrown") {
  const auto work = [](std::size_t i) -> bool {
    if (i == 40) throw std::runtime_error("forty");
    if (i >= 41) throw std::runtime_error("later");
    return true;
  };
  CHECK_THROWS_WITH(do_each(400, work), "forty");
  CHECK_THROWS_AS(do_each(1, [](std::size_t) -> bool { throw std::logic_error("one"); }),
                  std::logic_error);
}

namespace {

// Jobs that add their number and count, of which those of `failing` throw it.
std::vector<Lanes::Job> jobs_of(std::size_t count, std::atomic<std::size_t>& done,
                                const std::vector<std::size_t>& failing = {}) {
  std::vector<Lanes::Job> jobs;
  for (std::size_t i = 0; i < count; ++i) {
    const bool fails = std::find(failing.begin(), failing.end(), i) != failing.end();
    jobs.emplace_back([&done, i, fails](std::size_t) {
      if (fails) throw std::runtime_error(std::to_string(i));
      ++done;
    });
  }
  return jobs;
}

}  // namespace

TEST_CASE("an exception of a job reaches the caller, and the lanes go on with later jobs") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
    Lanes lanes(count);
    CHECK(lanes.count() == std::max<std::size_t>(count, 1));
    std::atomic<std::size_t> done = 0;
    CHECK_THROWS_WITH(lanes.do_all(jobs_of(100, done, {7, 8, 50})), "7");
    CHECK(done >= 7);
    CHECK(done < 100);
    done = 0;
    lanes.do_all(jobs_of(100, done));
    CHECK(done == 100);
    done = 0;
    CHECK_THROWS_WITH(lanes.on_each([](std::size_t lane) {
      throw std::runtime_error("of lane " + std::to_string(lane));
    }),
                      "of lane 0");
    lanes.on_each([&](std::size_t) { ++done; });
    CHECK(done == lanes.count());
  }
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("where the system starts fewer threads, fewer do all jobs") {
  const pid_t child = ::fork();
  if (child == 0) {
    std::ifstream memory("/proc/self/statm");
    rlim_t pages = 0;
    memory >> pages;
    const rlim_t bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
    rlimit stacks = {};
    ::getrlimit(RLIMIT_STACK, &stacks);
    const rlim_t room = bytes + 4 * std::min<rlim_t>(stacks.rlim_cur, rlim_t{64} << 20U);
    const rlimit limit = {room, room};
    ::setrlimit(RLIMIT_AS, &limit);
    Lanes lanes(64);
    std::atomic<std::size_t> done = 0;
    lanes.do_all(jobs_of(100, done));
    ::_exit(lanes.count() < 64 && done == 100 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif

namespace cleave {

// ---- ticker test ----

namespace {

TEST_CASE("a ticker calls again and again, and not after its end") {
  std::atomic<int> calls = 0;
  {
    const Ticker ticker(0.001, [&calls] { ++calls; });
    while (calls < 3) std::this_thread::yield();
  }
  const int at_end = calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(calls == at_end);
}

TEST_CASE("a ticker ends at once, however long it would wait") {
  std::atomic<int> calls = 0;
  {
    const Ticker ticker(1e6, [&calls] { ++calls; });
  }
  CHECK(calls == 0);
}

}  // namespace

// ---- worker process test ----

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
  errno = EINTR;  // left by an earlier call; waiting was not interrupted
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
