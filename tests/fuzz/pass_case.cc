#include "tests/fuzz/pass_case.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave::fuzz {
namespace {

constexpr std::size_t kMostNodes = 20;

std::vector<Cause> causes_of(const std::string& unsupported, Choices& choices) {
  std::vector<Cause> causes;
  std::istringstream names(unsupported);
  for (std::string name; names >> name;) {
    causes.push_back({name, static_cast<Cause::Kind>(choices.below(3))});
  }
  return causes;
}

std::string op_of(const Cause& cause) { return "op_" + cause.node; }

// The node's line, `n3: float32[2], n3b: scalar = f(x)`, with the op of its cause.
std::string with_own_op(const std::string& line, const std::vector<Cause>& causes) {
  const std::string node = line.substr(0, line.find_first_of(":, ="));
  const std::size_t call = line.find(" = f(");
  const auto cause = std::find_if(causes.begin(), causes.end(),
                                  [&](const Cause& each) { return each.node == node; });
  if (call == line.npos || cause == causes.end()) return line;
  return line.substr(0, call + 3) + op_of(*cause) + line.substr(call + 4);
}

std::string with_own_ops(const std::string& text, const std::vector<Cause>& causes) {
  std::string made;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) made += with_own_op(line, causes) + "\n";
  return made;
}

ExtendOptions some_extension(Choices& choices) {
  using Which = ExtendOptions::Which;
  return {static_cast<Which>(choices.below(4)), choices.below(6)};
}

SplitOptions some_options(Choices& choices) {
  SplitOptions options;
  options.allow_non_tensor = choices.below(4) == 3;
  options.skip_fusion = choices.below(4) == 3;
  options.start = static_cast<StartSide>(choices.below(4));
  options.min_acc_size = choices.below(5);
  options.extend = some_extension(choices);
  const std::size_t rare = choices.below(8);
  options.keep_qdq = rare == 5;
  options.host_shapes = rare == 6;
  if (rare == 7) {
    options.most_kept = choices.below(3);
    options.keep_by = static_cast<KeepBy>(choices.below(3));
  }
  return options;
}

Rule rule_for(std::string op) {
  Rule rule;
  rule.op = std::move(op);
  rule.line = 1;
  rule.column = 1;
  return rule;
}

}  // namespace

std::size_t Choices::below(std::size_t bound) {
  std::size_t number = 0;
  for (std::size_t most = 1; most < bound && !bytes_.empty(); most *= 256) {
    number = number * 256 + static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
  }
  return number % bound;
}

PassCase pass_case(std::string_view bytes) {
  Choices choices(bytes);
  SplitOptions options = some_options(choices);
  const RandomGraph random =
      random_graph([&](std::size_t bound) { return choices.below(bound); }, kMostNodes);
  std::vector<Cause> causes = causes_of(random.unsupported, choices);
  std::string text = with_own_ops(random.text, causes);
  Graph graph = graph_from_text(text);
  return {std::move(text), std::move(graph), std::move(causes), std::move(options)};
}

std::vector<SupportList> lists_of(const std::vector<Cause>& causes, std::size_t without) {
  SupportList list;
  list.name = list.path = "list";
  list.allow.push_back(rule_for("f"));
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const Cause& cause = causes[i];
    if (cause.kind == Cause::Kind::no_rule && i != without) continue;
    Rule rule = rule_for(op_of(cause));
    if (cause.kind == Cause::Kind::rule_failed && i != without) {
      rule.conditions = {attribute_within("mode", 1.0, 2.0)};
    }
    list.allow.push_back(std::move(rule));
    if (cause.kind != Cause::Kind::denied || i == without) continue;
    Rule denied = rule_for("");
    denied.node_name = cause.node;
    list.deny.push_back(std::move(denied));
  }
  return {std::move(list)};
}

}  // namespace cleave::fuzz
