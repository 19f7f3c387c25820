#include "formats/run/backend/attempt.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("a line that lasts has no names of temporary files, and no addresses") {
  CHECK(lasting_line("error: /tmp/.cleave-4711-0/lane_0/piece_12.onnx: no Loop at 0x7ffe0012ab",
                     80) == "error: {model}: no Loop at 0x...");
  CHECK(lasting_line("Impossible to unify Sym(N) with Val(2) in /usr/lib/x.so, code 0x12", 80) ==
        "Impossible to unify Sym(N) with Val(2) in /usr/lib/x.so, code 0x12");
  CHECK(lasting_line(std::string(1 << 20, '/'), 20).size() <= 22);
}

TEST_CASE("The first line of a message is shown, cut to the columns that there are") {
  CHECK(first_line("bad op\nmore", 80) == "bad op");
  CHECK(first_line("\n  bad op", 80) == "bad op");
  CHECK(first_line("", 80).empty());
  CHECK(first_line("0123456789abcdef", 10).size() <= 12);
}

TEST_CASE("A traceback of Python is passed over: the exception is shown") {
  CHECK(first_line("Traceback (most recent call last):\n  File \"a.py\", line 1\n    f()\n"
                   "ValueError: no such op\n",
                   80) == "ValueError: no such op");
  // One that is cut off is all that there is.
  CHECK(first_line("Traceback (most recent call last):\n  File \"a.py\"\n", 80) ==
        "Traceback (most recent call last):");
}

TEST_CASE("The line that says what is wrong is shown, not warnings before it") {
  CHECK(first_line("warning: not aligned\ninfo: placing\nERROR: no Loop\nerror: 1 error", 80) ==
        "ERROR: no Loop");
}

TEST_CASE("The place of a panic in Rust is passed over: its reason is shown") {
  CHECK(first_line("thread '<unnamed>' (31578) panicked at lib.rs:1:13:\nindex out of bounds\n",
                   80) == "index out of bounds");
  CHECK(first_line("thread 'main' panicked at lib.rs:1:13:\n", 80) ==
        "thread 'main' panicked at lib.rs:1:13:");
}

TEST_CASE("A verdict says what is known of a crash and of a timeout") {
  CHECK(verdict_words({.verdict = LowerVerdict::crashed, .detail = "SIGSEGV"}) ==
        "crashed (SIGSEGV)");
  CHECK(verdict_words({.verdict = LowerVerdict::timed_out, .detail = "2 s"}) ==
        "timed out after 2 s");
  CHECK(verdict_words({.verdict = LowerVerdict::refused}) == "refused");
}

TEST_CASE("each sign of a device that is in use is known, and nothing else") {
  for (const char* const sign : {"device /dev/npu0 is busy", "device busy", "resource busy",
                                 "EBUSY", "in use by another process", "already in use"}) {
    CHECK(tells_of_busy("error: " + std::string(sign) + " (1)"));
  }
  CHECK_FALSE(tells_of_busy("op Busy is not supported"));
}

TEST_CASE("an address has six digits or more, and a path of a temporary folder ends at a quote") {
  CHECK(lasting_line("at 0x12345 and 0x123456", 80) == "at 0x12345 and 0x...");
  CHECK(lasting_line("0xABCDEFg", 80) == "0x...g");
  for (const char end : std::string(" '\"`:,;()<>[]")) {
    CHECK(lasting_line("in /tmp/.cleave-1/piece.onnx" + std::string(1, end) + "x", 80) ==
          "in {model}" + std::string(1, end) + "x");
  }
  CHECK(lasting_line("in /tmp/cleave-1/piece.onnx", 80) == "in /tmp/cleave-1/piece.onnx");
}

}  // namespace
}  // namespace cleave
