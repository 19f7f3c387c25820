// Tables that pipelines need: loss specs, maps of partitions, workloads.
#include "formats/lists/stage_tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/base.h"
#include "core/base/min_cut.h"
#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/lists/support_file.h"
#include "formats/models/models.h"
#include "formats/onnx/index/index.h"

namespace cleave {

// ---- loss spec ----

namespace {

using Json = nlohmann::ordered_json;

// What the model returns: nested lists and objects of values' names.
Json returned_by(const LoadedModel& model) {
  const SourceSpan span = model.output_tree();
  if (span.length > 0) {
    return Json::parse(model.source.bytes().substr(span.offset, span.length), nullptr, false);
  }
  Json names = Json::array();
  for (const ValueId value : model.graph.outputs()) {
    names.push_back(std::string(model.graph.value(value).name));
  }
  return names.size() == 1 ? names.front() : names;
}

std::string kind_text(const Json& json) {
  if (json.is_array()) return "a list of " + std::to_string(json.size());
  if (json.is_object()) return "an object";
  if (json.is_string()) return "the value " + escaped_in_quotes(json.get_ref<const std::string&>());
  return json.dump();
}

std::string keys_text(const Json& object) {
  std::string text;
  for (const auto& [key, value] : object.items())
    text += (text.empty() ? "" : ", ") + escaped_in_quotes(key);
  return text.empty() ? "no keys" : text;
}

// Walks the spec along with what is returned; `path` is the current position: "output[1].loss".
class SpecReader {
 public:
  Status<> read(const Json& spec, const Json& returned, const std::string& path) {
    if (spec.is_boolean()) return spec.get<bool>() ? mark(returned, path) : Done{};
    if (spec.is_array()) return read_list(spec, returned, path);
    if (spec.is_object()) return read_object(spec, returned, path);
    return Error{"the loss spec has " + spec.dump() + " for " + path +
                 ": it holds true, false, lists and objects"};
  }

  const std::vector<std::string>& marked() const { return marked_; }

 private:
  Status<> mark(const Json& returned, const std::string& path) {
    if (!returned.is_string()) {
      return Error{"the loss must be a value, but " + path + " is " + kind_text(returned)};
    }
    marked_.push_back(returned.get<std::string>());
    return Done{};
  }

  Status<> read_list(const Json& spec, const Json& returned, const std::string& path) {
    if (!returned.is_array()) {
      return Error{"the loss spec has a list for " + path + ", which is " + kind_text(returned)};
    }
    if (spec.size() != returned.size()) {
      return Error{"the loss spec has a list of " + std::to_string(spec.size()) + " for " + path +
                   ", which is " + kind_text(returned)};
    }
    for (std::size_t i = 0; i < spec.size(); ++i) {
      if (auto done = read(spec[i], returned[i], path + "[" + std::to_string(i) + "]"); !done) {
        return done;
      }
    }
    return Done{};
  }

  Status<> read_object(const Json& spec, const Json& returned, const std::string& path) {
    if (!returned.is_object()) {
      return Error{"the loss spec has an object for " + path + ", which is " + kind_text(returned)};
    }
    bool same_keys = spec.size() == returned.size();
    for (const auto& item : spec.items()) same_keys = same_keys && returned.contains(item.key());
    if (!same_keys) {
      return Error{"the loss spec has other keys than " + path,
                   std::nullopt,
                   {"the spec: " + keys_text(spec), "the model: " + keys_text(returned)}};
    }
    for (const auto& item : spec.items()) {
      if (auto done = read(item.value(), returned[item.key()], path + "." + item.key()); !done) {
        return done;
      }
    }
    return Done{};
  }

  std::vector<std::string> marked_;
};

Result<std::string> name_by_structure(const Json& spec, const Json& returned) {
  SpecReader reader;
  if (auto done = reader.read(spec, returned, "the output"); !done) return done.error();
  const std::vector<std::string>& marked = reader.marked();
  if (marked.empty()) return Error{"the loss spec marks no output: one must be true"};
  if (marked.size() > 1) {
    return Error{"the loss spec marks several outputs, " + escaped_in_quotes(marked[0]) + " and " +
                 escaped_in_quotes(marked[1]) + ": one must be true"};
  }
  return marked[0];
}

class NameFinder {
 public:
  NameFinder(const LoadedModel& model, const Json& returned) : model_(model), returned_(returned) {}

  // The value returned under this key, or with this name.
  Result<ValueId> find(const std::string& name) const {
    std::string value = name;
    if (returned_.is_object() && returned_.contains(name) && returned_[name].is_string()) {
      value = returned_[name].get<std::string>();
    }
    for (const ValueId output : model_.graph.outputs()) {
      if (model_.graph.value(output).name == value) return output;
    }
    return no_such_output(name);
  }

 private:
  Error no_such_output(const std::string& name) const {
    std::vector<std::string_view> names;
    for (const ValueId output : model_.graph.outputs()) {
      names.push_back(model_.graph.value(output).name);
    }
    Error error{"the model has no output " + escaped_in_quotes(name)};
    const std::string near = nearest_name(name, names);
    error.notes.push_back(near.empty()
                              ? "its outputs: " + capped_list(names, 10, escaped_in_quotes, ", ...")
                              : "did you mean " + escaped_in_quotes(near) + "?");
    return error;
  }

