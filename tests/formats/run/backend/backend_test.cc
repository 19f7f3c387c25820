#include "formats/run/backend/backend.h"
#include "tests/catch2.h"

// ---- backend file test ----

using namespace cleave;

namespace {

std::string faults_of(const std::string& text) {
  const auto loaded = parse_backend("b.json", text);
  if (loaded) return "none";
  std::string all;
  for (const Diagnostic& fault : loaded.error()) {
    all += std::to_string(fault.line) + ":" + std::to_string(fault.column) + " " + fault.message +
           "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("a backend file is read with its limits and environment") {
  const auto loaded = parse_backend("dir/b.json",
                                    R"({"format": "cleave.backend", "version": 1, "name": "n",
          "compile": {"argv": ["c", "{model}", "-o", "{out}"], "produces": ["{out}.bin"],
                      "timeout": "90s", "memory": "8GiB"},
          "serve": {"argv": ["w"], "ops": ["check", "run"], "restart_after": 7},
          "env": {"set": {"A": "1"}, "pass": ["PATH"]}, "opset": [13, 21],
          "compare": {"compute": "bfloat16", "atol": 0.5}})");
  REQUIRE(loaded);
  const Backend& backend = loaded->backend;
  CHECK(backend.name == "n");
  CHECK(backend.folder.ends_with("/dir"));
  CHECK(backend.compile->argv == std::vector<std::string>{"c", "{model}", "-o", "{out}"});
  CHECK(backend.compile->timeout_seconds == 90);
  CHECK(backend.compile->memory_bytes == std::uint64_t{8} << 30U);
  CHECK(backend.has(LowerStage::check));
  CHECK(backend.has(LowerStage::compile));
  CHECK(backend.command(LowerStage::check) == nullptr);
  CHECK(backend.serve->restart_after == 7);
  CHECK(backend.highest_opset == 21);
  CHECK(backend.tolerance.rtol == 2e-2);
  CHECK(backend.tolerance.atol == 0.5);
  CHECK(loaded->warnings.empty());
}

TEST_CASE("a backend file says which format its compiler takes") {
  const std::string begin = "{\"format\": \"cleave.backend\", \"name\": \"n\", \"takes\": ";
  const std::string end = ", \"compile\": {\"argv\": [\"c\"]}}";
  const auto loaded = parse_backend("b.json", begin + "[\"tflite\"]" + end);
  REQUIRE(loaded);
  CHECK(loaded->backend.takes == std::vector<std::string>{"tflite"});
  CHECK(faults_of(begin + "[\"pb\"]" + end) ==
        "1:53 \"pb\" is not one of \"onnx\", \"pt2\", \"tflite\"\n");
}

TEST_CASE("an unknown placeholder is refused where it is") {
  CHECK(faults_of("{\"format\": \"cleave.backend\", \"name\": \"n\",\n"
                  " \"compile\": {\"argv\": [\"c\", \"{modle}\"]}}") ==
        "2:28 \"{modle}\" is not a placeholder\n");
}

TEST_CASE("faults of a backend file name the position and the remedy") {
  CHECK(faults_of(
            "{\"format\": \"cleave.graph\", \"name\": \"n\", \"compile\": {\"argv\": [\"c\"]}}") ==
        "1:12 the format is \"cleave.graph\", not \"cleave.backend\"\n");
  CHECK(faults_of("{\"format\": \"cleave.backend\", \"name\": \"n\"}") ==
        "1:1 neither \"compile\" nor \"serve\": there is no way to compile a model\n");
  CHECK(faults_of(
            "{\"format\": \"cleave.backend\", \"name\": \"n\", \"compile\": {\"argv\": [\"c\"], "
            "\"timeout\": \"soon\"}}") ==
        "1:81 \"soon\" is not a time: write \"60s\" or \"5min\"\n");
  CHECK(faults_of(
            "{\"format\": \"cleave.backend\", \"name\": \"n\", \"compile\": {\"argv\": [\"c\"]}, "
            "\"failed_if\": [\"(\"]}") ==
        "1:85 \"(\" is not a regular expression of RE2: missing ): (\n");
}

TEST_CASE("patterns that are too large, or would take more than linear time, are refused") {
  const auto fault_of = [](const std::string& pattern) {
    return faults_of(
        "{\"format\": \"cleave.backend\", \"name\": \"n\", \"compile\": {\"argv\": [\"c\"]}, "
        "\"message\": {\"begin\": \"" +
        pattern + "\"}}");
  };
  const std::string refused = " is not a regular expression of RE2: ";
  CHECK(fault_of("(a+)+b") == "none");
  CHECK(fault_of("a{1,1000}") == "none");
  CHECK(fault_of("at 0x3333333333333333333") == "none");
  CHECK(fault_of(std::string(500, '(') + std::string(500, ')')) == "none");
  CHECK(fault_of(std::string(100000, '(') + std::string(100000, ')')) == "none");
  CHECK(fault_of("a{1,1001}") ==
        "1:92 \"a{1,1001}\"" + refused + "invalid repetition size: {1,1001}\n");
  CHECK(fault_of("((a{1,1000}){1,1000}){1,1000}").find(refused) != std::string::npos);
  CHECK(fault_of("(a)\\\\1") == "1:92 \"(a)\\1\"" + refused + "invalid escape sequence: \\1\n");
  CHECK(fault_of("(?!a)") == "1:92 \"(?!a)\"" + refused + "invalid perl operator: (?!\n");
}

namespace {

// A backend file of a compile command with more fields.
std::string file_with(const std::string& fields) {
  return "{\"format\": \"cleave.backend\", \"name\": \"n\", \"compile\": {\"argv\": [\"c\"]}" +
         (fields.empty() ? "" : ", " + fields) + "}";
}

Backend backend_with(const std::string& fields) {
  auto loaded = parse_backend("b.json", file_with(fields));
  if (!loaded) FAIL(loaded.error().front().message);
  return std::move(loaded->backend);
}

std::string fault_with(const std::string& fields) {
  const std::string faults = faults_of(file_with(fields));
  return faults.substr(faults.find(' ') + 1);
}

std::string warnings_with(const std::string& fields) {
  const auto loaded = parse_backend("b.json", file_with(fields));
  if (!loaded) return loaded.error().front().message;
  std::string all;
  for (const Diagnostic& warning : loaded->warnings) all += warning.message + "\n";
  return all;
}

}  // namespace

TEST_CASE("each field of a backend file is read, and others keep their defaults") {
  const Backend plain = backend_with("");
  CHECK(plain.compile->timeout_seconds == 600);
  CHECK(plain.compile->memory_bytes == 0);
  CHECK(plain.compile->produces.empty());
  CHECK(plain.tensors == TensorFormat::pb);
  CHECK(plain.tolerance.rounding == rounding_of("float32"));
  CHECK(plain.environment.pass == std::vector<std::string>{"PATH", "HOME"});
  CHECK(plain.jobs == 0);
  CHECK(plain.model_bytes == 0);
  CHECK(plain.file_bytes == 0);
  CHECK(plain.lowest_opset == 0);
  CHECK_FALSE(plain.serve);
  CHECK_FALSE(plain.check);
  CHECK_FALSE(plain.run);
  const Backend full = backend_with(
      R"("identity": ["c", "--version"], "check": {"argv": ["k"], "timeout": 7},
         "run": {"argv": ["r", "{inputs}"], "tensors": "npy", "timeout": "2min"},
         "serve": {"argv": ["w"], "start_timeout": "3s", "timeout": 5.5, "memory": "1MiB"},
         "env": {"pass": ["A", "B"], "set": {"C": "1", "D": "2"}},
         "failed_if": ["^bad", "worse"], "message": {"begin": "^x", "drop": "y$"},
         "jobs": 3, "max_model": "2KiB", "max_file": "4KiB", "opset": [11, 13],
         "takes": ["onnx", "pt2"], "version": 1,
         "compare": {"rtol": 0.5, "int_tolerance": 2, "float32": "exact"})");
  CHECK(full.identity == std::vector<std::string>{"c", "--version"});
  CHECK(full.check->timeout_seconds == 7);
  CHECK(full.run->argv == std::vector<std::string>{"r", "{inputs}"});
  CHECK(full.run->timeout_seconds == 120);
  CHECK(full.tensors == TensorFormat::npy);
  CHECK(full.serve->start_timeout_seconds == 3);
  CHECK(full.serve->timeout_seconds == 5.5);
  CHECK(full.serve->memory_bytes == 1 << 20);
  CHECK(full.serve->restart_after == 2000);
  CHECK(full.serve->ops == std::vector<std::string>{"compile", "run"});
  CHECK(full.environment.pass == std::vector<std::string>{"A", "B"});
  CHECK(full.environment.set.size() == 2);
  CHECK(full.environment.set[1] == std::pair<std::string, std::string>("D", "2"));
  CHECK(full.failed_if == std::vector<std::string>{"^bad", "worse"});
  CHECK(full.message_begin == "^x");
  CHECK(full.message_drop == "y$");
  CHECK(full.jobs == 3);
  CHECK(full.model_bytes == 2048);
  CHECK(full.file_bytes == 4096);
  CHECK(full.lowest_opset == 11);
  CHECK(full.highest_opset == 13);
  CHECK(full.takes == std::vector<std::string>{"onnx", "pt2"});
  CHECK(full.tolerance.rtol == 0.5);
  CHECK(full.tolerance.atol == 1e-4);
  CHECK(full.tolerance.integers == 2);
  CHECK(full.float32_backend == "exact");
  CHECK(backend_with(R"("run": {"argv": ["r"], "tensors": "raw"})").tensors == TensorFormat::raw);
  CHECK(backend_with(R"("run": {"argv": ["r"], "tensors": "pb"})").tensors == TensorFormat::pb);
}

TEST_CASE("a precision brings its tolerances, before or behind the file's own") {
  const auto tolerance = [](const std::string& fields) {
    return backend_with("\"compare\": {" + fields + "}").tolerance;
  };
  CHECK(tolerance("\"compute\": \"float16\"").rtol == 1e-2);
  CHECK(tolerance("\"compute\": \"float16\"").atol == 1e-3);
  CHECK(tolerance("\"compute\": \"bfloat16\"").atol == 2e-2);
  CHECK(tolerance("\"compute\": \"float32\"").rtol == 1e-3);
  CHECK(tolerance("\"rtol\": 0.5, \"compute\": \"float16\"").rtol == 0.5);
  CHECK(tolerance("\"compute\": \"float16\", \"rtol\": 0").rtol == 0);
  CHECK(tolerance("\"int_tolerance\": 3, \"compute\": \"float16\"").integers == 3);
  CHECK(tolerance("\"compute\": \"float16\"").rounding == rounding_of("float16"));
  CHECK(rounding_of("float16") > rounding_of("float32"));
}

TEST_CASE("what a field may not be is said with what it may be") {
  CHECK(fault_with("\"version\": 2") ==
        "version 2 of the format is newer than this program, which reads version 1\n");
  CHECK(fault_with("\"identity\": []") == "\"identity\" is empty: the first word is the program\n");
  CHECK(fault_with("\"check\": {}") == "\"check\" has no \"argv\"\n");
  CHECK(fault_with("\"serve\": {\"ops\": [\"run\"]}") == "\"serve\" has no \"argv\"\n");
  CHECK(fault_with("\"serve\": {\"argv\": [\"w\"], \"timeout\": 0}") ==
        "\"timeout\" must be above 0\n");
  CHECK(fault_with("\"check\": {\"argv\": [\"c\"], \"timeout\": \"-1s\"}") ==
        "\"-1s\" is not a time: write \"60s\" or \"5min\"\n");
  CHECK(fault_with("\"max_model\": \"much\"") == "\"much\" is not a size: write \"8GiB\"\n");
  CHECK(fault_with("\"run\": {\"argv\": [\"r\"], \"tensors\": \"csv\"}") ==
        "\"csv\" is not one of \"pb\", \"npy\", \"raw\"\n");
  CHECK(fault_with("\"compare\": {\"rtol\": -0.5}") == "\"rtol\" must not be below 0\n");
  CHECK(fault_with("\"compare\": {\"compute\": \"int8\"}") ==
        "\"int8\" is not one of \"float32\", \"float16\", \"bfloat16\"\n");
  const std::string opsets = "\"opset\" must be the lowest and the highest, as in [13, 21]\n";
  CHECK(fault_with("\"opset\": [13]") == opsets);
  CHECK(fault_with("\"opset\": [13, 14, 15]") == opsets);
  CHECK(fault_with("\"opset\": [14, 13]") == opsets);
  CHECK(fault_with("\"opset\": [13, 13]").starts_with("none"));
  CHECK(faults_of("{\"name\": \"n\", \"compile\": {\"argv\": [\"c\"]}}") ==
        "1:1 no \"format\": a backend file has \"format\": \"cleave.backend\"\n");
  CHECK(faults_of("{\"format\": \"cleave.backend\", \"compile\": {\"argv\": [\"c\"]}}") ==
        "1:1 no \"name\": reports name the backend by it\n");
  CHECK(faults_of(
            "{\"format\": \"cleave.backend\", \"name\": \"n\", \"check\": {\"argv\": [\"c\"]}}") ==
        "none");
}

TEST_CASE("fields that are not known are warned of, where they are") {
  CHECK(warnings_with("").empty());
  CHECK(warnings_with("\"odd\": 1").find("\"odd\"") != std::string::npos);
  CHECK(warnings_with("\"check\": {\"argv\": [\"c\"], \"tensors\": \"pb\"}").find("\"tensors\"") !=
        std::string::npos);
  CHECK(warnings_with("\"serve\": {\"argv\": [\"c\"], \"odd\": [1]}").find("\"odd\"") !=
        std::string::npos);
  CHECK(warnings_with("\"env\": {\"odd\": 1}").find("\"odd\"") != std::string::npos);
  CHECK(warnings_with("\"message\": {\"odd\": 1}").find("\"odd\"") != std::string::npos);
  CHECK(warnings_with("\"compare\": {\"odd\": 1}").find("\"odd\"") != std::string::npos);
}

TEST_CASE("words of a command line are split as a shell splits them") {
  using Words = std::vector<std::string>;
  CHECK(shell_words("") == Words{});
  CHECK(shell_words(" \t\n") == Words{});
  CHECK(shell_words("a\tb\nc") == Words{"a", "b", "c"});
  CHECK(shell_words("''") == Words{""});
  CHECK(shell_words("a'b c'\"d e\"f") == Words{"ab cd ef"});
  CHECK(shell_words("'a\\b'") == Words{"a\\b"});
  CHECK(shell_words("\"a\\\"b\"") == Words{"a\"b"});
  CHECK(shell_words("\"it's\" 'a \"b\"'") == Words{"it's", "a \"b\""});
  CHECK(shell_words("a\\") == Words{"a\\"});
  CHECK_FALSE(shell_words("'a"));
  CHECK_FALSE(shell_words("\"a'"));
}

TEST_CASE("the short form is split into words and not run by a shell") {
  const auto backend = parse_short_backend("my='c c' {model} -o \"{out}\" a\\ b $HOME");
  REQUIRE(backend);
  CHECK(backend->name == "my");
  CHECK(backend->compile->argv ==
        std::vector<std::string>{"c c", "{model}", "-o", "{out}", "a b", "$HOME"});
  CHECK(parse_short_backend("=c").error() == "has no name before \"=\"");
  CHECK(parse_short_backend("n='c").error() == "has a quote that is not closed");
  CHECK(parse_short_backend("n=").error() == "has no command after \"=\"");
  CHECK(is_short_backend("n=c {model}"));
  CHECK_FALSE(is_short_backend("dir/a=b.json"));
}

// ---- placeholders test ----

using namespace cleave;

TEST_CASE("placeholders are replaced and lists repeat their word") {
  const PlaceholderValues values{.model = "m x.onnx", .out = "o", .inputs = {"a", "b"}, .seed = 3};
  CHECK(expand_words({"c", "{model}", "-s{seed}", "--in=@{inputs}", "{outputs}", "{ok}{}{A}"},
                     values) ==
        std::vector<std::string>{"c", "m x.onnx", "-s3", "--in=@a", "--in=@b", "{ok}{}{A}"});
}

TEST_CASE("the folder of cleave is filled in where it is known") {
  const std::vector<std::string> words = {"{cleave}/scripts/worker.py"};
  CHECK(expand_words(words, {.cleave = "/opt/cleave"}).front() == "/opt/cleave/scripts/worker.py");
  CHECK(expand_words(words, {}).front() == "{cleave}/scripts/worker.py");
}

TEST_CASE("an unknown placeholder is found and other braces are text") {
  CHECK(find_unknown_placeholder("x {model} {inputt}") == 10);
  CHECK(find_unknown_placeholder("{model}{a-b}{}{1}") == std::string_view::npos);
}

TEST_CASE("each placeholder has its value, and all of them are listed") {
  const PlaceholderValues values{.model = "M",
                                 .out = "O",
                                 .workdir = "W",
                                 .here = "H",
                                 .cleave = "C",
                                 .inputs = {"i0", "i1"},
                                 .outputs = {"o0"},
                                 .input_names = {"x", "y"},
                                 .output_names = {"z"},
                                 .shapes = {"2x3", "4"},
                                 .seed = 7};
  using Words = std::vector<std::string>;
  CHECK(expand_words({"{model}{out}{workdir}{here}{cleave}{seed}"}, values) == Words{"MOWHC7"});
  CHECK(expand_words({"-i", "{input_names}:{shapes}={inputs}"}, values) ==
        Words{"-i", "x:2x3=i0", "y:4=i1"});
  CHECK(expand_words({"a{output_names}b{outputs}c"}, values) == Words{"azbo0c"});
  // Lists of one word advance together, as far as the first one reaches.
  CHECK(expand_words({"{inputs}{outputs}"}, values) == Words{"i0o0", "i1"});
  CHECK(expand_words({"{outputs}{inputs}"}, values) == Words{"o0i0"});
  CHECK(placeholder_list() ==
        "{model}, {out}, {workdir}, {here}, {cleave}, {seed}, {inputs}, {outputs}, {input_names}, "
        "{output_names}, {shapes}");
  for (const char* const word :
       {"{model}", "x{seed}", "{inputs}{shapes}", "{", "}", "{model", "{}"}) {
    INFO(word);
    CHECK(find_unknown_placeholder(word) == std::string_view::npos);
  }
  CHECK(find_unknown_placeholder("{here}{odd}") == 6);
  CHECK(find_unknown_placeholder("{out}{{odd}") == 6);
}
