// Reads native graph JSON in one pass: the fields of the graph may come in any order, and values
// may be read before they are declared, so names are resolved at the end, by the builder.
#include "formats/models/graph_json.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "formats/base/json.h"
#include "formats/base/process.h"

namespace cleave {

namespace {

enum GraphField : std::size_t {
  kFormat,
  kVersion,
  kName,
  kInputs,
  kOutputs,
  kOutputTree,
  kParameters,
  kNodes,
};
constexpr std::array<std::string_view, 8> kFields = {
    "format", "version", "name", "inputs", "outputs", "output_tree", "parameters", "nodes"};

constexpr std::string_view kFormatName = "cleave.graph";
constexpr std::int64_t kNewestVersion = 1;
constexpr std::size_t kLargestJson = 0xFFFFFFFF - 1024;  // simdjson uses 32-bit offsets
constexpr std::size_t kNodesBetweenTold = 4096;
constexpr std::size_t kBytesOfNode = 240;  // while it is read and split; approximate
// reserves memory for at most this many times the nodes read so far
constexpr std::size_t kMostTimes = 16;

class GraphJsonReader {
 public:
  GraphJsonReader(const SourceFile& source, const ShapeBindings& bindings,
                  const ModelLimits& limits, const Progress& progress)
      : source_(source),
        limits_(limits),
        progress_(progress),
        faults_(source),
        cursor_(std::make_unique<JsonCursor>(source.bytes(), limits.depth)),
        values_(*cursor_, faults_, builder_, bindings, limits_),
        nodes_(*cursor_, faults_, builder_, values_, limits_),
        header_faults_(source) {}

  Loaded<GraphJson> read();

 private:
  struct Parameter {
    std::string_view name;
    ValueHandle handle;
    bool is_attribute_read;
  };
  struct Alias {
    std::string_view name, of;
    std::uint64_t offset;  // of `of`
    ValueHandle handle;
  };

  void read_graph();
  void read_field(std::size_t field, JsonFields& fields);
  void read_format(JsonFields& fields);
  void read_version(JsonFields& fields);
  void read_inputs(JsonFields& fields);
  void read_outputs(JsonFields& fields);
  void read_parameters(JsonFields& fields);
  void add_parameter(const DeclaredValue& value);
  void read_nodes(JsonFields& fields);
  void expect_more(std::size_t nodes, std::uint64_t begin);
  void add_beyond_limit(std::uint64_t ModelLimits::*limit);
  void find_header_fault();
  void tie_parameters();
  void tie_aliases();
  void report_syntax();
  void report(const GraphFault& fault);
  void check_module_parameters(const Graph& graph);
  Diagnostics errors() const;
  Loaded<GraphJson> finish();

  const SourceFile& source_;
  const ModelLimits& limits_;
  const Progress& progress_;
  JsonFaults faults_;
  std::unique_ptr<JsonCursor> cursor_;
  GraphBuilder builder_;
  GraphJsonValues values_;
  GraphJsonNodes nodes_;

