#include "formats/run/backend/backend_file.h"

#include "tests/catch2.h"

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