  const LoadedModel& model_;
  const Json& returned_;
};

// True for a text that can only be meant as JSON.
bool is_structure(const std::string& spec) {
  return spec == "true" || spec == "false" || spec.front() == '[' || spec.front() == '{';
}

}  // namespace

Result<ValueId> find_loss(const LoadedModel& model, const std::optional<std::string>& spec) {
  const Json returned = returned_by(model);
  const NameFinder outputs(model, returned);
  if (!spec || spec->empty()) return outputs.find("loss");
  if (!is_structure(*spec)) return outputs.find(*spec);
  const Json structure = Json::parse(*spec, nullptr, false);
  if (structure.is_discarded()) return Error{"the loss spec is not valid JSON: " + *spec};
  const auto name = name_by_structure(structure, returned);
  if (!name) return name.error();
  return outputs.find(*name);
}

// ---- partition map ----

namespace {

constexpr std::size_t kMostNamed = 10;

using Entries = std::vector<PartitionMapEntry>;

// A key with this is Olive's: a module, as names of nodes have it.
const std::string kModule = "module:";
constexpr std::string_view kOlive = "split_assignments";

// ---- JSON ----

void read_json_entry(JsonWalk& json, const std::string& node, std::size_t at, PartitionMap& map) {
  const std::string what = "the partition of " + escaped_in_quotes(node);
  if (json.type() == JsonType::number) {
    const std::size_t place = json.offset();
    const JsonNumber number = json.take_number();
    if (json.is_over()) return;
    if (number.integer()) {
      map.entries.push_back({map.kept.keep(node), map.kept.keep(number.text), at});
    } else {
      json.faults().error(
          place, what + " must be a whole number or a name, not " + std::string(number.text));
    }
  } else if (json.type() == JsonType::string) {
    const auto part = json.take_text(what);
    if (part) map.entries.push_back({map.kept.keep(node), map.kept.keep(*part), at});
  } else {
    json.refuse(what, "a whole number or a name");
  }
}

// Olive's "layers.0=0;layers.1=1", of which the keys are modules.
void read_olive_text(std::string_view text, std::size_t at, PartitionMap& map) {
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(';'));
    // The last '=', as names of modules may have one. An entry without any has a part without a name, which is
    // refused with those of JSON.
    const std::size_t equals = std::min(entry.rfind('='), entry.size());
    map.entries.push_back({map.kept.keep(kModule + std::string(entry.substr(0, equals))),
                           map.kept.keep(entry.substr(std::min(equals + 1, entry.size()))), at});
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
  }
}

// Reads a map, or a report of cleave. A report begins with the field "format"; its map is the field
// "node_map".
class JsonMapReader {
 public:
  JsonMapReader(JsonWalk& json, PartitionMap& map) : json_(json), map_(map) {}

  void read() {
    json_.each_field("a partition map", "an object {\"node\": part, ...}",
                     [&](const std::string& key, std::size_t at) { read_field(key, at); });
    if (map_.has_own_names && !has_map_ && !json_.is_over()) {
      json_.faults().error(0,
                           "the report has no \"node_map\": cleave stage, partition and split "
                           "write one with --json");
    }
  }

 private:
  void read_field(const std::string& key, std::size_t at) {
    if (map_.has_own_names) return read_report_field(key);
    const bool is_first = std::exchange(is_first_, false);
    // Only as the first field: further on the word is the name of a node like any other.
    if (is_first && key == kOlive && json_.type() == JsonType::object) {
      return json_.each_field(kOlive.data(), "an object {\"module\": part, ...}",
                              [&](const std::string& module, std::size_t place) {
                                read_json_entry(json_, kModule + module, place, map_);
                              });
    }
    if (is_first && key == kOlive && json_.type() == JsonType::string) {
      return read_olive_text(json_.take_text("the assignments").value_or(""), at, map_);
    }
    if (!is_first || key != "format" || json_.type() != JsonType::string) {
      return read_json_entry(json_, key, at, map_);
    }
    const auto format = json_.take_text("the format");
    if (!format) return;
    map_.has_own_names = format->starts_with("cleave.");
    if (!map_.has_own_names)
      map_.entries.push_back({map_.kept.keep(key), map_.kept.keep(*format), at});
  }

  void read_report_field(const std::string& key) {
    if (key != "node_map") return json_.skip();
    has_map_ = true;
    json_.each_field(
        "node_map", "an object {\"node\": part, ...}",
        [&](const std::string& node, std::size_t at) { read_json_entry(json_, node, at, map_); });
  }

  JsonWalk& json_;
  PartitionMap& map_;
  bool is_first_ = true;
  bool has_map_ = false;
};

void read_json(std::string_view bytes, PartitionMap& map, TextFaults& faults) {
  const PaddedJson padded(bytes);
  JsonWalk json(padded.text(), faults);
  JsonMapReader(json, map).read();
  json.finish();
}

// ---- CSV and TSV ----

bool is_heading(const CsvRow& row) {
  return row.offset == 0 && row.cells.size() == 2 && row.cells[0] == "node" &&
         row.cells[1] == "partition";
}

