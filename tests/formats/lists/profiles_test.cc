#include "formats/lists/costs.h"

#include <sstream>

#include "tests/catch2.h"

namespace cleave {

namespace {

std::string event(std::string_view name, int start, int duration, std::string_view op = "Relu") {
  return R"({"cat":"Node","name":")" + std::string(name) + R"(_kernel_time","dur":)" +
         std::to_string(duration) + R"(,"ts":)" + std::to_string(start) +
         R"(,"args":{"op_name":")" + std::string(op) + "\"}},\n";
}

constexpr std::string_view kEndOfRun = R"({"cat":"Session","name":"model_run","dur":9,"ts":0},)";

// "name time", "(name time)" inside a body; or the faults.
std::string read(std::string text) {
  if (text.ends_with(",\n")) text.resize(text.size() - 2);
  if (text.ends_with(',')) text.pop_back();
  const auto profile = read_onnxruntime_profile(SourceFile::from_text("p.json", "[" + text + "]"));
  std::ostringstream result;
  if (!profile) {
    for (const Diagnostic& fault : profile.error()) {
      result << fault.line << ":" << fault.column << ": " << fault.message << "\n";
    }
    return result.str();
  }
  for (const CostEntry& entry : profile->entries) {
    result << (entry.is_inside ? "(" : "") << entry.name << " " << entry.us
           << (entry.is_inside ? ")" : "") << "\n";
  }
  return result.str();
}

TEST_CASE("a kernel's time is the median of its runs; with three or more the first is left out") {
  const auto runs = [](std::initializer_list<int> times) {
    std::string text;
    for (const int time : times) text += event("a", 0, time) + std::string(kEndOfRun);
    return text;
  };
  CHECK(read(runs({7})) == "a 7\n");
  CHECK(read(runs({7, 9})) == "a 8\n");
  CHECK(read(runs({100, 9, 3, 5})) == "a 5\n");
}

TEST_CASE("the times of a kernel that runs twice in a run are added") {
  CHECK(read(event("a", 0, 2) + event("a", 5, 3)) == "a 5\n");
}

TEST_CASE("kernels of a body are part of the node around them") {
  CHECK(read(event("a", 0, 2) + event("b", 11, 3) + event("b", 15, 3) +
             event("loop", 10, 9, "Loop") + event("c", 20, 1)) == "a 2\n(b 6)\nloop 9\nc 1\n");
}

TEST_CASE("a profile of inputs of different sizes is warned of") {
  const auto runs = [](const std::string& second) {
    std::string text;
    for (const std::string& shape : {std::string("[1,4]"), second}) {
      std::string made = event("a", 0, 5);
      const std::string op = "\"op_name\":\"Relu\"";
      REQUIRE(made.find(op) != made.npos);
      made.insert(made.find(op), "\"input_type_shape\":[{\"float\":" + shape + "}],");
      text += made + std::string(kEndOfRun);
    }
    text.pop_back();
    const auto profile =
        read_onnxruntime_profile(SourceFile::from_text("p.json", "[" + text + "]"));
    REQUIRE(profile);
    return profile->warnings.empty() ? std::string() : profile->warnings.front().message;
  };
  CHECK(runs("[1,4]").empty());
  CHECK(runs("[8,4]") ==
        "the runs had inputs of different sizes: \"a\" read [1, 4] and [8, 4], so its times are of "
        "a mixture");
}

TEST_CASE("an invalid profile is refused with the place of the fault") {
  CHECK(read("") == "0:0: the profile has no kernel: was the session run before it was ended?\n");
  CHECK(read(R"({"cat":"Node","name":"a_kernel_time","dur":"x"})") ==
        "1:45: \"dur\" of an event must be a number, not a string\n");
  CHECK(read(R"({"cat":"Node","name":"a_kernel_time","dur":-1})") ==
        "1:45: \"dur\" of an event must be microseconds, 0 or more\n");
  CHECK(read(R"({"args":{"output_type_shape":[{"float":[1,"2"]}]}})").starts_with("1:44: "));
  CHECK(read("7") == "1:2: an event must be an object, not a number\n");
}

}  // namespace

}  // namespace cleave
