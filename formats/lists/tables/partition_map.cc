#include "formats/lists/tables/partition_map.h"

#include <algorithm>
#include <utility>

#include "core/base/capped_list.h"
#include "core/base/name_table.h"
#include "core/base/number_text.h"
#include "core/base/spelling.h"
#include "core/base/white_space.h"
#include "core/graph/scope.h"
#include "core/support/glob.h"
#include "formats/base/io/side_file.h"
#include "formats/base/json/cursor.h"
#include "formats/base/json/walk.h"
#include "formats/base/text/csv_rows.h"
#include "formats/base/text/utf8.h"
#include "formats/lists/support/support_reader.h"

namespace cleave {
namespace {

constexpr std::size_t kMostNamed = 10;

using Entries = std::vector<PartitionMapEntry>;

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
  std::string padded;  // with the zero bytes that JsonCursor needs
  padded.reserve(bytes.size() + JsonCursor::kPadding);
  padded.append(bytes).append(JsonCursor::kPadding, '\0');
  JsonWalk json(std::string_view(padded).substr(0, bytes.size()), faults);
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
    for (const std::uint32_t entry : patterns_) apply_pattern(entry);
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

  static bool is_pattern(std::string_view key) { return key.starts_with(kScope) || is_glob(key); }

  bool fits(std::string_view key, NodeId node) const {
    if (!key.starts_with(kScope)) return glob_match(key, graph_.node(node).name);
    return is_inside(scope_of(graph_, node), key.substr(kScope.size()));
  }

  // Nodes that have a part keep it.
  void apply_pattern(std::uint32_t entry) {
    const std::string_view key = entries_[entry].node;
    bool is_met = false;
    for (const NodeId node : graph_.nodes()) {
      if (!fits(key, node)) continue;
      is_met = true;
      if (entry_of_[node] == kUnmapped) entry_of_[node] = entry;
    }
    if (is_met || !unknown_.shows_next()) return;
    faults_.error(entries_[entry].offset, key.starts_with(kScope)
                                              ? "no node is in " + escaped_in_quotes(key)
                                              : "no node's name is like " + escaped_in_quotes(key));
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
  std::vector<std::uint32_t> patterns_;  // entries with globs and scopes
  NameTable table_;                      // over nodes and constants; made when first needed
  bool has_table_ = false;
  CappedList unknown_{kMostNamed};
};

}  // namespace

Loaded<PartitionMap> parse_partition_map(const std::string& path, std::string_view bytes) {
  TextFaults faults(path, bytes);
  PartitionMap map;
  const std::size_t bad = std::min(bytes.find('\0'), first_invalid_utf8(bytes));
  if (bad != bytes.npos) {
    faults.error(bad, "a partition map is text in UTF-8, and this is not");
  } else if (!trimmed(bytes).empty() && trimmed(bytes).front() == '{') {
    read_json(bytes, map, faults);
  } else {
    read_rows(bytes, map, faults);
  }
  refuse_bad_part_names(map.entries, faults);
  if (!faults.errors().empty()) return std::move(faults.errors());
  return map;
}

Loaded<Assignment> read_partition_map(const std::string& path, const Graph& graph,
                                      const PartitionMapOptions& options) {
  const auto source = open_side_file(path);
  if (!source) return source.error();
  const auto map = parse_partition_map(source->path(), source->bytes());
  if (!map) return map.error();
  return MapResolver(graph, *source, *map, options).resolve();
}

}  // namespace cleave