void read_rows(std::string_view text, PartitionMap& map, TextFaults& faults) {
  CsvRows rows(text, faults);
  NameTable seen;  // over the entries
  const auto name_of = [&](std::uint32_t i) { return map.entries[i].node; };
  while (const CsvRow* row = rows.next()) {
    if (is_heading(*row)) continue;
    const auto fresh = static_cast<std::uint32_t>(map.entries.size());
    if (row->cells.size() != 2) {
      faults.error(row->offset, std::string("expected a node and its partition, with a ") +
                                    (rows.separator() == ',' ? "comma" : "tab") +
                                    " between, found " + std::to_string(row->cells.size()) +
                                    (row->cells.size() == 1 ? " cell" : " cells"));
    } else if (seen.find_or_insert(row->cells[0], fresh, name_of) != NameTable::kAbsent) {
      faults.error(row->offset, escaped_in_quotes(row->cells[0]) + " is given twice");
    } else {
      map.entries.push_back({row->cells[0], row->cells[1], row->offset});
    }
  }
  map.kept = std::move(rows).take_kept();
}

void refuse_bad_part_names(const Entries& entries, TextFaults& faults) {
  for (const PartitionMapEntry& entry : entries) {
    if (entry.part.empty()) {
      faults.error(entry.offset,
                   "the partition of " + escaped_in_quotes(entry.node) + " has no name");
    } else if (first_invalid_utf8(entry.part) != entry.part.npos) {
      faults.error(entry.offset, "the partition of " + escaped_in_quotes(entry.node) +
                                     " has a name that is not " +
                                     "UTF-8: " + escaped_in_quotes(entry.part));
    }
  }
}

// ---- the map and the graph ----

class MapResolver {
 public:
  MapResolver(const Graph& graph, const SourceFile& source, const PartitionMap& map,
              const PartitionMapOptions& options)
      : graph_(graph),
        entries_(map.entries),
        options_(options),
        has_own_names_(map.has_own_names),
        path_(source.path()),
        faults_(source.path(), source.bytes()),
        entry_of_(graph.node_count(), kUnmapped) {}

  Loaded<Assignment> resolve() {
    find_nodes();
    if (!patterns_.empty()) apply_patterns();
    if (!modules_.empty()) apply_modules();
    if (!options_.fallback) name_missing();
    if (!faults_.errors().empty()) return std::move(faults_.errors());
    return assign();
  }

 private:
  static constexpr std::uint32_t kUnmapped = NameTable::kAbsent;

