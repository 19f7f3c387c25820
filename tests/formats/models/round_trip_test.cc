// Random graphs written as JSON, read, written and read again, whole and in parts.
#include "core/split/split.h"

#include <random>

#include "formats/base/json.h"
#include "formats/models/graph_json.h"
#include "tests/catch2.h"
#include "tests/formats/base/graph_description.h"

namespace cleave {

namespace {

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {}

  std::string text() {
    JsonObjectText graph;
    graph.add("format", "\"cleave.graph\"");
    graph.add("version", "1");
    graph.add("name", json_string(odd("graph")));
    graph.add("inputs", json_list(declarations("input", below(4))));
    graph.add("parameters", json_list(declarations("weight", below(4))));
    std::vector<std::string> nodes(below(12));
    for (std::string& text : nodes) text = node();
    std::shuffle(nodes.begin(), nodes.end(), random_);
    graph.add("nodes", json_list(nodes));
    std::vector<std::string> outputs(names_.empty() ? 0 : below(5));
    for (std::string& output : outputs) output = any_name();
    graph.add("outputs", json_list(outputs));
    return spread(graph.text());
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  bool chance(std::size_t of) { return below(of) == 0; }
  std::string any_name() { return json_string(names_[below(names_.size())]); }

  // A name that is difficult for readers, made unique by its number.
  std::string odd(const std::string& name) {
    constexpr std::string_view kOdd[] = {"", "\"", "\\", "\n", "/", "\u00e9", ".", " "};
    return name + std::string(kOdd[below(std::size(kOdd))]) + std::to_string(count_++);
  }

  std::vector<std::string> declarations(const std::string& name, std::size_t count) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string value = odd(name);
      texts.push_back(declaration(value));
      names_.push_back(value);
    }
    return texts;
  }

  std::string declaration(const std::string& name) {
    JsonObjectText value;
    value.add("name", json_string(name));
    add_type(value, 0);
    return value.text();
  }

  void add_type(JsonObjectText& value, std::size_t depth) {
    constexpr std::string_view kDtypes[] = {"float32", "int64", "bool", "int4"};
    constexpr std::string_view kDims[] = {"0", "3", "\"N\"", "null", "9223372036854775807"};
    if (chance(4)) return;
    if (chance(3) && depth < 3) {
      std::vector<std::string> elements(below(3));
      for (std::string& text : elements) {
        JsonObjectText element;
        add_type(element, depth + 1);
        text = element.text();
      }
      value.add("type", "\"tuple\"");
      value.add("elements", json_list(elements));
      return;
    }
    value.add("dtype", json_string(kDtypes[below(std::size(kDtypes))]));
    std::vector<std::string> dims(below(3));
    for (std::string& dim : dims) dim = kDims[below(std::size(kDims) - (dims.size() > 1 ? 1 : 0))];
    if (!chance(4)) value.add("shape", json_list(dims));
  }

  std::string reference() {
    if (names_.empty() || chance(5)) return "null";
    if (!chance(4)) return any_name();
    std::vector<std::string> items(below(3));
    for (std::string& item : items) item = reference();
    return "{\"list\": " + json_list(items) + "}";
  }

  std::string node() {
    JsonObjectText node;
    node.add("name", json_string(odd("node")));
    node.add("op", chance(2) ? "\"f\"" : "\"g\"");
    std::vector<std::string> inputs(below(4));
    for (std::string& input : inputs) input = reference();
    node.add("inputs", json_list(inputs));
    JsonObjectText kwargs;
    for (std::size_t i = below(3); i > 0; --i) kwargs.add("k" + std::to_string(i), reference());
    if (!kwargs.empty()) node.add("kwargs", kwargs.text());
    std::vector<std::string> outputs = declarations("value", below(3));
    if (chance(5)) outputs.insert(outputs.begin(), "null");
    node.add("outputs", json_list(outputs));
    if (chance(2))
      node.add("attributes", R"({"i": 1, "r": [1, 2.5], "s": ["\u0041"], "m": {"a": [null]}})");
    if (chance(4)) node.add("cost", R"({"flops": 1e3})");
    return node.text();
  }

  // Line breaks where JSON allows them.
  std::string spread(const std::string& text) {
    std::string out;
    bool is_inside = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\') {
        out += text[i++];
      } else if (text[i] == '"') {
        is_inside = !is_inside;
      }
      out += text[i];
      const bool is_gap = text[i] == ',' || text[i] == '{' || text[i] == '[' || text[i] == ':';
      if (!is_inside && is_gap && chance(6)) out += "\n  ";
    }
    return out;
  }

  std::mt19937 random_;
  std::size_t count_ = 0;
  std::vector<std::string> names_;  // of values declared so far
};

LoadedModel model_of(const std::string& text) {
  SourceFile source = SourceFile::from_text("m.json", text);
  Loaded<GraphJson> json = read_graph_json(source, {});
  if (!json) FAIL(format_diagnostic(json.error().at(0)) + text);
  return {.source = std::move(source),
          .origin = GraphJsonOrigin{json->output_tree},
          .graph = std::move(json->graph),
          .warnings = std::move(json->warnings),
          .notes = {}};
}

// The lines about nodes in the description.
std::vector<std::string> node_lines(const Graph& graph) {
  std::vector<std::string> blocks;
  std::istringstream lines(described(graph));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("node ")) blocks.emplace_back();
    if (line.starts_with("output ")) break;
    if (!blocks.empty()) blocks.back() += line + '\n';
  }
  return blocks;
}

TEST_CASE("a written graph reads back as the same graph, and is written the same again") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const LoadedModel model = model_of(RandomGraph(seed).text());
    const std::string written = write_graph_json(model);
    const LoadedModel again = model_of(written);
    CHECK(described(again.graph) == described(model.graph));
    CHECK(write_graph_json(again) == written);
    CHECK(again.warnings.empty());
  }
}

TEST_CASE("the parts of a random graph hold its nodes, and the root calls them") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const LoadedModel model = model_of(RandomGraph(seed).text());
    const Graph& graph = model.graph;
    constexpr std::size_t kParts = 3;
    PerNode<PartId> part_of(graph.node_count());
    for (const NodeId node : graph.nodes()) {
      part_of[node] = id_at<PartId>(index(node) * kParts / graph.node_count());
    }
    const Partition partition =
        make_partition(part_of, {"a", "b", "c"}, {Device::cpu, Device::acc, Device::cpu});
    const Boundaries boundaries = find_boundaries(graph, partition);
    std::vector<std::string> nodes;
    for (const PartId part : partition.parts()) {
      const LoadedModel again = model_of(write_part_json(model, partition, boundaries, part));
      CHECK(again.warnings.empty());
      const std::vector<std::string> lines = node_lines(again.graph);
      nodes.insert(nodes.end(), lines.begin(), lines.end());
    }
    CHECK(nodes == node_lines(graph));
    const LoadedModel root = model_of(write_root_json(model, partition, boundaries));
    CHECK(root.graph.node_count() == partition.count());
    CHECK(root.graph.outputs().size() == graph.outputs().size());
    for (const PartId part : partition.parts()) {
      const NodeId call = id_at<NodeId>(index(part));
      CHECK(root.graph.node(call).name == partition.name(part));
      CHECK(root.graph.outputs(call).size() == boundaries.outputs[part].size());
    }
  }
}

}  // namespace

}  // namespace cleave
