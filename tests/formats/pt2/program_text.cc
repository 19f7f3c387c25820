// The JSON has a space after a comma or colon only where the test gives it.
#include "tests/formats/pt2/program_text.h"

#include <algorithm>
#include <sstream>

#include "formats/base/json.h"
#include "formats/pt2/pt2.h"
#include "tests/catch2.h"

namespace cleave {

namespace {

std::string tensor(const std::string& name) {
  return R"({"as_tensor":{"name":")" + name + R"("}})";
}

void append(std::string& list, const std::string& item) {
  list += (list.empty() ? "" : ",") + item;
}

// Items of several lists, of which some may be empty.
std::string joined(const std::vector<std::string>& lists) {
  std::string all;
  for (const std::string& list : lists) {
    if (!list.empty()) append(all, list);
  }
  return all;
}

std::string argument(const std::string& text, std::size_t position) {
  static constexpr const char* kNames[] = {"self", "other", "third"};
  const std::size_t equals = text.find('=');
  if (equals == text.npos) {
    return std::string(R"({"name":")") + kNames[position] + R"(","arg":)" + tensor(text) +
           R"(,"kind":1})";
  }
  return R"({"name":")" + text.substr(0, equals) + R"(","arg":)" + text.substr(equals + 1) +
         R"(,"kind":2})";
}

std::string spec(const std::string& kind, const std::string& name, const std::string& more = "") {
  return R"({")" + kind + R"(":{"arg":)" + tensor(name) + more + "}}";
}

}  // namespace

ProgramText& ProgramText::node(const std::string& result, const std::string& op,
                               const std::vector<std::string>& arguments,
                               const std::vector<std::string>& more_results) {
  std::string inputs, results = tensor(result);
  for (const std::string& more : more_results) append(results, tensor(more));
  for (std::size_t i = 0; i < arguments.size(); ++i) append(inputs, argument(arguments[i], i));
  const std::string target = op.starts_with('=') ? op.substr(1) : "torch.ops.aten." + op;
  append(nodes_, R"({"target":")" + target + R"(","inputs":[)" + inputs + R"(],"outputs":[)" +
                     results + R"(],"metadata":{},"name":")" + result + R"("})");
  return *this;
}

ProgramText& ProgramText::size(const std::string& name, const std::string& expression) {
  append(types_, "\"" + name + R"(":{"dtype":7,"sizes":[{"as_expr":{"expr_str":")" + expression +
                     R"(","hint":null}}],"strides":[{"as_int":1}],"layout":7})");
  return *this;
}

ProgramText& ProgramText::strided(const std::string& name, const std::vector<std::int64_t>& sizes,
                                  const std::vector<std::int64_t>& strides) {
  const auto list = [](const std::vector<std::int64_t>& numbers) {
    std::string items;
    for (const std::int64_t each : numbers) {
      append(items, R"({"as_int":)" + std::to_string(each) + "}");
    }
    return "[" + items + "]";
  };
  append(types_, "\"" + name + R"(":{"dtype":7,"sizes":)" + list(sizes) + R"(,"strides":)" +
                     list(strides) + R"(,"layout":7})");
  return *this;
}

ProgramText& ProgramText::number(const std::string& name, const std::string& expression) {
  append(nodes_, R"({"target":"torch.ops.aten.sym_size.int","inputs":[)" + argument("x", 0) +
                     R"(],"outputs":[{"as_sym_int":{"as_name":")" + name +
                     R"("}}],"metadata":{},"name":")" + name + R"("})");
  append(numbers_,
         "\"" + name + R"(":{"as_expr":{"expr_str":")" + expression + R"(","hint":null}})");
  return *this;
}

ProgramText& ProgramText::range(const std::string& symbol, const std::string& json) {
  append(ranges_, "\"" + symbol + "\":" + json);
  return *this;
}

ProgramText& ProgramText::parameter(const std::string& name, const std::string& target) {
  append(state_, tensor(name));
  append(state_specs_, spec("parameter", name, R"(,"parameter_name":")" + target + "\""));
  return *this;
}

ProgramText& ProgramText::buffer(const std::string& name, const std::string& target) {
  append(state_, tensor(name));
  append(state_specs_,
         spec("buffer", name, R"(,"buffer_name":")" + target + R"(","persistent":false)"));
  return *this;
}

ProgramText& ProgramText::mutation(const std::string& value, const std::string& target) {
  append(mutated_, tensor(value));
  append(mutation_specs_, spec("buffer_mutation", value, R"(,"buffer_name":")" + target + "\""));
  return *this;
}

ProgramText& ProgramText::modules_first() {
  has_modules_first_ = true;
  return *this;
}

std::string ProgramText::json(const std::vector<std::string>& outputs) const {
  std::string list, specs;
  for (const std::string& output : outputs) {
    append(list, tensor(output));
    append(specs, spec("user_output", output));
  }
  const std::string graph =
      R"("graph":{"inputs":[)" + joined({state_, tensor("x"), tensor("y")}) + R"(],"outputs":[)" +
      joined({mutated_, list}) + R"(],"nodes":[)" + nodes_ + R"(],"tensor_values":{)" + types_ +
      "}" + (numbers_.empty() ? "" : R"(,"sym_int_values":{)" + numbers_ + "}") +
      R"(},"signature":{"input_specs":[)" +
      joined({state_specs_, spec("user_input", "x"), spec("user_input", "y")}) +
      R"(],"output_specs":[)" + joined({mutation_specs_, specs}) + "]}";
  const std::string modules = R"("module_call_graph":[{"fqn":""}])";
  return R"({"schema_version":{"major":8,"minor":2},"graph_module":{)" +
         (has_modules_first_ ? modules + "," + graph : graph + "," + modules) + "}" +
         (ranges_.empty() ? "" : R"(,"range_constraints":{)" + ranges_ + "}") + "}";
}

const Pt2Model& ProgramText::model(const std::vector<std::string>& outputs) {
  text_ = json(outputs);
  const std::size_t length = text_.size();
  text_.append(JsonCursor::kPadding, '\0');
  model_.archive.program = std::string_view(text_).substr(0, length);
  auto program = read_pt2_program(model_.archive, "test", {});
  REQUIRE(program);
  model_.program = *std::move(program);
  find_meaning(model_);
  return model_;
}

Partition partition_of(const Pt2Model& model, const std::string& nodes) {
  const Pt2Program& program = model.program;
  PerNode<PartId> parts(program.nodes.size(), kNone<PartId>);
  std::vector<std::string> names = {"part0"};
  std::istringstream words(nodes);
  for (std::string word; words >> word;) {
    if (word == "|") {
      names.push_back("part" + std::to_string(names.size()));
      continue;
    }
    const auto node = std::find_if(program.nodes.begin(), program.nodes.end(),
                                   [&](const Pt2Node& each) { return each.name == word; });
    REQUIRE(node != program.nodes.end());
    parts[model.placed(static_cast<std::uint32_t>(node - program.nodes.begin()))] =
        id_at<PartId>(names.size() - 1);
  }
  return make_partition(std::move(parts), std::move(names), {});
}

}  // namespace cleave