  // Maps usually list the nodes in model order: the name after the last one found is tried first,
  // and a table of all names is made only when that fails.
  void find_nodes() {
    std::uint32_t next = 0;
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      const std::string_view name = entries_[i].node;
      const bool is_next = next < graph_.node_count() && name_of(next) == name;
      const std::uint32_t node = is_next ? next : find(name);
      if (node == NameTable::kAbsent) {
        if (is_pattern(name)) {
          patterns_.push_back(i);
        } else if (name.starts_with(kModule)) {
          // After the search by name, so that a node with such a name is still a node.
          modules_.emplace(name.substr(kModule.size()), i);
        } else {
          unknown(entries_[i]);
        }
        continue;
      }
      if (node < graph_.node_count()) entry_of_[NodeId{node}] = i;
      next = node + 1;
    }
    if (unknown_.left_out() > 0) {
      faults_.error(0, unknown_.rest("... and # more names that are not nodes of the model"));
    }
  }

  static constexpr std::string_view kScope = "scope:";

  static bool is_scope(std::string_view key) { return key.starts_with(kScope); }
  static bool is_pattern(std::string_view key) { return is_scope(key) || is_glob(key); }

  // Nodes that have a part keep it; of several patterns the first counts.
  void apply_patterns() {
    GlobSet globs;
    std::vector<std::uint32_t> scopes;
    for (const std::uint32_t i : patterns_) {
      const std::string_view key = entries_[i].node;
      if (is_scope(key)) {
        scopes.push_back(i);
      } else {
        globs.add(key, i);
      }
    }
    std::vector<bool> is_met(entries_.size());
    for (const NodeId node : graph_.nodes()) {
      std::vector<std::uint32_t> found = globs.matches(graph_.node(node).name);
      std::ranges::copy_if(scopes, std::back_inserter(found), [&](std::uint32_t i) {
        const std::string_view key = entries_[i].node;
        return is_inside(scope_of(graph_, node), key.substr(kScope.size()));
      });
      for (const std::uint32_t i : found) is_met[i] = true;
      if (found.empty() || entry_of_[node] != kUnmapped) continue;
      entry_of_[node] = *std::ranges::min_element(found);
    }
    for (const std::uint32_t i : patterns_) {
      if (is_met[i] || !unknown_.shows_next()) continue;
      const std::string_view key = entries_[i].node;
      const std::string what = is_scope(key) ? "no node is in " : "no node's name is like ";
      faults_.error(entries_[i].offset, what + escaped_in_quotes(key));
    }
  }

  // "/layers.0/attn/MatMul" is of the module layers.0, the longest that is named. As Olive has it, a node between modules
  // goes with the last that it reads from. Olive leaves out those before all and after all; here they go with the first
  // and the last.
  void apply_modules() {
    // Cost: for each node one search for each '.' in its name.
    std::vector<bool> is_met(entries_.size());
    for (const NodeId node : graph_.nodes()) {
      std::string module(graph_.node(node).name);
      std::ranges::replace(module, '/', '.');
      if (module.starts_with('.')) module.erase(0, 1);
      auto found = modules_.end();
      for (std::size_t end = module.size();
           found == modules_.end() && end > 0 && end != module.npos;
           end = module.rfind('.', end - 1)) {
        found = modules_.find(std::string_view(module).substr(0, end));
      }
      if (found == modules_.end()) continue;
      is_met[found->second] = true;
      entry_of_[node] = found->second;
    }
    for (const auto& [module, i] : modules_) {
      if (is_met[i] || !unknown_.shows_next()) continue;
      faults_.error(entries_[i].offset,
                    "no node's name is in the module " + escaped_in_quotes(module));
    }
    // By number, not by place in the file: parts run in the order of their numbers.
    const auto is_before = [&](std::uint32_t one, std::uint32_t other) {
      const auto number = [&](std::uint32_t i) {
        std::uint64_t read = 0;  // of a name 0
        const std::string_view text = entries_[i].part;
        std::from_chars(text.data(), text.data() + text.size(), read);
        return read;
      };
      return number(one) < number(other);
    };
    std::uint32_t first = modules_.begin()->second;
    for (const auto& [module, i] : modules_) first = is_before(i, first) ? i : first;
    for (const NodeId node : graph_.nodes()) {
      if (entry_of_[node] != kUnmapped) continue;
      // Nodes are in model order, so what a node reads from has its entry before it.
      std::uint32_t last = first;
      for (const Operand& operand : graph_.operands(node)) {
        const NodeId maker = graph_.value(operand.value).producer;
        if (maker == kNone<NodeId> || !graph_.nodes().contains(maker)) continue;
        if (is_before(last, entry_of_[maker])) last = entry_of_[maker];
      }
      entry_of_[node] = last;
    }
  }

  std::string_view name_of(std::uint32_t node) const { return graph_.node(NodeId{node}).name; }

  // A node or constant.
  std::uint32_t find(std::string_view name) {
    const auto names = [this](std::uint32_t i) { return name_of(i); };
    if (!std::exchange(has_table_, true)) {
      const auto count =
          static_cast<std::uint32_t>(graph_.node_count() + graph_.constants().size());
      for (std::uint32_t i = 0; i < count; ++i) table_.find_or_insert(name_of(i), i, names);
    }
    return table_.find(name, names);
  }

  void unknown(const PartitionMapEntry& entry) {
    if (!unknown_.shows_next()) return;
    NearestName nearest(entry.node);
    for (const NodeId node : graph_.nodes()) nearest.offer(graph_.node(node).name);
    std::vector<std::string> notes;
    if (!nearest.best().empty())
      notes.push_back("did you mean " + escaped_in_quotes(nearest.best()) + "?");
    faults_.error(entry.offset, "the model has no node " + escaped_in_quotes(entry.node),
                  std::move(notes));
  }

  void name_missing() {
    std::vector<NodeId> missing;
    for (const NodeId node : graph_.nodes()) {
      if (entry_of_[node] == kUnmapped) missing.push_back(node);
    }
    if (missing.empty()) return;
    const auto name = [&](NodeId node) { return escaped_in_quotes(graph_.node(node).name); };
    faults_.errors().push_back(
        diagnostic_of(path_, counted(missing.size(), "node has", "nodes have") +
                                 " no partition: " + capped_list(missing, kMostNamed, name)));
    faults_.errors().back().notes.emplace_back("--map-option default=NAME is one for all of them");
  }

  // Parts are numbered in model order.
  Assignment assign() const {
    Assignment result;
    result.part_of = PerNode<PartId>(graph_.node_count());
    std::vector<std::string_view> ids;
    NameTable parts;  // over them
    const auto id_of = [&](std::uint32_t i) { return ids[i]; };
    std::uint32_t part = 0;  // of the node before: usually this one's, too
    for (const NodeId node : graph_.nodes()) {
      const std::string_view id = part_id(node);
      if (ids.empty() || ids[part] != id) {
        const auto fresh = static_cast<std::uint32_t>(ids.size());
        part = std::min(parts.find_or_insert(id, fresh, id_of), fresh);
        if (part == fresh) {
          ids.push_back(id);
          result.names.push_back(part_name(id));
        }
      }
      result.part_of[node] = PartId{part};
    }
    return result;
  }

  std::string_view part_id(NodeId node) const {
    const std::uint32_t entry = entry_of_[node];
    return entry == kUnmapped ? std::string_view(*options_.fallback) : entries_[entry].part;
  }

  std::string part_name(std::string_view id) const {
    if (has_own_names_) return std::string(id);
    return "submod_" + options_.affix + (options_.affix.empty() ? "" : "_") + std::string(id);
  }

  const Graph& graph_;
  const Entries& entries_;
  const PartitionMapOptions& options_;
  bool has_own_names_;
  const std::string& path_;
  TextFaults faults_;
  PerNode<std::uint32_t> entry_of_;
  std::vector<std::uint32_t> patterns_;                // entries with globs and scopes
  std::map<std::string_view, std::uint32_t> modules_;  // entries of Olive's
  NameTable table_;  // over nodes and constants; made when first needed
  bool has_table_ = false;
  CappedList unknown_{kMostNamed};
};

}  // namespace

