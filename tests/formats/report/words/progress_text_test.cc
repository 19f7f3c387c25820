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

}  // namespace
}  // namespace cleave