  // The file is not native JSON, or beyond a limit: other faults are not reported then.
  JsonFaults header_faults_;
  bool has_format_ = false, has_version_ = false;
  SourceSpan output_tree_;
  std::vector<Parameter> parameters_;
  std::vector<Alias> aliases_;
  std::unordered_map<std::string_view, ValueHandle> targets_;  // the first read of each attribute
};

void GraphJsonReader::read_graph() {
  const JsonSubject graph;
  const JsonType type = cursor_->type();
  if (type == JsonType::none) return;
  if (type != JsonType::object) {
    return header_faults_.add(
        0, "a graph must be an object, not " + std::string(json_type_name(type)));
  }
  JsonFields fields(*cursor_, faults_, kFields, graph);
  while (const auto field = fields.next()) {
    read_field(*field, fields);
    if (faults_.is_full() || !header_faults_.empty()) return;
  }
  cursor_->expect_end();
  if (!fields.has(kNodes) && !cursor_->fault()) faults_.add("has no \"nodes\"");
}

void GraphJsonReader::read_field(std::size_t field, JsonFields& fields) {
  switch (field) {
    case kFormat:
      return read_format(fields);
    case kVersion:
      return read_version(fields);
    case kName:
      if (fields.is(JsonType::string)) builder_.set_name(values_.kept_name(cursor_->take_string()));
      return;
    case kInputs:
      return read_inputs(fields);
    case kOutputs:
      return read_outputs(fields);
    case kParameters:
      return read_parameters(fields);
    case kNodes:
      return read_nodes(fields);
    default: {
      const std::uint64_t begin = cursor_->offset();
      cursor_->skip();
      output_tree_ = {begin, static_cast<std::uint32_t>(cursor_->end_of_last() - begin)};
    }
  }
}

void GraphJsonReader::read_format(JsonFields& fields) {
  has_format_ = true;
  const std::uint64_t offset = cursor_->offset();
  if (!fields.is(JsonType::string)) return;
  const std::string format = unescaped(cursor_->take_string());
  if (format == kFormatName || cursor_->fault()) return;
  header_faults_.add(offset,
                     "not a cleave.graph file (\"format\" is " + escaped_in_quotes(format) + ")");
}

void GraphJsonReader::read_version(JsonFields& fields) {
  has_version_ = true;
  const std::uint64_t offset = cursor_->offset();
  if (!fields.is(JsonType::number)) return;
  const JsonNumber number = cursor_->take_number();
  const auto version = number.integer();
  if (version == kNewestVersion || cursor_->fault()) return;
  const std::string intro = "\"version\" is " + std::string(number.text.substr(0, 40));
  const std::string newest = std::to_string(kNewestVersion);
  if (number.is_whole() && number.real() > static_cast<double>(kNewestVersion)) {
    header_faults_.add(offset, intro + ", newer than what this cleave reads (" + newest + ")");
  } else {
    header_faults_.add(offset, intro + "; it must be " + newest);
  }
}

void GraphJsonReader::read_inputs(JsonFields& fields) {
  if (!fields.is(JsonType::list)) return;
  cursor_->enter();
  for (std::size_t i = 0; cursor_->next_item() && !faults_.is_full(); ++i) {
    JsonSubject subject{"input", "inputs", i, {}, nullptr};
    const DeclaredValue value = values_.read(subject, ValueRole::input);
    if (!value.decl.name.empty()) builder_.add_input(value.decl, value.where);
  }
}

void GraphJsonReader::read_outputs(JsonFields& fields) {
  if (!fields.is(JsonType::list)) return;
  cursor_->enter();
  while (cursor_->next_item() && !faults_.is_full()) {
    if (cursor_->type() != JsonType::string) {
      fields.refuse_item("a value's name");
      continue;
    }
    const std::uint64_t begin = cursor_->offset();
    const std::string_view name = values_.kept_name(cursor_->take_string());
    const auto length = static_cast<std::uint32_t>(cursor_->end_of_last() - begin);
    builder_.add_graph_output(builder_.value_named(name), {begin, length});
  }
}

void GraphJsonReader::read_parameters(JsonFields& fields) {
  if (!fields.is(JsonType::list)) return;
  cursor_->enter();
  for (std::size_t i = 0; cursor_->next_item() && !faults_.is_full(); ++i) {
    JsonSubject subject{"parameter", "parameters", i, {}, nullptr};
    const DeclaredValue value = values_.read(subject, ValueRole::parameter);
    if (!value.decl.name.empty()) add_parameter(value);
  }
}

void GraphJsonReader::add_parameter(const DeclaredValue& value) {
  const ValueHandle handle = builder_.add_parameter(value.decl, value.where);
  const bool reads_target = value.is_attribute_read && !value.target.empty();
  parameters_.push_back({value.decl.name, handle, reads_target});
  if (!value.alias_of.empty()) {
    aliases_.push_back({value.decl.name, value.alias_of, value.alias_offset, handle});
  }
  if (!reads_target) return;
  const auto [first, is_new] = targets_.emplace(value.target, handle);
  if (!is_new) builder_.set_alias(handle, first->second);
}

void GraphJsonReader::read_nodes(JsonFields& fields) {
  if (!fields.is(JsonType::list)) return;
  const std::uint64_t begin = cursor_->offset();
  std::size_t next_expected = kNodesBetweenTold;
  cursor_->enter();
  for (std::size_t i = 0; cursor_->next_item() && !faults_.is_full(); ++i) {
    if (i % kNodesBetweenTold == 0) {
      tell(progress_, {"reading", "bytes", cursor_->offset(), source_.size()});
    }
    if (i == next_expected) {
      expect_more(i, begin);
      next_expected *= kMostTimes;
    }
    if (i == limits_.nodes) return add_beyond_limit(&ModelLimits::nodes);
    nodes_.read(i);
    if (nodes_.value_count() > limits_.values) return add_beyond_limit(&ModelLimits::values);
  }
}

// The rest of the file most likely has nodes like those read so far. The estimate never reserves
// much more than what is there already.
void GraphJsonReader::expect_more(std::size_t nodes, std::uint64_t begin) {
  const auto read = static_cast<double>(cursor_->offset() - begin);
  const auto left = static_cast<double>(source_.size() - cursor_->offset());
  const double times = std::min(1.05 * (read + left) / read, static_cast<double>(kMostTimes));
  prefer_large_pages(static_cast<std::size_t>(times * static_cast<double>(nodes)) * kBytesOfNode);
  builder_.expect_times(times);
}

void GraphJsonReader::add_beyond_limit(std::uint64_t ModelLimits::*limit) {
  header_faults_.add(cursor_->offset(), "the graph has " + beyond_limit(limits_, limit));
}

// Whether the file is native JSON at all matters more than its other faults: searches for the
// header after them, and a missing header becomes the fault.
void GraphJsonReader::find_header_fault() {
  cursor_ = std::make_unique<JsonCursor>(source_.bytes());
  JsonFaults ignored(source_);
  const JsonSubject graph;
  if (cursor_->type() != JsonType::object) return;
  JsonFields fields(*cursor_, ignored, kFields, graph);
  while (const auto field = fields.next()) {
    if (field == kFormat && !has_format_) {
      read_format(fields);
    } else if (field == kVersion && !has_version_) {
      read_version(fields);
    } else {
      cursor_->skip();
    }
  }
  if (cursor_->fault()) return;
  if (!has_format_) return header_faults_.add("not a cleave.graph file (\"format\" is missing)");
  if (!has_version_) header_faults_.add("\"version\" is missing; it must be 1");
}

// A module's own parameter and reads of the attribute with the same path are one parameter.
void GraphJsonReader::tie_parameters() {
  if (targets_.empty()) return;
  for (const Parameter& parameter : parameters_) {
    const auto read = targets_.find(parameter.name);
    if (!parameter.is_attribute_read && read != targets_.end()) {
      builder_.set_alias(read->second, parameter.handle);
    }
  }
}

void GraphJsonReader::tie_aliases() {
  if (aliases_.empty()) return;
  std::unordered_map<std::string_view, ValueHandle> by_name;
  for (const Parameter& parameter : parameters_) by_name.emplace(parameter.name, parameter.handle);
  for (const Alias& alias : aliases_) {
    const auto canonical = by_name.find(alias.of);
    if (canonical != by_name.end()) {
      if (canonical->second != alias.handle) builder_.set_alias(alias.handle, canonical->second);
      continue;
    }
    std::vector<std::string_view> names;
    for (const Parameter& parameter : parameters_) names.push_back(parameter.name);
    const std::string nearest = nearest_name(alias.of, names);
    std::vector<std::string> notes;
    if (!nearest.empty()) notes.push_back("did you mean " + escaped_in_quotes(nearest) + "?");
    faults_.add(alias.offset,
                "parameter " + escaped_in_quotes(alias.name) + " is an alias of " +
                    escaped_in_quotes(alias.of) + ", which is not a parameter",
                std::move(notes));
    if (faults_.is_full()) return;
  }
}

void GraphJsonReader::report_syntax() {
  const JsonFault& fault = *cursor_->fault();
  std::vector<std::string> notes;
  if (fault.opened_at) {
    const bool is_object = source_.bytes()[*fault.opened_at] == '{';
    notes.push_back((is_object ? "the object that is open here begins at "
                               : "the list that is open here begins at ") +
                    faults_.place_of(*fault.opened_at));
  }
  faults_.add(fault.offset, fault.message, std::move(notes));
}

void GraphJsonReader::report(const GraphFault& fault) {
  std::vector<std::string> notes = fault.notes;
  if (fault.first.length > 0) {
    notes.push_back("the first one is at " +
                    faults_.place_of(place_of_fault(source_.bytes(), fault, fault.first)));
  }
  if (fault.where.length == 0) return faults_.add(fault.message, std::move(notes));
  faults_.add(place_of_fault(source_.bytes(), fault, fault.where), fault.message, std::move(notes));
}

void GraphJsonReader::check_module_parameters(const Graph& graph) {
  for (const NodeId id : graph.nodes()) {
    for (const ValueId value : graph.module_parameters(id)) {
      if (graph.is_parameter(value) || faults_.is_full()) continue;
      const Node& node = graph.node(id);
      const std::string_view name = graph.value(value).name;
      faults_.add(place_in_field(source_.bytes(), node.source, "module_parameters", name),
                  "\"module_parameters\" of node " + escaped_in_quotes(node.name) + " names " +
                      escaped_in_quotes(name) + ", which is not a parameter");
    }
  }
}

Diagnostics GraphJsonReader::errors() const {
  return header_faults_.empty() ? faults_.errors() : header_faults_.errors();
}

Loaded<GraphJson> GraphJsonReader::finish() {
  cursor_.reset();  // its index is as large as the graph: free it before the builder finishes
  Result<Graph, std::vector<GraphFault>> graph = builder_.finish();
  if (!graph) {
    for (const GraphFault& fault : graph.error()) report(fault);
    return errors();
  }
  check_module_parameters(*graph);
  if (!faults_.empty()) return errors();
  const bool was_sorted = builder_.was_sorted();
  GraphJson result{was_sorted ? graph->with_order(order_of_writes(*graph)) : *std::move(graph),
                   faults_.warnings(),
                   {},
                   output_tree_};
  if (!was_sorted) {
    result.notes.emplace_back(
        "the nodes were not in topological order; they were sorted, and keep the file's order "
        "where possible");
  }
  return result;
}

Loaded<GraphJson> GraphJsonReader::read() {
  read_graph();
  if (cursor_->fault()) {
    report_syntax();
  } else if (header_faults_.empty() && !(has_format_ && has_version_)) {
    find_header_fault();
  }
  if (!header_faults_.empty()) return errors();
  if (!cursor_->fault()) {
    tie_parameters();
    tie_aliases();
    values_.check_bindings();
  }
  if (!faults_.empty()) return errors();
  return finish();
}

}  // namespace

bool looks_like_json(std::string_view bytes) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != bytes.npos && bytes[first] == '{';
}

Loaded<GraphJson> read_graph_json(const SourceFile& source, const ShapeBindings& bindings,
                                  const ModelLimits& limits, const Progress& progress) {
  if (source.size() > kLargestJson) {
    return Diagnostics{
        diagnostic_of(source.path(), "is larger than 4 GiB, the most that can be read as JSON")};
  }
  return GraphJsonReader(source, bindings, limits, progress).read();
}

}  // namespace cleave
