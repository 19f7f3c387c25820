#include "formats/run/backend/verdict_of_answer.h"

#include <csignal>
#include <filesystem>

#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
namespace {

Backend with_worker(std::uint64_t memory = 0) {
  Backend backend;
  backend.name = "w";
  backend.serve = BackendServe{.argv = {"w"}, .timeout_seconds = 90, .memory_bytes = memory};
  return backend;
}

Backend with_program(std::vector<std::string> argv = {"c", "{model}"}) {
  Backend backend;
  backend.name = "c";
  backend.compile = BackendCommand{.argv = std::move(argv), .timeout_seconds = 2};
  return backend;
}

using Kind = WorkerAnswer::Kind;

// What the worker's answer is judged to be: the verdict in words, the detail, the message.
std::string told(const Attempt& attempt) {
  return std::string(verdict_name(attempt.verdict)) + "|" + attempt.detail + "|" + attempt.message;
}

std::string of_worker(const WorkerAnswer& answer, const Backend& backend = with_worker(),
                      bool is_launched = false) {
  return told(AnswerJudge(backend, is_launched).of_worker(answer, {}));
}

std::string of_line(const std::string& line, const Backend& backend = with_worker()) {
  return of_worker({.kind = Kind::line, .text = line}, backend);
}

std::string of_program(const ChildResult& result, const Backend& backend = with_program(),
                       const PlaceholderValues& values = {}) {
  return told(AnswerJudge(backend, false).of_program(result, *backend.compile, values));
}

TEST_CASE("a worker's line says what became of the piece") {
  CHECK(of_line(R"({"ok": true})") == "lowered||");
  CHECK(of_line(R"({"ok": true, "nothing": true})") == "nothing to lower||");
  CHECK(of_line(R"({"ok": true, "nothing": 1})") == "lowered||");
  CHECK(of_line(R"({"ok": false, "stage": "compile", "error": "no Loop\n"})") ==
        "refused|compile|no Loop");
  CHECK(of_line(R"({"ok": false, "stage": "driver", "error": "no file"})") ==
        "driver|driver|no file");
  CHECK(of_line(R"({"ok": false, "error": "no stage"})") == "driver||no stage");
  CHECK(of_line(R"({"ok": 1, "stage": "run"})") == "refused|run|");
  CHECK(of_line(R"({"stage": "run", "error": 7})") == "refused|run|");
}

TEST_CASE("of what is left out the first is named, and the others are counted") {
  const std::string one = R"({"node": "n", "op": "f", "why": "too large"})";
  const std::string other = R"({"node": "m", "op": "g"})";
  CHECK(of_line("{\"ok\": true, \"left\": [" + one + "]}") ==
        "partly lowered||n (f) is left out: too large");
  CHECK(of_line("{\"ok\": true, \"nothing\": true, \"left\": [" + other + "]}") ==
        "partly lowered||m (g) is left out: no reason given");
  CHECK(of_line("{\"ok\": true, \"left\": [" + one + ", 7, " + other + ", " + other + "]}") ==
        "partly lowered||n (f) is left out: too large; and 2 more");
  CHECK(of_line(R"({"ok": true, "left": []})") == "lowered||");
  CHECK(of_line(R"({"ok": true, "left": 7})") == "lowered||");
  const Backend backend = with_worker();
  const std::string refusal =
      "{\"ok\": false, \"stage\": \"compile\", \"left\": [" + one + ", " + other + "]}";
  const Attempt attempt =
      AnswerJudge(backend, false).of_worker({.kind = Kind::line, .text = refusal}, {});
  REQUIRE(attempt.left.size() == 2);
  CHECK(attempt.left[0].why == "too large");
  CHECK(attempt.left[1].op == "g");
}

TEST_CASE("a worker that ends, is late or never starts is judged by how") {
  CHECK(of_worker({.kind = Kind::not_started, .text = "no such file"}) == "driver||no such file");
  CHECK(of_worker({.kind = Kind::garbled, .text = "hello"}) == "driver||hello");
  CHECK(of_worker({.kind = Kind::timed_out, .text = "busy"}) == "timed out|90 s|busy");
  CHECK(of_worker({.kind = Kind::died, .text = "", .is_signal = true, .code = SIGSEGV}) ==
        "crashed|SIGSEGV|");
  CHECK(of_worker({.kind = Kind::died, .text = "bye", .code = 3}) == "crashed|exit 3|bye");
  CHECK(of_worker({.kind = Kind::died, .is_signal = true, .code = SIGKILL}) ==
        "out of memory|SIGKILL|");
  CHECK(of_worker({.kind = Kind::died, .code = SIGKILL}) == "crashed|exit 9|");
  CHECK(of_worker({.kind = Kind::died, .text = "std::bad_alloc", .code = 1}) ==
        "out of memory|exit 1|std::bad_alloc");
}

TEST_CASE("words about memory are believed of a worker that has a limit") {
  const std::string line = R"({"ok": false, "stage": "compile", "error": "MemoryError"})";
  CHECK(of_line(line) == "refused|compile|MemoryError");
  CHECK(of_line(line, with_worker(1)) == "out of memory|compile|MemoryError");
  CHECK(of_line(R"({"ok": false, "stage": "compile", "error": "no Loop"})", with_worker(1)) ==
        "refused|compile|no Loop");
  CHECK(of_line(R"({"ok": false, "stage": "driver", "error": "MemoryError"})", with_worker(1)) ==
        "driver|driver|MemoryError");
}

TEST_CASE("only a launched worker is lost with its machine") {
  const WorkerAnswer died{.kind = Kind::died, .text = "srun: Node failure on n7", .code = 1};
  const WorkerAnswer none{.kind = Kind::not_started, .text = "Socket timed out"};
  CHECK(of_worker(died).starts_with("crashed"));
  CHECK(of_worker(died, with_worker(), true).starts_with("lost"));
  CHECK(of_worker(none).starts_with("driver"));
  CHECK(of_worker(none, with_worker(), true).starts_with("lost"));
  CHECK(of_worker({.kind = Kind::died, .text = "no Loop", .code = 1}, with_worker(), true)
            .starts_with("crashed"));
}

PieceFiles with_outputs(std::vector<NamedFile> outputs) {
  PieceFiles piece{.model = "m", .out = "o"};
  piece.outputs = std::move(outputs);
  return piece;
}

TEST_CASE("an output that a worker did not write is no output") {
  const TestFolder folder;
  const std::string made = folder.with_file("made.pb", "x");
  const Backend backend = with_worker();
  const AnswerJudge judge(backend, false);
  const WorkerAnswer good{.kind = Kind::line, .text = R"({"ok": true})"};
  CHECK(told(judge.of_worker(good, with_outputs({{"y", made}}))) == "lowered||");
  CHECK(told(judge.of_worker(good, with_outputs({{"y", made}, {"z", folder.path("none.pb")}}))) ==
        "no output||");
  const WorkerAnswer partly{.kind = Kind::line, .text = R"({"ok": true, "left": [{"node": "n"}]})"};
  CHECK(told(judge.of_worker(partly, with_outputs({{"z", folder.path("none.pb")}})))
            .starts_with("partly lowered"));
}

TEST_CASE("what a worker keeps is taken as it says, where it was asked") {
  const Backend backend = with_worker();
  const AnswerJudge judge(backend, false);
  const WorkerAnswer answer{.kind = Kind::line, .text = R"({"ok": true,
      "artefacts": [{"file": "a.onnx", "role": "main"}, 7, {"file": "a.bin", "role": "data"}],
      "inputs": ["x", 7], "outputs": ["y", "z"], "note": "why", "target": {"soc": "57", "n": 3}})"};
  PieceFiles asked{.model = "m", .out = "o"};
  asked.keeps = true;
  const KeptFiles kept = judge.of_worker(answer, asked).kept;
  REQUIRE(kept.files.size() == 2);
  CHECK(kept.files[0].name == "a.onnx");
  CHECK(kept.files[0].role == "main");
  CHECK(kept.files[1].role == "data");
  CHECK(kept.inputs == std::vector<std::string>{"x"});
  CHECK(kept.outputs == std::vector<std::string>{"y", "z"});
  CHECK(kept.note == "why");
  REQUIRE(kept.target.size() == 2);
  CHECK(kept.target[0] == std::pair<std::string, std::string>("n", "3"));
  CHECK(kept.target[1].second == "57");
  CHECK(judge.of_worker(answer, {}).kept.files.empty());
}

