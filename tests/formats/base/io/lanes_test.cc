#include "formats/base/io/lanes.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "tests/catch2.h"

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
