#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "formats/run/backend/backend.h"
#include "tests/catch2.h"
#include "tests/formats/base/test_folder.h"

namespace cleave {

// ---- attempt test ----

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

// ---- session test ----
//
// Verdicts on programs: small shell scripts act as compilers.

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

// A backend with a worker that writes what it is asked into "asked", and then runs the script.
Backend asking_backend(const TestFolder& folder, const std::string& script) {
  Backend backend;
  backend.name = "fake";
  backend.serve = BackendServe{.argv = {"/bin/sh", "-c",
                                        "echo '{\"ready\": \"w\", \"version\": \"7\"}'; while read "
                                        "-r line; do echo \"$line\" >> " +
                                            folder.path("asked") + "; " + script + "; done"},
                               .ops = {"check", "compile", "run"}};
  return backend;
}

constexpr const char* kAgrees = "echo '{\"ok\": true}'";

TEST_CASE("a worker is asked with what its stage takes") {
  const TestFolder folder;
  const Backend backend = asking_backend(folder, kAgrees);
  BackendSession session(backend, {.folder = folder.path("")});
  PieceFiles piece{.model = "m",
                   .out = "o",
                   .inputs = {{"x", "x.pb"}},
                   .outputs = {{"y", "/dev/null"}},
                   .seed = 7};
  session.run(LowerStage::check, piece);
  session.run(LowerStage::run, piece);
  piece.pins = true;
  session.run(LowerStage::compile, piece);
  piece.keeps = true;
  session.run(LowerStage::run, piece);
  session.request("capture", "{\"of\": \"m\"}");
  const std::string x = R"("inputs":[{"file":"x.pb","name":"x"}],)";
  const std::string y = R"("outputs":[{"file":"/dev/null","name":"y"}],)";
  CHECK(folder.content("asked") ==
        R"({"inputs":[],"model":"m","op":"check","out":"o","outputs":[],"seed":7})"
        "\n{" +
            x + R"("model":"m","op":"run","out":"o",)" + y + "\"seed\":7}\n{" + x +
            R"("model":"m","op":"compile","out":"o","outputs":[],"pin":true,"seed":7})"
            "\n{" +
            x + R"("keep":true,"model":"m","op":"run","out":"o",)" + y +
            "\"pin\":true,\"seed\":7}\n{\"of\":\"m\",\"op\":\"capture\"}\n");
  CHECK(session.calls() == 4);
}

TEST_CASE("a worker that dies or says no object is asked once more, one that is late is not") {
  const auto asked = [](const std::string& script, double seconds = 60) {
    const TestFolder folder;
    Backend backend = asking_backend(folder, script);
    backend.serve->timeout_seconds = seconds;
    BackendSession session(backend, {.folder = folder.path("")});
    const Attempt attempt = session.run(LowerStage::compile, {.model = "m", .out = "o"});
    const std::string lines = folder.content("asked");
    CHECK(session.calls() == static_cast<std::size_t>(std::ranges::count(lines, '\n')));
    return verdict_words(attempt) + ", " + std::to_string(session.calls());
  };
  // At the second time the file is there.
  const std::string second = "if test -e once; then echo '{\"ok\": true}'; else touch once; ";
  CHECK(asked(kAgrees) == "lowered, 1");
  CHECK(asked(second + "kill -ABRT $$; fi") == "lowered, 2");
  CHECK(asked(second + "echo hello; fi") == "lowered, 2");
  CHECK(asked(second + "exec sleep 600; fi", 0.5) == "timed out after 500 ms, 1");
  CHECK(asked("exit 3") == "crashed (exit 3), 2");
  CHECK(asked("echo '{\"ok\": false, \"stage\": \"compile\"}'") == "refused, 1");
}

TEST_CASE("a model that is too large is not passed to the backend") {
  const TestFolder folder;
  Backend backend = asking_backend(folder, kAgrees);
  BackendSession session(backend, {.folder = folder.path("")});
  const auto compiled = [&](std::uint64_t most) {
    backend.model_bytes = most;
    return verdict_words(session.compile({.model = folder.path("m"), .out = "o"}));
  };
  CHECK(compiled(1) == "lowered");  // there is no such file
  folder.with_file("m", "1234");
  CHECK(compiled(0) == "lowered");
  CHECK(compiled(4) == "lowered");
  CHECK(session.calls() == 6);
  CHECK(compiled(3) == "too large");
  CHECK(session.calls() == 6);
}

TEST_CASE("a piece is checked, then compiled, as far as the backend goes and the first refusal") {
  const TestFolder folder;
  Backend backend;
  BackendSession session(backend, {.folder = folder.path("")});
  const auto compiled = [&](int check, int compile) {
    const auto program = [](const std::string& word, int code) -> std::optional<BackendCommand> {
      if (code < 0) return std::nullopt;
      return BackendCommand{
          .argv = {"/bin/sh", "-c", "echo " + word + "; exit " + std::to_string(code)}};
    };
    backend.check = program("checks", check);
    backend.compile = program("compiles", compile);
    const Attempt attempt = session.compile({.model = "m", .out = "o"});
    return verdict_words(attempt) + " " + std::string(lower_stage_name(attempt.stage)) + " " +
           attempt.message;
  };
  CHECK(compiled(0, 0) == "lowered compile ");
  CHECK(compiled(1, 0) == "refused check checks");
  CHECK(compiled(0, 1) == "refused compile compiles");
  CHECK(compiled(-1, 1) == "refused compile compiles");
  CHECK(compiled(0, -1) == "lowered check ");
  CHECK(session.calls() == 7);
}

TEST_CASE("a backend is called what it calls itself") {
  const TestFolder folder;
  const auto identity = [&](Backend backend, std::vector<std::string> launcher = {}) {
    BackendSession session(backend, {.launcher = std::move(launcher), .folder = folder.path("")});
    const auto made = session.identity();
    CHECK(session.seconds() >= 0);
    return made ? *made : "error: " + made.error().message;
  };
  const auto says = [&](const std::string& script) {
    Backend backend = asking_backend(folder, kAgrees);
    backend.identity = {"/bin/sh", "-c", script};
    return backend;
  };
  CHECK(identity({}).empty());
  CHECK(identity(asking_backend(folder, kAgrees)) == "7");
  CHECK(identity(says("echo 'one 2'; echo more")) == "one 2");
  CHECK(identity(says("echo why >&2; exit 3")) == "error: \"identity\" fails: why");
  CHECK(identity(says("echo why >&2; kill -ABRT $$")) == "error: \"identity\" fails: why");
  Backend none;
  none.identity = {"/nonexistent/c"};
  CHECK(identity(none) == "error: /nonexistent/c: No such file or directory");
  none.identity.clear();
  none.serve = BackendServe{.argv = {"/bin/sh", "-c", "echo; echo no package >&2; exit 1"}};
  CHECK(identity(none) == "error: its first line is not a greeting:");
  // A machine that is lost is asked for once more.
  const std::string lost = "echo x >> times; echo Node failure >&2; exit 1";
  CHECK(identity(says(lost), {"/usr/bin/env"}) == "error: \"identity\" fails: Node failure");
  CHECK(folder.content("times") == "x\nx\n");
  CHECK(identity(says(lost)) == "error: \"identity\" fails: Node failure");
  CHECK(folder.content("times") == "x\nx\nx\n");
}

TEST_CASE("a backend has of the environment what its file passes and sets") {
  Backend backend = shell_backend("test \"$FIRST$PASSED$OTHER\" = 12");
  backend.environment.set = {{"FIRST", "1"}};
  backend.environment.pass = {"PATH", "PASSED", "NOT_THERE"};
  ::setenv("PASSED", "2", 1);
  ::setenv("OTHER", "3", 1);
  CHECK(judged(backend) == "lowered");
  backend.environment.pass.emplace_back("OTHER");
  CHECK(judged(backend) == "refused");
}

TEST_CASE("a verdict holds for the files that a backend is made of, and no others") {
  const TestFolder folder;
  Backend backend;
  backend.folder = folder.path("");
  const auto file = [&](const std::string& name) { return folder.path(name); };
  backend.serve = BackendServe{.argv = {"/bin/sh", file("s.py"), "t.py", file("data")}};
  backend.check = BackendCommand{.argv = {"{here}/c.json", file("none.sh")}};
  backend.run = BackendCommand{.argv = {file("r.toml"), file("")}};
  backend.environment.pass = {"PASSED"};
  ::setenv("PASSED", "2", 1);
  const auto hash = [&] {
    return BackendSession(backend, {.folder = folder.path("")}).made_with();
  };
  for (const char* const name : {"s.py", "t.py", "data", "c.json", "r.toml", "beside.sh"}) {
    folder.with_file(name, "1");
  }
  std::string last = hash();
  const auto differs = [&] { return std::exchange(last, hash()) != last; };
  CHECK_FALSE(differs());
  // t.py is beside a script that may import it.
  for (const char* const name : {"s.py", "t.py", "c.json", "r.toml"}) {
    CHECK_FALSE(differs());
    folder.with_file(name, "2");
    CHECK(differs());
  }
  for (const char* const name : {"data", "beside.sh"}) folder.with_file(name, "2");
  CHECK_FALSE(differs());
  folder.with_file("new.py", "1");
  CHECK(differs());
  std::filesystem::permissions(file("data"), std::filesystem::perms::owner_all);
  CHECK(differs());
  ::setenv("PASSED", "3", 1);
  CHECK(differs());
}

// What a program that is given x (float32 (2)) and z makes of them: the verdict and the outputs.
std::string ran(TensorFormat format, const std::string& script, bool has_inputs = true) {
  const TestFolder folder;
  const Tensor x{.name = "x", .dtype = DType::float32, .dims = {2}, .bytes = "abcdefgh"};
  const Tensor z{.name = "z", .dtype = DType::int8, .dims = {}, .bytes = "z"};
  PieceFiles piece{.model = "m", .out = folder.path("o"), .seed = 5};
  piece.inputs = {{"x", folder.with_file("x.pb", encode_tensor(x))}, {"z", folder.path("z.pb")}};
  piece.outputs = {{"y", folder.path("y.pb")}, {"u", folder.path("u.pb")}};
  if (has_inputs) folder.with_file("z.pb", encode_tensor(z));
  Backend backend;
  backend.tensors = format;
  backend.run = BackendCommand{.argv = {"/bin/sh", "-c", script, "sh", "{inputs}", "{outputs}",
                                        "{input_names}={shapes}", "{output_names}", "{seed}"}};
  BackendSession session(backend, {.folder = folder.path("")});
  const Attempt attempt = session.run(LowerStage::run, piece);
  std::string text = verdict_words(attempt);
  for (const NamedFile& output : piece.outputs) {
    const auto made = read_tensor_file(output.file);
    text += made ? ", " + made->name + " " + tensor_type_text(*made) + " " + made->bytes : ", none";
  }
  const std::size_t words = attempt.message.find(": ");
  return text + (words == std::string::npos ? "" : attempt.message.substr(words));
}

TEST_CASE(
    "a program gets its inputs in the format it asks for, and its outputs are taken from it") {
  const std::string both = "float32 (2) abcdefgh", scalar = "int8 () z";
  for (const TensorFormat format : {TensorFormat::pb, TensorFormat::npy}) {
    CHECK(ran(format, "cp $1 $4; cp $2 $3") == "lowered, y " + scalar + ", u " + both);
    CHECK(ran(format, "test \"$5 $6 $7 $8 $9\" = 'x=2 z= y u 5' && cp $1 $3; cp $1 $4") ==
          "lowered, y " + both + ", u " + both);
    CHECK(ran(format, "cp $1 $3") ==
          "driver, y " + both + ", none: cannot be opened: No such file or directory");
    CHECK(ran(format, "cp $1 $3; exit 1") == "refused, none, none");
    CHECK(ran(format, "echo > $3; cp $1 $4") ==
          "driver, none, none: is not a tensor file of the format that \"tensors\" names");
    CHECK(ran(format, "", false).starts_with("driver, none, none"));
  }
  CHECK(ran(TensorFormat::raw, "test $(cat $1 $2) = abcdefghz && exit 3") == "refused, none, none");
}

TEST_CASE("a refusal on a full disk is no verdict on the piece") {
  const SessionOptions options{.folder = "/proc"};  // a file system without room
  CHECK(judged(shell_backend("echo cannot write >&2; exit 3"), options) == "no room\ncannot write");
  CHECK(judged(shell_backend("exit 0"), options) == "lowered");
}

}  // namespace

// ---- verdict of answer test ----

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

// ---- worker test ----

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

TEST_CASE("a worker that hangs may tidy up, and one that ends by itself is not interrupted") {
  ChildCommand command = shell(
      "echo '{\"ready\": \"w\"}'; trap 'echo tidied >&2; exit 3' TERM; while :; do sleep 0.05; "
      "done");
  command.timeout_seconds = 0.5;
  const WorkerAnswer hung = Worker({.command = command, .start_timeout_seconds = 30}).call("{}");
  CHECK(hung.kind == WorkerAnswer::Kind::timed_out);
  CHECK(hung.text.ends_with("tidied\n"));
  CHECK((hung.code == 3 && !hung.is_signal));
  Worker ends({.command = shell("echo '{\"ready\": \"w\"}'; exec 1>&-; sleep 0.1; echo done >&2; "
                                "exit 7"),
               .start_timeout_seconds = 30});
  const WorkerAnswer ended = ends.call("{}");
  CHECK(ended.kind == WorkerAnswer::Kind::died);
  CHECK(ended.text == "done\n");
  CHECK((ended.code == 7 && !ended.is_signal));
}
