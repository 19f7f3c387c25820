#include "formats/pt2/effects.h"

#include <algorithm>

#include "formats/json/cursor.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

// A program as lines of "result = op(argument, ...)", over the user inputs x and y; arguments are
// named self, other, ... in turn. The last line "return a, b" names the outputs.
class ProgramText {
 public:
  ProgramText& node(const std::string& result, const std::string& op,
                    const std::vector<std::string>& arguments) {
    static constexpr const char* kNames[] = {"self", "other", "third"};
    std::string inputs;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      inputs += (i == 0 ? "" : ",") + std::string(R"({"name":")") + kNames[i] +
                R"(","kind":1,"arg":)" + tensor(arguments[i]) + "}";
    }
    nodes_ += (nodes_.empty() ? "" : ",") + std::string(R"({"target":"torch.ops.aten.)") + op +
              R"(","name":")" + result + R"(","inputs":[)" + inputs + R"(],"outputs":[)" +
              tensor(result) + "]}";
    return *this;
  }

  Pt2Effects effects(const std::vector<std::string>& outputs) {
    std::string list, specs;
    for (const std::string& output : outputs) {
      list += (list.empty() ? "" : ",") + tensor(output);
      specs += (specs.empty() ? "" : ",") + std::string(R"({"user_output":{"arg":)") +
               tensor(output) + "}}";
    }
    text_ = R"({"schema_version":{"major":8,"minor":2},"graph_module":{"graph":{"inputs":[)" +
            tensor("x") + "," + tensor("y") + R"(],"outputs":[)" + list + R"(],"nodes":[)" +
            nodes_ + R"(]},"signature":{"input_specs":[{"user_input":{"arg":)" + tensor("x") +
            R"(}},{"user_input":{"arg":)" + tensor("y") + R"(}}],"output_specs":[)" + specs +
            R"(]},"module_call_graph":[{"fqn":""}]}})";
    const std::size_t length = text_.size();
    text_.append(JsonCursor::kPadding, '\0');
    archive_.program = std::string_view(text_).substr(0, length);
    auto program = read_pt2_program(archive_, "test", {});
    REQUIRE(program);
    program_ = *std::move(program);
    return find_effects(program_);
  }

  // "[a b] [c]"
  std::string whole(const std::vector<std::string>& outputs) {
    std::string text;
    for (const auto& nodes : effects(outputs).whole) {
      std::string set;
      for (const std::uint32_t node : nodes) {
        set += (set.empty() ? "" : " ") + std::string(program_.nodes[node].name);
      }
      text += (text.empty() ? "[" : " [") + set + "]";
    }
    return text;
  }

  // The values that the node reads, after renaming.
  std::string reads(const std::vector<std::string>& outputs, std::string_view name) {
    const Pt2Effects found = effects(outputs);
    const auto node = std::find_if(program_.nodes.begin(), program_.nodes.end(),
                                   [&](const Pt2Node& each) { return each.name == name; });
    REQUIRE(node != program_.nodes.end());
    std::string text;
    for (std::uint32_t a = node->argument_begin; a < node->argument_end; ++a) {
      const Pt2Argument& argument = program_.arguments[a];
      for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
        text += (text.empty() ? "" : " ") + std::string(program_.values[found.read_as[r]].name);
      }
    }
    return text;
  }

 private:
  static std::string tensor(const std::string& name) {
    return R"({"as_tensor":{"name":")" + name + R"("}})";
  }

  std::string nodes_, text_;
  Pt2Archive archive_;
  Pt2Program program_;
};

TEST_CASE("Readers of what an operator wrote in place read its result") {
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("b", "relu_.default", {"a"})
      .node("c", "neg.default", {"a"});
  CHECK(program.whole({"c"}).empty());
  CHECK(program.reads({"c"}, "c") == "b");
}

TEST_CASE("A view that is made after the last write may be elsewhere") {
  ProgramText program;
  program.node("a", "mul.Tensor", {"x", "y"})
      .node("b", "add_.Tensor", {"a", "y"})
      .node("v", "t.default", {"b"})
      .node("c", "neg.default", {"v"});
  CHECK(program.whole({"c", "b"}).empty());
}

TEST_CASE("A view may be written elsewhere if what it views is not read again") {
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("v", "t.default", {"a"})
      .node("w", "relu_.default", {"v"})
      .node("c", "neg.default", {"v"});
  CHECK(program.whole({"c"}).empty());
  CHECK(program.reads({"c"}, "c") == "w");
}

TEST_CASE("A tensor that is read after its view was written stays with it, up to the last write") {
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("v", "t.default", {"a"})
      .node("w", "relu_.default", {"v"})
      .node("c", "neg.default", {"a"});
  CHECK(program.whole({"c"}) == "[a v w]");
  CHECK(program.reads({"c"}, "c") == "a");
}

TEST_CASE("A view that is read after its tensor was written stays with it") {
  ProgramText program;
  program.node("a", "neg.default", {"x"})
      .node("v", "t.default", {"a"})
      .node("w", "relu_.default", {"a"})
      .node("c", "add.Tensor", {"v", "w"});
  CHECK(program.whole({"c"}) == "[a v w]");
}

TEST_CASE("The caller reads an input that was written through a view, and outputs") {
  ProgramText input;
  input.node("v", "t.default", {"x"})
      .node("w", "relu_.default", {"v"})
      .node("c", "neg.default", {"w"});
  CHECK(input.whole({"c"}) == "[v w c]");
  ProgramText output;
  output.node("a", "neg.default", {"x"})
      .node("v", "t.default", {"a"})
      .node("w", "relu_.default", {"v"});
  CHECK(output.whole({"w"}).empty());
  CHECK(output.whole({"a"}) == "[a v w]");
}

}  // namespace
}  // namespace cleave