Loaded<PartitionMap> parse_partition_map(const std::string& path, std::string_view bytes) {
  TextFaults faults(path, bytes);
  PartitionMap map;
  if (faults.refuses_bytes("a partition map is")) return std::move(faults.errors());
  if (!trimmed(bytes).empty() && trimmed(bytes).front() == '{') {
    read_json(bytes, map, faults);
  } else {
    read_rows(bytes, map, faults);
  }
  refuse_bad_part_names(map.entries, faults);
  if (!faults.errors().empty()) return std::move(faults.errors());
  return map;
}

namespace {

// The stage that a NodeProto names; "" where it names none.
// Metadata win over device configurations, whichever comes first in the file; of several configurations the first
// that has a stage decides.
std::string stage_of_node(std::string_view payload) {
  constexpr std::uint32_t kStageOfConfiguration = 3;
  std::string stage;
  OnnxWalk walk;
  for (OnnxFields field(payload, "a node", walk); field.next();) {
    if (field.key() == bytes_field(node_field::kMetadataProps)) {
      const OnnxKeyValue entry = index_onnx_key_value(field.text(), walk);
      if (entry.key == "pipeline_stage") stage = entry.value;
    } else if (field.key() == bytes_field(node_field::kDeviceConfigurations)) {
      for (OnnxFields own(field.text(), "a device configuration", walk); own.next();) {
        if (own.key() != varint_field(kStageOfConfiguration)) {
          own.skip();
        } else if (const std::int64_t number = own.number(); stage.empty()) {
          stage = std::to_string(number);
        }
      }
    } else {
      field.skip();
    }
  }
  return stage;
}

// The tag of ir_version, which writers put first. No text of a map begins with this byte.
bool is_onnx(std::string_view bytes) { return bytes.starts_with('\x08'); }

// The stages that an ONNX model carries: of its nodes, or else Olive's.
Loaded<PartitionMap> map_of_onnx(const std::string& path) {
  const auto model = read_model(path, {.dims = {}, .inputs = {}});
  if (!model) return model.error();
  if (model->onnx() == nullptr) return Diagnostics{diagnostic_of(path, "is no ONNX model")};
  PartitionMap map;
  for (const NodeId node : model->graph.nodes()) {
    // From the bytes of the file: only a map wants these stages, so the graph does not hold them.
    const SourceSpan span = model->graph.node(node).source;
    OnnxWalk walk;
    OnnxFields field(model->source.bytes().substr(span.offset, span.length), "a node", walk);
    if (span.length == 0 || !field.next() || !field.has_bytes()) continue;
    const std::string stage = stage_of_node(field.text());
    if (stage.empty()) continue;
    map.entries.push_back({map.kept.keep(model->graph.node(node).name), map.kept.keep(stage), 0});
  }
  for (const OnnxRecord& record : model->onnx()->metadata_props) {
    OnnxWalk walk;
    const OnnxKeyValue entry = index_onnx_key_value(record.payload, walk);
    // Stages of nodes are the finer map, so Olive's counts only where there are none.
    if (map.entries.empty() && entry.key == kOlive) read_olive_text(entry.value, 0, map);
  }
  TextFaults faults(path, {});
  refuse_bad_part_names(map.entries, faults);
  if (!faults.errors().empty()) return std::move(faults.errors());
  if (!map.entries.empty()) return map;
  Diagnostic fault = diagnostic_of(path, "is a model whose nodes name no stage");
  fault.notes.emplace_back(
      "a map is in pipeline_stage of nodes' metadata or device configurations, or in the model's "
      "split_assignments");
  return Diagnostics{std::move(fault)};
}

}  // namespace

Loaded<Assignment> read_partition_map(const std::string& path, const Graph& graph,
                                      const PartitionMapOptions& options) {
  const auto source = open_side_file(path);
  if (!source) return source.error();
  const auto map = is_onnx(source->bytes()) ? map_of_onnx(path)
                                            : parse_partition_map(source->path(), source->bytes());
  if (!map) return map.error();
  return MapResolver(graph, *source, *map, options).resolve();
}

// ---- workload file ----

namespace {

enum FileField : std::size_t { kMemory, kAccelerators, kHosts, kNodes, kEdges, kFormat };
constexpr std::array<std::string_view, 6> kFileFields = {"maxSizePerFPGA", "maxFPGAs", "maxCPUs",
                                                         "nodes",          "edges",    "format"};

enum NodeField : std::size_t {
  kId,
  kSupported,
  kHostTime,
  kAcceleratorTime,
  kBackward,
  kColour,
  kBytes,
  kName,
  kLayer,
};
constexpr std::array<std::string_view, 9> kNodeFields = {
    "id",   "supportedOnFpga", "cpuLatency", "fpgaLatency", "isBackwardNode", "colorClass", "size",
    "name", "layerId"};

enum EdgeField : std::size_t { kSource, kTarget, kCost, kEdgeBytes };
constexpr std::array<std::string_view, 4> kEdgeFields = {"sourceId", "destId", "cost", "size"};

constexpr double kMostDevices = 1'000'000;

constexpr double kSameCost = 1e-6;
constexpr std::size_t kMostShown = 12;  // nodes of a cycle

std::string id_text(std::int64_t id) { return escaped_in_quotes(std::to_string(id)); }

class WorkloadMaker {
 public:
  WorkloadMaker(const WorkloadParts& parts, JsonFaults& faults) : parts_(parts), faults_(faults) {}

