#include "tests/core/graph/random_graph.h"

#include <array>
#include <iterator>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

class Writer {
 public:
  Writer(std::function<std::size_t(std::size_t)> choose, std::size_t most_nodes)
      : choose_(std::move(choose)),
        node_count_(1 + below(most_nodes)),
        reach_(one_in(2) ? 4 : most_nodes),
        non_tensors_(below(4)),
        unsupported_one_in_(2 + below(8)) {}

  RandomGraph write() && {
    add_sources();
    for (std::size_t i = 0; i < node_count_; ++i) add_node("n" + std::to_string(i));
    add_outputs();
    Graph graph = graph_from_text(text_);
    Support support = support_all_but(graph, unsupported_);
    return {text_, unsupported_, std::move(graph), std::move(support)};
  }

 private:
  std::size_t below(std::size_t bound) { return choose_(bound); }
  bool one_in(std::size_t n) { return below(n) == 0; }

  void add_sources() {
    text_ += "input x\ninput k: scalar\ninput u: int64[3]\nparam w: float32[5,5]\nparam v = w\n";
    sources_ = {"x", "x", "k", "u", "w", "v"};
    if (one_in(3)) {
      text_ += "const c = Cast(w)\nconst d: scalar = Size(c)\n";
      sources_.insert(sources_.end(), {"c", "d"});
    }
  }

  std::string type() {
    static constexpr std::array<const char*, 6> kOthers = {": scalar",
                                                           ": scalar",
                                                           ": list(scalar, scalar)",
                                                           ": tuple(float32[2], scalar)",
                                                           ": tuple(tuple(int64[1]))",
                                                           ": none"};
    if (non_tensors_ == 0 || !one_in(5 - non_tensors_)) {
      return ": float32[" + std::to_string(1 + below(9)) + "]";
    }
    return kOthers[below(kOthers.size())];
  }

  // One made lately, or anything that is there.
  std::string some_value() {
    if (values_.empty() || one_in(6)) return sources_[below(sources_.size())];
    return values_[values_.size() - 1 - below(std::min(values_.size(), reach_))];
  }

  std::string argument() {
    switch (below(12)) {
      case 0:
        return "[" + some_value() + ", " + some_value() + "]";
      case 1:
        return "k1=" + some_value();
      case 2:
        return "k2=[" + some_value() + "]";
      case 3:
        return "_";
      case 4:
        return "^" + some_value();
      default:
        return some_value();
    }
  }

  void add_node(const std::string& name) {
    std::string outputs = name + type();
    std::vector<std::string> made = {name};
    if (one_in(6)) {
      made.push_back(name + "b");
      outputs += ", " + made.back() + type();
    }
    std::string arguments;
    for (std::size_t i = one_in(8) ? 0 : 1 + below(3); i > 0; --i) {
      arguments += (arguments.empty() ? "" : ", ") + argument();
    }
    text_ += outputs + " = f(" + arguments + ")" + (one_in(9) ? " !w" : "") + "\n";
    values_.insert(values_.end(), made.begin(), made.end());
    if (one_in(unsupported_one_in_)) unsupported_ += (unsupported_.empty() ? "" : " ") + name;
  }

  void add_outputs() {
    text_ += "output " + values_.back();
    for (std::size_t i = below(4); i > 0; --i) text_ += ", " + some_value();
    text_ += "\n";
  }

  std::function<std::size_t(std::size_t)> choose_;
  std::size_t node_count_, reach_, non_tensors_, unsupported_one_in_;
  std::string text_, unsupported_;
  std::vector<std::string> sources_, values_;
};

}  // namespace

RandomGraph random_graph(std::uint32_t seed, std::size_t most_nodes) {
  return random_graph(
      [rng = std::mt19937(seed)](std::size_t bound) mutable { return rng() % bound; }, most_nodes);
}

RandomGraph random_graph(std::function<std::size_t(std::size_t)> below, std::size_t most_nodes) {
  return Writer(std::move(below), most_nodes).write();
}

Graph with_some_state(const Graph& graph, std::uint32_t seed) {
  FoundState found;
  std::set<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  std::erase_if(outputs, [&](ValueId output) {
    const Value& value = graph.value(output);
    return value.kind != ValueKind::node_output || !value.is_tensor() ||
           !graph.nodes().contains(value.producer);
  });
  for (const ValueId input : graph.inputs()) {
    if (outputs.empty()) break;
    if (!graph.value(input).is_tensor()) continue;
    const auto output =
        std::next(outputs.begin(), static_cast<std::ptrdiff_t>(seed % outputs.size()));
    found.pairs.push_back({.input = input, .output = *output, .is_result = seed % 5 == 0});
    outputs.erase(output);
  }
  return graph.with_state(std::move(found));
}

}  // namespace cleave
