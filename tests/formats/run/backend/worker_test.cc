#include "formats/run/backend/worker.h"

#include <csignal>

#include "tests/catch2.h"

using namespace cleave;

namespace {

ChildCommand shell(const std::string& text) {
  return {.argv = {"sh", "-c", text}, .environment = {"PATH=/usr/bin:/bin"}, .folder = "/tmp"};
}

}  // namespace

TEST_CASE("a worker answers, is restarted after a crash, and hangs no caller") {
  Worker worker(
      {.command = shell("echo '{\"ready\": \"w\", \"version\": \"1\"}'; while read line; do "
                        "case $line in *crash*) kill -ABRT $$;; *hang*) sleep 600;; "
                        "*) echo \"{\\\"ok\\\": true}\";; esac; done"),
       .start_timeout_seconds = 30});
  CHECK(worker.call("{\"op\": \"x\"}").text == "{\"ok\": true}");
  CHECK(worker.version() == "1");
  const WorkerAnswer crash = worker.call("{\"op\": \"crash\"}");
  CHECK(crash.kind == WorkerAnswer::Kind::died);
  CHECK(crash.is_signal);
  CHECK(crash.code == SIGABRT);
  CHECK(worker.call("{\"op\": \"x\"}").kind == WorkerAnswer::Kind::line);
}

TEST_CASE("a worker that hangs is ended, and one without greeting is not a worker") {
  ChildCommand command = shell("echo '{\"ready\": \"w\"}'; exec sleep 600");
  command.timeout_seconds = 0.2;
  Worker worker({.command = command});
  CHECK(worker.call("{}").kind == WorkerAnswer::Kind::timed_out);
  Worker mute(
      {.command = shell("echo hello; echo why >&2; sleep 600"), .start_timeout_seconds = 30});
  const WorkerAnswer answer = mute.call("{}");
  CHECK(answer.kind == WorkerAnswer::Kind::not_started);
  CHECK(answer.text == "its first line is not a greeting: hello");
}
