#include "formats/base/io/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "formats/base/io/kept_output.h"
#include "tests/catch2.h"

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