TEST_CASE("a program is judged by how it ends") {
  CHECK(of_program({.end = ChildEnd::exited}) == "lowered||");
  CHECK(of_program({.end = ChildEnd::exited, .out = "done"}) == "lowered||");
  CHECK(of_program({.end = ChildEnd::exited, .code = 3, .err = "no Loop"}) ==
        "refused|exit 3|no Loop");
  CHECK(of_program({.end = ChildEnd::timed_out, .err = "slow"}) == "timed out|2 s|slow");
  CHECK(of_program({.end = ChildEnd::signalled, .code = SIGABRT}) == "crashed|SIGABRT|");
  CHECK(of_program({.end = ChildEnd::signalled, .code = SIGKILL}) == "out of memory|SIGKILL|");
  CHECK(of_program({.end = ChildEnd::exited, .code = SIGKILL}) == "refused|exit 9|");
  CHECK(of_program({.end = ChildEnd::not_started, .code = 2}) ==
        "driver||c: No such file or directory");
  Backend limited = with_program();
  const ChildResult memory{.end = ChildEnd::exited, .code = 1, .err = "Cannot allocate memory"};
  CHECK(of_program(memory).starts_with("refused"));
  limited.compile->memory_bytes = 1;
  CHECK(of_program(memory, limited).starts_with("out of memory"));
}

