#include "formats/run/backend/worker.h"

#include <cerrno>
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

TEST_CASE("a worker is started again after as many calls as it may serve") {
  Worker worker(
      {.command = shell("echo '{\"ready\": \"w\", \"version\": 3}'; n=0; while read line; "
                        "do n=$((n + 1)); echo \"{\\\"n\\\": $n}\"; done"),
       .start_timeout_seconds = 30,
       .restart_after = 2});
  CHECK(worker.is_fresh());
  CHECK(worker.call("{}").text == "{\"n\": 1}");
  CHECK_FALSE(worker.is_fresh());
  CHECK(worker.version() == "unknown");
  CHECK(worker.call("{}").text == "{\"n\": 2}");
  CHECK(worker.call("{}").text == "{\"n\": 1}");
  worker.stop();
  CHECK(worker.call("{}").text == "{\"n\": 1}");
}

TEST_CASE("a line that is no object is garbled, and the next call has a new worker") {
  Worker worker({.command = shell("echo '{\"ready\": \"w\"}'; read line; echo '[1]'; read line; "
                                  "echo '{}'"),
                 .start_timeout_seconds = 30});
  const WorkerAnswer answer = worker.call("{}");
  CHECK(answer.kind == WorkerAnswer::Kind::garbled);
  CHECK(answer.text == "[1]");
  CHECK(worker.call("{}").kind == WorkerAnswer::Kind::garbled);
}

TEST_CASE("a worker that ends before a greeting, or is none, says why") {
  const auto started = [](const std::string& text) {
    Worker worker({.command = shell(text), .start_timeout_seconds = 30});
    const auto failure = worker.start();
    REQUIRE(failure);
    CHECK(failure->kind == WorkerAnswer::Kind::not_started);
    CHECK(failure->code == 0);
    return failure->text;
  };
  CHECK(started("echo no package >&2; exit 5") == "no package\n");
  CHECK(started("echo '{\"version\": \"1\"}'") ==
        "its first line is not a greeting: {\"version\": \"1\"}");
  CHECK(started("echo '[\"ready\"]'") == "its first line is not a greeting: [\"ready\"]");
  Worker none({.command = {.argv = {"/nonexistent/worker"}, .folder = "/tmp"}});
  const auto failure = none.start();
  REQUIRE(failure);
  CHECK(failure->text == "No such file or directory");
  CHECK(failure->code == ENOENT);
  Worker slow({.command = shell("echo waiting >&2; exec sleep 600"), .start_timeout_seconds = 1});
  const auto late = slow.start();
  REQUIRE(late);
  CHECK(late->text == "no greeting in time\nwaiting\n");
}

TEST_CASE("a large request and what a worker says on standard error pass at the same time") {
  Worker worker({.command = shell("echo '{\"ready\": \"w\"}'; seq 100000 >&2; while read line; do "
                                  "seq 100000 >&2; echo \"{\\\"size\\\": ${#line}}\"; done"),
                 .start_timeout_seconds = 30});
  const std::string request(300'000, 'x');
  CHECK(worker.call(request).text == "{\"size\": 300000}");
  CHECK(worker.call("{}").text == "{\"size\": 2}");
}