  Workload make() && {
    number_nodes();
    resolve_edges();
    if (!faults_.empty()) return {};
    check_order();
    check_directions();
    add_items();
    add_nets();
    add_successors();
    workload_.devices = parts_.devices;
    workload_.edge_count = ends_.size();
    return std::move(workload_);
  }

 private:
  struct Ends {
    std::uint32_t source, target;  // items
    auto operator<=>(const Ends&) const = default;
  };

  void number_nodes() {
    for (const WorkloadNode& node : parts_.nodes) {
      const auto item = static_cast<std::uint32_t>(item_of_.size());
      if (item_of_.emplace(node.id, item).second) continue;
      faults_.add(node.offset, "node " + id_text(node.id) + " is given twice");
    }
  }

  std::optional<std::uint32_t> find(const WorkloadEdge& edge, std::int64_t id) {
    const auto found = item_of_.find(id);
    if (found != item_of_.end()) return found->second;
    faults_.add(edge.offset, "edge " + id_text(edge.source) + " -> " + id_text(edge.target) +
                                 ": there is no node " + id_text(id));
    return std::nullopt;
  }

  void resolve_edges() {
    cost_of_.assign(parts_.nodes.size(), -1);
    for (const WorkloadEdge& edge : parts_.edges) {
      const auto source = find(edge, edge.source);
      const auto target = find(edge, edge.target);
      if (!source || !target) continue;
      ends_.push_back({*source, *target});
      double& cost = cost_of_[*source];
      if (cost < 0) {
        cost = edge.cost;
      } else if (std::abs(cost - edge.cost) > kSameCost) {
        faults_.add(edge.offset, "edge " + id_text(edge.source) + " -> " + id_text(edge.target) +
                                     " costs " + std::to_string(edge.cost) +
                                     ", another edge out of " + id_text(edge.source) + " " +
                                     std::to_string(cost) +
                                     ": they move one output and must cost the same");
      }
    }
    std::ranges::sort(ends_);
  }

  // Sources by target.
  Adjacency sources_of() const {
    Adjacency targets;
    std::size_t next = 0;
    for (std::uint32_t item = 0; item < parts_.nodes.size(); ++item) {
      for (; next < ends_.size() && ends_[next].source == item; ++next) {
        targets.add(ends_[next].target);
      }
      targets.end_list();
    }
    return reversed(targets);
  }

  void check_order() {
    const std::vector<std::uint32_t> cycle = topological_order(sources_of()).cycle;
    if (cycle.empty()) return;
    const auto id = [&](std::uint32_t node) { return id_text(parts_.nodes[node].id); };
    faults_.add(parts_.nodes[cycle.front()].offset,
                "the nodes form a cycle: " + capped_list(cycle, kMostShown, id, " -> ...", " -> ") +
                    " -> " + id(cycle.front()));
  }

  void check_directions() {
    for (const WorkloadEdge& edge : parts_.edges) {
      const bool from_backward = parts_.nodes[item_of_.at(edge.source)].is_backward;
      const bool to_backward = parts_.nodes[item_of_.at(edge.target)].is_backward;
      if (!from_backward || to_backward) continue;
      faults_.add(edge.offset, "edge " + id_text(edge.source) + " -> " + id_text(edge.target) +
                                   " goes from a backward node to a forward one");
    }
  }

  void add_items() {
    std::unordered_map<std::int64_t, std::uint32_t> colours;
    for (const WorkloadNode& node : parts_.nodes) {
      BalanceItem item{.time = node.accelerator_time,
                       .host_time = node.host_time,
                       .bytes = node.bytes,
                       .runs_on_accelerator = node.runs_on_accelerator};
      if (node.colour) {
        const auto next = static_cast<std::uint32_t>(colours.size());
        item.colour = colours.emplace(*node.colour, next).first->second;
      }
      workload_.problem.items.push_back(item);
      workload_.names.push_back(std::to_string(node.id));
    }
    has_forward_.assign(colours.size(), 0);
    for (std::size_t i = 0; i < parts_.nodes.size(); ++i) {
      const std::uint32_t colour = workload_.problem.items[i].colour;
      if (colour != kNoItem && !parts_.nodes[i].is_backward) has_forward_[colour] = 1;
    }
  }

  // One net for each node that has readers.
  void add_nets() {
    for (std::size_t next = 0; next < ends_.size();) {
      const std::uint32_t producer = ends_[next].source;
      workload_.problem.nets.push_back({.producer = producer, .cost = cost_of_[producer]});
      for (; next < ends_.size() && ends_[next].source == producer; ++next) {
        workload_.problem.consumers.add(ends_[next].target);
      }
      workload_.problem.consumers.end_list();
    }
  }

