// Verdicts on programs: small shell scripts act as compilers.
#include "formats/run/backend/session.h"

#include <filesystem>

#include "tests/catch2.h"

namespace cleave {
namespace {

Backend shell_backend(const std::string& script) {
  Backend backend;
  backend.name = "fake";
  backend.compile = BackendCommand{.argv = {"/bin/sh", "-c", script}};
  return backend;
}

SessionOptions in_temporary_folder() {
  return {.folder = std::filesystem::temp_directory_path().string()};
}

// The verdict with its detail, then the message's lines.
std::string judged(const Backend& backend, const SessionOptions& options = in_temporary_folder()) {
  BackendSession session(backend, options);
  const Attempt attempt =
      session.run(LowerStage::compile, {.model = "/dev/null", .out = "/nonexistent/out"});
  return verdict_words(attempt) + (attempt.message.empty() ? "" : "\n" + attempt.message);
}

TEST_CASE("a program that ends with another status than 0 refuses the piece") {
  CHECK(judged(shell_backend("exit 0")) == "lowered");
  CHECK(judged(shell_backend("echo no Loop >&2; exit 3")) == "refused\nno Loop");
  CHECK(judged(shell_backend("echo no Loop; exit 3")) == "refused\nno Loop");
}

TEST_CASE("a program that ends by a signal crashed, and one that is killed ran out of memory") {
  CHECK(judged(shell_backend("kill -SEGV $$")) == "crashed (SIGSEGV)");
  CHECK(judged(shell_backend("kill -KILL $$")) == "out of memory");
}

TEST_CASE("a line of failed_if in either output refuses the piece, whatever the status") {
  Backend backend = shell_backend("echo fine; echo 'Error: Loop'; echo a note >&2");
  backend.failed_if = {"^Error", "^Fatal"};
  CHECK(judged(backend) == "refused\na note");
  backend.compile->argv.back() = "echo fine; echo 'Fatal: Loop' >&2";
  CHECK(judged(backend) == "refused\nFatal: Loop");
  backend.compile->argv.back() = "echo no Error; echo fine >&2";
  CHECK(judged(backend) == "lowered");
}

TEST_CASE("a pattern with repetitions in repetitions takes linear time") {
  Backend backend = shell_backend("printf '%060d\\n' 0 | tr 0 a");
  backend.failed_if = {"(a+)+b"};
  CHECK(judged(backend) == "lowered");
}

TEST_CASE("lines of any length and bytes of any encoding are matched") {
  Backend backend = shell_backend("printf '%090000d refus\\351 by it\\n' 0");
  backend.failed_if = {"refus.. by"};
  CHECK(judged(backend) == "lowered");
  backend.failed_if = {"refus. by"};
  CHECK(judged(backend).starts_with("refused"));
}

TEST_CASE("a line of failed_if and the first error are found in the middle of long output") {
  const std::string noise = "seq -f 'a line that says nothing, %g' 30000; ";
  Backend backend =
      shell_backend(noise + "echo 'error: no Loop'; " + noise + "echo 'gave up, error'; " + noise);
  CHECK(judged(backend) == "lowered");
  backend.failed_if = {"^gave up"};
  const std::string words = judged(backend);
  CHECK(words.starts_with("refused\na line"));
  CHECK(words.find("bytes left out]\nerror: no Loop\n\n[") != words.npos);
  CHECK(words.find("bytes left out]\ngave up, error\n\n[") != words.npos);
  BackendSession session(backend, in_temporary_folder());
  const Attempt attempt =
      session.run(LowerStage::compile, {.model = "/dev/null", .out = "/nonexistent/out"});
  CHECK(first_line(attempt.message, 80) == "error: no Loop");
}

TEST_CASE("a message begins at message_begin and is without the lines of message_drop") {
  Backend backend = shell_backend("printf 'start\\nERROR: a\\ndebug\\nb\\n\\n' >&2; exit 1");
  CHECK(judged(backend) == "refused\nstart\nERROR: a\ndebug\nb");
  backend.message_begin = "^ERROR";
  CHECK(judged(backend) == "refused\nERROR: a\ndebug\nb");
  backend.message_drop = "^debug";
  CHECK(judged(backend) == "refused\nERROR: a\nb");
  backend.message_begin = "nowhere";
  CHECK(judged(backend) == "refused\nstart\nERROR: a\ndebug\nb");
}

TEST_CASE("a program that did not write its output did not lower the piece") {
  Backend backend = shell_backend("echo done");
  backend.compile->produces = {"/nonexistent/piece.bin"};
  CHECK(judged(backend) == "no output\nexit status 0, but it did not write its output\ndone");
}

TEST_CASE("a program that does not start is a fault on our side") {
  Backend backend = shell_backend("");
  backend.compile->argv = {"/nonexistent/compiler"};
  CHECK(judged(backend) == "driver\n/nonexistent/compiler: No such file or directory");
}

TEST_CASE("only words of a launcher on lost machines mean that the machine was lost") {
  SessionOptions options = in_temporary_folder();
  const Backend refuses = shell_backend("echo no Loop >&2; exit 3");
  const Backend lost = shell_backend("echo srun: NODE FAILURE >&2; exit 3");
  CHECK(judged(lost, options) == "refused\nsrun: NODE FAILURE");
  options.launcher = {"/usr/bin/env"};
  CHECK(judged(refuses, options) == "refused\nno Loop");
  CHECK(judged(lost, options) == "lost\nsrun: NODE FAILURE");
  BackendSession session(lost, options);
  session.run(LowerStage::compile, {.model = "/dev/null", .out = "/nonexistent/out"});
  CHECK(session.calls() == 2);  // once more on another machine
}

TEST_CASE("a refusal on a full disk is no verdict on the piece") {
  const SessionOptions options{.folder = "/proc"};  // a file system without room
  CHECK(judged(shell_backend("echo cannot write >&2; exit 3"), options) == "no room\ncannot write");
  CHECK(judged(shell_backend("exit 0"), options) == "lowered");
}

}  // namespace
}  // namespace cleave
