#include "formats/report/words/progress_text.h"

#include "formats/base/text/text_layout.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

TEST_CASE("a progress line has a bar, the share, amounts, the rate and the time left") {
  CHECK(progress_line({"reading", "bytes", 52 * kMiB, 208 * kMiB}, "m.json", 1, 100) ==
        "reading m.json [#####...............] 25%, 52 MiB of 208 MiB, 52 MiB/s, 3 s left");
  CHECK(progress_line({"trying gaps", "splits", 30, 40}, "", 1.5, 100) ==
        "trying gaps [###############.....] 75%, 30 of 40 splits, 20/s, 1 s left");
}

TEST_CASE("a slow rate is given per minute") {
  CHECK(progress_line({"trying gaps", "splits", 2, 40}, "", 10, 100) ==
        "trying gaps [#...................] 5%, 2 of 40 splits, 12 a minute, 3 min 10 s left");
}

TEST_CASE("there is no rate before anything is done, and never more than 100%") {
  CHECK(progress_line({"splitting", "passes", 0, 9}, "m", 1, 100) ==
        "splitting m [....................] 0%, 0 of 9 passes");
  CHECK(progress_line({"writing", "bytes", 3000, 2000}, "", 1, 100) ==
        "writing [####################] 100%, 2.93 KiB of 1.95 KiB, 2.93 KiB/s, 0 s left");
  CHECK(progress_line({"writing", "bytes", 0, 0}, "", 1, 100) ==
        "writing [....................] 0%, 0 B of 0 B");
}

TEST_CASE("a progress line fits the terminal") {
  const WorkDone work{"reading", "bytes", 52 * kMiB, 208 * kMiB};
  CHECK(progress_line(work, "m.json", 1, 70) ==
        "reading m.json [##........] 25%, 52 MiB of 208 MiB, 52 MiB/s, 3 s left");
  CHECK(progress_line(work, "m.json", 1, 62) ==
        "reading m.json 25%, 52 MiB of 208 MiB, 52 MiB/s, 3 s left");
  const std::string name(200, 'x');
  for (std::size_t columns = 4; columns < 120; ++columns) {
    CHECK(text_columns(progress_line(work, name, 1, columns)) <= columns);
  }
}

TEST_CASE("a line for a log says what is done, and since when") {
  CHECK(log_line({"round 1, compile", "partitions", 2, 17}, "m.onnx", 90) ==
        "round 1, compile m.onnx: 2 of 17 partitions, 1 min 30 s so far");
  CHECK(log_line({"", "", 0, 0}, "m\n.onnx", 30) == "starting m\\x0A.onnx, 30 s so far");
}

TEST_CASE("a file's name cannot write to the terminal") {
  const std::string line = progress_line({"reading", "bytes", 1, 2}, "a\x1b[2J\n.json", 1, 100);
  CHECK(line.find('\x1b') == std::string::npos);
  CHECK(line.find('\n') == std::string::npos);
}

TEST_CASE("the time left is given in the two largest units") {
  CHECK(time_left_text(0) == "0 s");
  CHECK(time_left_text(2.1) == "3 s");
  CHECK(time_left_text(59.5) == "1 min 0 s");
  CHECK(time_left_text(3599) == "59 min 59 s");
  CHECK(time_left_text(7500) == "2 h 5 min");
  CHECK(time_left_text(1e300) == "277,777 h 46 min");
}

TEST_CASE("the bar takes the columns that are left, from 8 to 20, and none where there are fewer") {
  const WorkDone work{"reading", "bytes", 52 * kMiB, 208 * kMiB};
  // 15 columns of the task with a blank, 2 brackets and a blank, 44 of the numbers.
  const std::string numbers = "25%, 52 MiB of 208 MiB, 52 MiB/s, 3 s left";
  const std::size_t others = std::string("reading m.json [] ").size() + numbers.size();
  const auto line = [&](std::size_t columns) { return progress_line(work, "m.json", 1, columns); };
  CHECK(line(others + 8) == "reading m.json [##......] " + numbers);
  CHECK(line(others + 7) == "reading m.json " + numbers);
  CHECK(line(others + 20) == "reading m.json [#####...............] " + numbers);
  CHECK(line(others + 21) == line(others + 20));
  CHECK(line(3).size() <= 4);
}

TEST_CASE("a rate below ten a second is one per minute, but of bytes") {
  const auto rate = [](std::uint64_t done, double seconds, const char* unit) {
    const std::string line = progress_line({"t", unit, done, 1000}, "", seconds, 200);
    const std::size_t at = line.find(unit == std::string("bytes") ? "B, " : "s, ") + 3;
    return line.substr(at, line.find(", ", at) - at);
  };
  CHECK(rate(100, 10, "splits") == "10/s");
  CHECK(rate(99, 10, "splits") == "594 a minute");
  CHECK(rate(50, 10, "bytes") == "5 B/s");
  CHECK(progress_line({"t", "splits", 1, 2}, "", 0, 100) ==
        "t [##########..........] 50%, 1 of 2 splits");
}

TEST_CASE("a line for a log has amounts where there is an end, in their unit") {
  CHECK(log_line({"write", "bytes", kMiB, 3 * kMiB}, "", 1) == "write: 1 MiB of 3 MiB, 1 s so far");
  CHECK(log_line({"write", "bytes", 1, 0}, "m", 1) == "write m, 1 s so far");
}

TEST_CASE("a time left is counted up to seconds, and has minutes and hours from one on") {
  CHECK(time_left_text(-5) == "0 s");
  CHECK(time_left_text(0.01) == "1 s");
  CHECK(time_left_text(59) == "59 s");
  CHECK(time_left_text(60) == "1 min 0 s");
  CHECK(time_left_text(61) == "1 min 1 s");
  CHECK(time_left_text(3600) == "1 h 0 min");
  CHECK(time_left_text(3660) == "1 h 1 min");
}

}  // namespace
}  // namespace cleave