TEST_CASE("files that a program should write must be there, and count as what it made") {
  const TestFolder folder;
  folder.with_file("o.a", "123");
  folder.with_file("o.b", "45");
  folder.with_file("o.empty", "");
  Backend backend = with_program({"c"});
  const PlaceholderValues values{.out = folder.path("o")};
  const auto made = [&](std::vector<std::string> files) {
    backend.compile->produces = std::move(files);
    return AnswerJudge(backend, false)
        .of_program({.end = ChildEnd::exited, .out = "done"}, *backend.compile, values);
  };
  CHECK(told(made({"{out}.a", "{out}.b"})) == "lowered||");
  CHECK(made({"{out}.a", "{out}.b"}).artefact_bytes == 5);
  CHECK(told(made({"{out}.a", "{out}.none"})) ==
        "no output||exit status 0, but it did not write its output\ndone");
  CHECK(told(made({"{out}.empty"})).starts_with("no output"));
  CHECK_FALSE(made({}).artefact_bytes);
}

TEST_CASE("a program whose words name its output must write that, or what begins so") {
  const TestFolder folder;
  const auto judged = [&](const std::string& out) {
    return of_program({.end = ChildEnd::exited}, with_program({"c", "-o{out}"}),
                      {.out = folder.path(out)});
  };
  CHECK(judged("piece").starts_with("no output"));
  folder.with_file("other.piece", "x");
  CHECK(judged("piece").starts_with("no output"));
  folder.with_file("piece.empty", "");
  CHECK(judged("piece").starts_with("no output"));
  folder.with_file("piece.xml", "x");
  CHECK(judged("piece") == "lowered||");
  folder.with_file("whole", "x");
  CHECK(judged("whole") == "lowered||");
  std::filesystem::create_directory(folder.path("folder"));
  CHECK(judged("folder").starts_with("no output"));
  folder.with_file("folder/a", "x");
  CHECK(judged("folder") == "lowered||");
}

TEST_CASE("the size is that of a regular file alone") {
  const TestFolder folder;
  CHECK(bytes_of_file(folder.with_file("a", "1234")) == 4);
  CHECK(bytes_of_file(folder.with_file("b", "")) == 0);
  CHECK_FALSE(bytes_of_file(folder.path("")));
  CHECK_FALSE(bytes_of_file(folder.path("none")));
}

}  // namespace
}  // namespace cleave