  // Whether a forward node decides the item's place in the order.
  bool stands_by_forward_node(std::uint32_t item) const {
    const std::uint32_t colour = workload_.problem.items[item].colour;
    return colour != kNoItem && has_forward_[colour] != 0;
  }

  void add_successors() {
    std::vector<Ends> order;
    for (const Ends& edge : ends_) {
      const bool from_backward = parts_.nodes[edge.source].is_backward;
      const bool to_backward = parts_.nodes[edge.target].is_backward;
      if (!from_backward && !to_backward) order.push_back(edge);
      if (!from_backward || !to_backward) continue;
      if (stands_by_forward_node(edge.source) && stands_by_forward_node(edge.target)) continue;
      order.push_back({edge.target, edge.source});
    }
    std::ranges::sort(order);
    std::size_t next = 0;
    for (std::uint32_t item = 0; item < parts_.nodes.size(); ++item) {
      for (; next < order.size() && order[next].source == item; ++next) {
        workload_.problem.successors.add(order[next].target);
      }
      workload_.problem.successors.end_list();
    }
  }

  const WorkloadParts& parts_;
  JsonFaults& faults_;
  Workload workload_;
  std::unordered_map<std::int64_t, std::uint32_t> item_of_;  // by id
  std::vector<Ends> ends_;                                   // of the edges, sorted
  std::vector<double> cost_of_;                              // by item; below 0: no node reads it
  std::vector<std::uint8_t> has_forward_;                    // by colour
};

// Makes the checks that read_workload promises. Faults go into `faults`; the result is then not to
// be used.
Workload make_workload(const WorkloadParts& parts, JsonFaults& faults) {
  return WorkloadMaker(parts, faults).make();
}

class WorkloadReader {
 public:
  explicit WorkloadReader(const SourceFile& source)
      : path_(source.path()), faults_(source), cursor_(source.bytes()) {}

  Loaded<Workload> read() && {
    read_file();
    if (cursor_.fault()) faults_.add(cursor_.fault()->offset, cursor_.fault()->message);
    if (!faults_.empty()) return faults_.errors();
    Workload workload = make_workload(parts_, faults_);
    if (!faults_.empty()) return faults_.errors();
    workload.warnings = faults_.warnings();
    return workload;
  }

 private:
  void read_file() {
    const JsonSubject file;
    const JsonType type = cursor_.type();
    if (type == JsonType::none) return;
    if (type != JsonType::object) {
      return faults_.add(0,
                         "a workload must be an object, not " + std::string(json_type_name(type)));
    }
    JsonFields fields(cursor_, faults_, kFileFields, file);
    while (const auto field = fields.next()) {
      read_file_field(*field, fields);
      if (faults_.is_full()) return;
    }
    cursor_.expect_end();
  }

  void read_file_field(std::size_t field, JsonFields& fields) {
    switch (field) {
      case kMemory:
        parts_.devices.memory = read_amount(fields).value_or(0);
        return;
      case kAccelerators:
        parts_.devices.accelerators = read_count(fields);
        return;
      case kHosts:
        parts_.devices.hosts = read_count(fields);
        return;
      case kNodes:
        return read_list(fields, [&](std::size_t i) { read_node(i); });
      default:
        return read_list(fields, [&](std::size_t i) { read_edge(i); });
    }
  }

  template <class ReadItem>
  void read_list(JsonFields& fields, ReadItem read_item) {
    if (!fields.is(JsonType::list)) return;
    cursor_.enter();
    for (std::size_t i = 0; cursor_.next_item() && !faults_.is_full(); ++i) {
      if (cursor_.type() == JsonType::object) {
        read_item(i);
      } else {
        fields.refuse_item("an object");
      }
    }
  }

  void read_node(std::size_t position) {
    const JsonSubject subject{"node", "nodes", position, {}, nullptr};
    WorkloadNode node{.offset = cursor_.offset()};
    JsonFields fields(cursor_, faults_, kNodeFields, subject);
    while (const auto field = fields.next()) read_node_field(*field, fields, node);
    const std::size_t needed = kColour;  // the fields before it
    if (has_all(fields, std::span(kNodeFields).first(needed), subject, node.offset)) {
      parts_.nodes.push_back(node);
    }
  }

  void read_node_field(std::size_t field, JsonFields& fields, WorkloadNode& node) {
    switch (field) {
      case kId:
        node.id = read_integer(fields).value_or(0);
        return;
      case kColour:
        node.colour = read_integer(fields);
        return;
      case kSupported:
        node.runs_on_accelerator = read_flag(fields);
        return;
      case kBackward:
        node.is_backward = read_flag(fields);
        return;
      case kHostTime:
        node.host_time = read_amount(fields).value_or(0);
        return;
      case kAcceleratorTime:
        node.accelerator_time = read_amount(fields).value_or(0);
        return;
      case kBytes:
        node.bytes = read_amount(fields).value_or(0);
        return;
      default:
        return cursor_.skip();  // comments for people
    }
  }

