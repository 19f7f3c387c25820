#include "formats/models/graph_json/items.h"

#include "formats/base/json/cursor.h"
#include "formats/base/json/pieces.h"
#include "formats/models/graph_json/made.h"
#include "formats/models/graph_json/places.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace cleave {
namespace {

// The parameters of one file, and how they refer to each other as aliases there.
class ParameterNames {
 public:
  ParameterNames(const Graph& graph, std::span<const ValueId> ids) : graph_(graph) {
    for (const ValueId id : ids) {
      names_.insert(graph.value(id).name);
      first_.emplace(index(graph.canonical_parameter(id)), id);
    }
  }

  // The declaration, with an `alias_of` that names a parameter of the file, or without one.
  std::string adapted(std::string_view declaration, ValueId id) const {
    JsonObjectText text;
    JsonCursor cursor(declaration);
    cursor.enter();
    while (const auto key = cursor.next_key()) {
      const std::string field = unescaped(*key);
      if (field == "alias_of") {
        const auto name = name_here(unescaped(cursor.take_string()), id);
        if (name) text.add(field, json_string(*name));
        continue;
      }
      const std::uint64_t begin = cursor.offset();
      cursor.skip();
      text.add(field, json_on_one_line(declaration.substr(begin, cursor.end_of_last() - begin)));
    }
    return text.text();
  }

 private:
  std::optional<std::string> name_here(const std::string& alias_of, ValueId id) const {
    if (names_.contains(alias_of)) return alias_of;
    const ValueId first = first_.at(index(graph_.canonical_parameter(id)));
    if (first == id) return std::nullopt;
    return std::string(graph_.value(first).name);
  }

  const Graph& graph_;
  std::unordered_set<std::string_view> names_;
  std::unordered_map<std::uint32_t, ValueId> first_;  // by canonical parameter
};

// The declaration of a parameter as that of a graph input, without fields that only parameters
// have.
std::string as_input(std::string_view declaration) {
  constexpr std::array<std::string_view, 6> kShared = {"name",  "type",     "dtype",
                                                       "shape", "elements", "py_type"};
  JsonObjectText text;
  JsonCursor cursor(declaration);
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const std::string field = unescaped(*key);
    const std::uint64_t begin = cursor.offset();
    cursor.skip();
    if (std::find(kShared.begin(), kShared.end(), field) == kShared.end()) continue;
    text.add(field, json_on_one_line(declaration.substr(begin, cursor.end_of_last() - begin)));
  }
  return text.text();
}

}  // namespace

GraphJsonItems::GraphJsonItems(const LoadedModel& model) : model_(model), graph_(model.graph) {}

std::string_view GraphJsonItems::source_of(SourceSpan span) const {
  if (model_.format() != ModelFormat::graph_json) return {};
  return model_.source.bytes().substr(span.offset, span.length);
}

std::string GraphJsonItems::node(NodeId id) const {
  const std::string_view source = source_of(graph_.node(id).source);
  return source.empty() ? make_node_json(model_, id) : json_on_one_line(source);
}

std::string GraphJsonItems::value(ValueId id) const {
  const Value& value = graph_.value(id);
  SourceSpan span = graph_.declaration(id);
  if (value.kind == ValueKind::node_output && model_.format() == ModelFormat::graph_json) {
    span = span_of_output(model_.source.bytes(), graph_.node(value.producer).source, value.slot);
  }
  const std::string_view source = source_of(span);
  if (source.empty()) return make_value_json(model_, id);
  return graph_.is_parameter(id) ? as_input(source) : json_on_one_line(source);
}

std::vector<std::string> GraphJsonItems::parameters(std::span<const ValueId> ids) const {
  std::optional<ParameterNames> names;
  std::vector<std::string> texts;
  texts.reserve(ids.size());
  for (const ValueId id : ids) {
    const std::string_view source = source_of(graph_.declaration(id));
    if (source.empty()) {
      texts.push_back(make_value_json(model_, id));
    } else if (source.find("alias_of") == source.npos) {
      texts.push_back(json_on_one_line(source));
    } else {
      if (!names) names.emplace(graph_, ids);
      texts.push_back(names->adapted(source, id));
    }
  }
  return texts;
}

}  // namespace cleave
