#include "formats/pt2/internal.h"

#include "tests/catch2.h"
#include "tests/formats/pt2/program_text.h"

namespace cleave {

namespace {

using Numbers = std::vector<std::uint32_t>;

// " what: a b", or "" for an empty list.
std::string listed(const std::string& what, const Pt2Program& program, const Numbers& values) {
  std::string text = values.empty() ? "" : "  " + what;
  for (const std::uint32_t value : values) text += " " + std::string(program.values[value].name);
  return text;
}

// The plan of a program with the output "out", a line for each part in call order, then the state
// that the caller keeps and what it does after the parts.
std::string plan(ProgramText& text, const std::string& parts) {
  const Pt2Model& model = text.model({"out"});
  const Pt2Program& program = model.program;
  const auto made = plan_pt2_split(model, partition_of(model, parts));
  if (!made) return made.error().message;
  std::string lines;
  for (const Pt2Part& part : made->parts) {
    lines += "part" + std::to_string(index(part.part)) +
             listed("archive", program, part.lifted_inputs) + listed("in", program, part.inputs) +
             listed("out", program, part.outputs) + listed("writes", program, part.written_inputs) +
             (part.native_mutations.empty() ? "" : "  mutates") + "\n";
  }
  if (!made->state.empty()) lines += listed("state", program, made->state).substr(2) + "\n";
  for (const Pt2Mutation& mutation : made->mutations) {
    lines += std::string(mutation.kind) + " " + std::string(mutation.target) + " = " +
             std::string(program.values[mutation.value].name) + "\n";
  }
  return lines;
}

TEST_CASE("an input that one part alone uses is written in place by that part") {
  ProgramText text;
  text.node("a", "neg.default", {"x"})
      .node("b", "add_.Tensor", {"y", "a"})
      .node("out", "neg.default", {"b"});
  CHECK(plan(text, "a | b out") ==
        "part0  in x  out a\n"
        "part1  in y a  out out  writes y\n");
}

TEST_CASE("an input that several parts use gets its newest value from the caller") {
  ProgramText text;
  text.node("a", "add_.Tensor", {"y", "x"}).node("out", "neg.default", {"y"});
  CHECK(plan(text, "a | out") ==
        "part0  in x y  out a\n"
        "part1  in a  out out\n"
        "user_input y = a\n");
}

TEST_CASE("the caller keeps a parameter that one part writes and another one reads") {
  ProgramText text;
  text.parameter("p", "w").node("a", "add_.Tensor", {"p", "x"}).node("out", "neg.default", {"p"});
  CHECK(plan(text, "a | out") ==
        "part0  in p x  out a\n"
        "part1  in a  out out\n"
        "state p\n"
        "parameter w = a\n");
  CHECK(plan(text, "a out") == "part0  archive p  in x  out out\n");
}

TEST_CASE("a buffer stays in the file of a part if no other part uses it") {
  ProgramText text;
  text.buffer("b", "count")
      .node("a", "add.Tensor", {"b", "x"})
      .node("out", "neg.default", {"y"})
      .mutation("a", "count");
  CHECK(plan(text, "a | out") ==
        "part0  archive b  in x  mutates\n"
        "part1  in y  out out\n");
  ProgramText shared;
  shared.buffer("b", "count")
      .node("a", "add.Tensor", {"b", "x"})
      .node("out", "neg.default", {"b"})
      .mutation("a", "count");
  CHECK(plan(shared, "a | out") ==
        "part0  in b x  out a\n"
        "part1  in b  out out\n"
        "state b\n"
        "buffer count = a\n");
}

TEST_CASE("nodes that view memory and write it cannot be in several parts") {
  ProgramText text;
  text.node("a", "neg.default", {"x"})
      .node("v", "t.default", {"a"})
      .node("w", "relu_.default", {"v"})
      .node("out", "neg.default", {"a"});
  CHECK(plan(text, "a v | w out") ==
        "nodes that write or view the same memory are in several partitions, \"part0\" and "
        "\"part1\": \"a\", \"v\", \"w\"");
}

TEST_CASE("a refusal because of written memory names it and two nodes") {
  ProgramText text;
  text.buffer("b", "count")
      .node("r", "neg.default", {"b"})
      .node("w", "relu_.default", {"b"})
      .node("out", "neg.default", {"w"});
  CHECK(plan(text, "r out | w") ==
        "partitions \"part0\" and \"part1\" wait for each other: node \"r\" must run before node "
        "\"w\", since both use \"b\", which is written in place");
}

TEST_CASE("state that several parts write goes from one to the next") {
  ProgramText text;
  text.buffer("b", "count")
      .node("u", "=torch.ops.mine.update.default", {"b"})
      .node("v", "=torch.ops.mine.update.default", {"b"})
      .node("out", "neg.default", {"b"});
  CHECK(plan(text, "u | v | out") ==
        "part0  in b  out b\n"
        "part1  in b  out b\n"
        "part2  in b  out out\n"
        "state b\n"
        "buffer count = b\n");
}

TEST_CASE("each part that reads a constant has a copy of it") {
  ProgramText text;
  text.parameter("w", "weight")
      .node("t", "t.default", {"w"})
      .node("a", "mul.Tensor", {"x", "t"})
      .node("out", "mul.Tensor", {"a", "t"});
  CHECK(plan(text, "a | out") ==
        "part0  archive w  in x  out a\n"
        "part1  archive w  in a  out out\n");
}

TEST_CASE("a check is in the part that makes what it reads, or that reads the same input") {
  ProgramText text;
  text.node("c", "_assert_tensor_metadata.default", {"y"})
      .node("a", "neg.default", {"x"})
      .node("d", "_assert_tensor_metadata.default", {"a"})
      .node("out", "mul.Tensor", {"a", "y"});
  CHECK(plan(text, "a | out") ==
        "part0  in x  out a\n"
        "part1  in y a  out out\n");
  const Pt2Model& model = text.model({"out"});
  const auto made = plan_pt2_split(model, partition_of(model, "a | out"));
  REQUIRE(made);
  CHECK(made->parts[0].nodes == Numbers{1, 2});
  CHECK(made->parts[1].nodes == Numbers{0, 3});
}

TEST_CASE("a piece gives what other nodes read and what the program returns") {
  ProgramText text;
  text.parameter("w", "weight")
      .node("a", "neg.default", {"x"})
      .node("b", "mul.Tensor", {"a", "w"})
      .node("c", "neg.default", {"b"})
      .node("out", "add.Tensor", {"b", "c"});
  CHECK(plan(text, "b") == "part0  archive w  in a  out b\n");
  CHECK(plan(text, "c out") == "part0  in b  out out\n");
}

TEST_CASE("what an operator of unknown effect may have written is handed on from its part") {
  ProgramText text;
  text.node("a", "neg.default", {"x"})
      .node("u", "=torch.ops.mine.update.default", {"a"})
      .node("out", "neg.default", {"a"});
  CHECK(plan(text, "a | u | out") ==
        "part0  in x  out a\n"
        "part1  in a  out a\n"
        "part2  in a  out out\n");
}

}  // namespace

}  // namespace cleave