  void read_edge(std::size_t position) {
    const JsonSubject subject{"edge", "edges", position, {}, nullptr};
    WorkloadEdge edge{.offset = cursor_.offset()};
    JsonFields fields(cursor_, faults_, kEdgeFields, subject);
    while (const auto field = fields.next()) {
      if (*field == kSource) edge.source = read_integer(fields).value_or(0);
      if (*field == kTarget) edge.target = read_integer(fields).value_or(0);
      if (*field == kCost) edge.cost = read_amount(fields).value_or(0);
      if (*field == kEdgeBytes) cursor_.skip();
    }
    const std::size_t needed = kEdgeBytes;
    if (has_all(fields, std::span(kEdgeFields).first(needed), subject, edge.offset)) {
      parts_.edges.push_back(edge);
    }
  }

  bool has_all(const JsonFields& fields, std::span<const std::string_view> needed,
               const JsonSubject& subject, std::uint64_t offset) {
    if (cursor_.fault()) return false;
    bool all = true;
    for (std::size_t field = 0; field < needed.size(); ++field) {
      if (fields.has(field)) continue;
      faults_.add(offset, subject.text() + " has no " + escaped_in_quotes(needed[field]));
      all = false;
    }
    return all;
  }

  // A finite number, not below 0.
  std::optional<double> read_amount(JsonFields& fields) {
    const std::uint64_t offset = cursor_.offset();
    if (!fields.is(JsonType::number)) return std::nullopt;
    const JsonNumber number = cursor_.take_number();
    const double amount = number.real();
    if (amount >= 0 && std::isfinite(amount)) return amount;
    faults_.add(offset, fields.field_text() + " must be a finite number that is not below 0");
    return std::nullopt;
  }

  std::uint32_t read_count(JsonFields& fields) {
    const std::uint64_t offset = cursor_.offset();
    const auto amount = read_amount(fields);
    if (!amount) return 0;
    if (*amount == std::floor(*amount) && *amount <= kMostDevices) {
      return static_cast<std::uint32_t>(*amount);
    }
    faults_.add(offset, fields.field_text() + " must be a whole number up to 1,000,000");
    return 0;
  }

  std::optional<std::int64_t> read_integer(JsonFields& fields) {
    const std::uint64_t offset = cursor_.offset();
    if (!fields.is(JsonType::number)) return std::nullopt;
    const auto integer = cursor_.take_number().integer();
    if (!integer) faults_.add(offset, fields.field_text() + " must be a whole number of 64 bits");
    return integer;
  }

  // true, false, 1 or 0.
  bool read_flag(JsonFields& fields) {
    if (cursor_.type() == JsonType::boolean) return cursor_.take_boolean();
    const std::uint64_t offset = cursor_.offset();
    if (!fields.is(JsonType::number)) return false;
    const auto integer = cursor_.take_number().integer();
    if (integer == 0 || integer == 1) return integer == 1;
    faults_.add(offset, fields.field_text() + " must be true, false, 1 or 0");
    return false;
  }

  const std::string& path_;
  JsonFaults faults_;
  JsonCursor cursor_;
  WorkloadParts parts_;
};

// Why the file is not a workload, judged by the fields of its outermost object; empty if it may be
// one. So a file of another kind is refused once, and not for each of its nodes.
std::string why_no_workload(const SourceFile& source) {
  JsonCursor cursor(source.bytes());
  if (cursor.type() != JsonType::object) return {};
  std::array<bool, kFileFields.size()> has{};
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const auto* const field = std::ranges::find(kFileFields, key->text);
    if (field != kFileFields.end()) {
      has[static_cast<std::size_t>(field - kFileFields.begin())] = true;
    }
    cursor.skip();
  }
  if (cursor.fault()) return {};
  std::string missing;
  for (std::size_t field = 0; field < kFormat; ++field) {
    if (!has[field])
      missing += (missing.empty() ? "" : ", ") + escaped_in_quotes(kFileFields[field]);
  }
  return missing.empty() ? missing : "is not a workload: it has no " + missing;
}

}  // namespace

// Reads no further than the first field that only one kind of file has. Faults behind it are for the reader of that
// kind: it knows what should be there.
bool is_workload(const SourceFile& source) {
  const std::string_view bytes = source.bytes();
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  if (begin == bytes.npos || bytes[begin] != '{') return false;
  JsonCursor cursor(bytes);
  if (cursor.type() != JsonType::object) return false;
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const auto* const field = std::ranges::find(kFileFields, key->text);
    const auto which = static_cast<std::size_t>(field - kFileFields.begin());
    if (which == kFormat) return false;
    if (which <= kHosts) return true;
    cursor.skip();
  }
  return false;
}

Loaded<Workload> read_workload(const SourceFile& source) {
  if (source.size() > std::numeric_limits<std::uint32_t>::max() - 1024) {
    return Diagnostics{
        diagnostic_of(source.path(), "is larger than 4 GiB, the most that can be read as JSON")};
  }
  if (std::string why = why_no_workload(source); !why.empty()) {
    return Diagnostics{diagnostic_of(source.path(), std::move(why))};
  }
  return WorkloadReader(source).read();
}

std::vector<BalanceDevice> balance_devices(const WorkloadDevices& devices) {
  std::vector<BalanceDevice> list;
  if (devices.accelerators > 0) {
    list.push_back(
        {.name = "accelerator", .memory = devices.memory, .count = devices.accelerators});
  }
  if (devices.hosts > 0) list.push_back({.name = "cpu", .is_host = true, .count = devices.hosts});
  return list;
}

}  // namespace cleave
