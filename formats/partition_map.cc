#include "formats/partition_map.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/name_table.h"
#include "core/spelling.h"
#include "formats/csv_rows.h"
#include "formats/json_cursor.h"
#include "formats/json_walk.h"
#include "formats/number_text.h"
#include "formats/source_file.h"
#include "formats/support_reader.h"
#include "formats/utf8.h"

namespace cleave {
namespace {

constexpr std::size_t kMostNamed = 10;

using Entries = std::vector<PartitionMapEntry>;

// ---- JSON ----

void read_json_entry(JsonWalk& json, const std::string& node, std::size_t at, Entries& entries) {
  const std::string what = "the part of " + quoted(node);
  if (json.type() == JsonType::number) {
    const std::size_t place = json.offset();
    const JsonNumber number = json.take_number();
    if (json.is_over()) return;
    if (number.integer()) {
      entries.push_back({node, std::string(number.text), at});
    } else {
      json.faults().error(
          place, what + " must be a whole number or a name, not " + std::string(number.text));
    }
  } else if (json.type() == JsonType::string) {
    const auto part = json.take_text(what);
    if (part) entries.push_back({node, *part, at});
  } else {
    json.refuse(what, "a whole number or a name");
  }
}

void read_json(std::string_view text, Entries& entries, SupportFaults& faults) {
  JsonWalk json(text, faults);
  json.each_field(
      "a partition map", "an object {\"node\": part, ...}",
      [&](const std::string& node, std::size_t at) { read_json_entry(json, node, at, entries); });
  json.finish();
}

// ---- CSV and TSV ----

bool is_heading(const CsvRow& row) {
  return row.offset == 0 && row.cells == std::vector<std::string>{"node", "partition"};
}

void read_rows(std::string_view text, Entries& entries, SupportFaults& faults) {
  CsvRows rows(text, faults);
  std::unordered_set<std::string> seen;
  while (auto row = rows.next()) {
    if (is_heading(*row)) continue;
    if (row->cells.size() != 2) {
      faults.error(row->offset, std::string("expected a node and its part, with a ") +
                                    (rows.separator() == ',' ? "comma" : "tab") +
                                    " between, found " + std::to_string(row->cells.size()) +
                                    (row->cells.size() == 1 ? " cell" : " cells"));
    } else if (!seen.insert(row->cells[0]).second) {
      faults.error(row->offset, quoted(row->cells[0]) + " is given twice");
    } else {
      entries.push_back({std::move(row->cells[0]), std::move(row->cells[1]), row->offset});
    }
  }
}

void refuse_empty_parts(const Entries& entries, SupportFaults& faults) {
  for (const PartitionMapEntry& entry : entries) {
    if (!entry.part.empty()) continue;
    faults.error(entry.offset, "the part of " + quoted(entry.node) + " has no name");
  }
}

// ---- the map and the graph ----

class MapResolver {
 public:
  MapResolver(const Graph& graph, const SourceFile& source, const Entries& entries)
      : graph_(graph),
        entries_(entries),
        path_(source.path()),
        faults_(source.path(), source.bytes()),
        entry_of_(graph.node_count(), kUnmapped) {}

  Loaded<Assignment> resolve() {
    find_nodes();
    name_missing();
    if (!faults_.errors().empty()) return std::move(faults_.errors());
    return assign();
  }

 private:
  static constexpr std::uint32_t kUnmapped = NameTable::kAbsent;

  void find_nodes() {
    const auto name_of = [&](std::uint32_t i) { return graph_.node(NodeId{i}).name; };
    NameTable nodes;
    const IdRange<NodeId> constants = graph_.constants();
    for (const auto& range : {graph_.nodes(), constants}) {
      for (const NodeId node : range)
        nodes.find_or_insert(name_of(index(node)), index(node), name_of);
    }
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      const std::uint32_t node = nodes.find(entries_[i].node, name_of);
      if (node == NameTable::kAbsent) {
        unknown(entries_[i]);
      } else if (node < graph_.node_count()) {
        entry_of_[NodeId{node}] = i;
      }
    }
    if (unknown_count_ > kMostNamed) {
      faults_.error(0, "... and " + count_text(unknown_count_ - kMostNamed) +
                           " more names that are no nodes of the model");
    }
  }

  void unknown(const PartitionMapEntry& entry) {
    if (++unknown_count_ > kMostNamed) return;
    NearestName nearest(entry.node);
    for (const NodeId node : graph_.nodes()) nearest.offer(graph_.node(node).name);
    std::vector<std::string> notes;
    if (!nearest.best().empty()) notes.push_back("did you mean " + quoted(nearest.best()) + "?");
    faults_.error(entry.offset, "the model has no node " + quoted(entry.node), std::move(notes));
  }

  void name_missing() {
    std::size_t count = 0;
    std::string names;
    for (const NodeId node : graph_.nodes()) {
      if (entry_of_[node] != kUnmapped || ++count > kMostNamed) continue;
      names += (names.empty() ? "" : ", ") + quoted(graph_.node(node).name);
    }
    if (count == 0) return;
    const std::string more =
        count > kMostNamed ? " and " + count_text(count - kMostNamed) + " more" : "";
    faults_.errors().push_back(diagnostic_of(path_, count_text(count) +
                                                        (count == 1 ? " node has" : " nodes have") +
                                                        " no part: " + names + more));
  }

  // Parts are numbered in model order.
  Assignment assign() const {
    Assignment result;
    result.part_of = PerNode<PartId>(graph_.node_count());
    std::unordered_map<std::string_view, PartId> parts;
    for (const NodeId node : graph_.nodes()) {
      const std::string& id = entries_[entry_of_[node]].part;
      const auto [part, is_new] = parts.emplace(id, id_at<PartId>(result.names.size()));
      if (is_new) result.names.push_back("submod_" + id);
      result.part_of[node] = part->second;
    }
    return result;
  }

  const Graph& graph_;
  const Entries& entries_;
  const std::string& path_;
  SupportFaults faults_;
  PerNode<std::uint32_t> entry_of_;
  std::size_t unknown_count_ = 0;
};

}  // namespace

Loaded<Entries> parse_partition_map(const std::string& path, std::string_view bytes) {
  std::string padded;  // as JsonCursor wants it
  padded.reserve(bytes.size() + JsonCursor::kPadding);
  padded.append(bytes).append(JsonCursor::kPadding, '\0');
  const std::string_view text = std::string_view(padded).substr(0, bytes.size());
  SupportFaults faults(path, text);
  Entries entries;
  const std::size_t bad = std::min(text.find('\0'), first_invalid_utf8(text));
  if (bad != text.npos) {
    faults.error(bad, "a partition map is text in UTF-8, and this is not");
  } else if (!trim(text).empty() && trim(text).front() == '{') {
    read_json(text, entries, faults);
  } else {
    read_rows(text, entries, faults);
  }
  refuse_empty_parts(entries, faults);
  if (!faults.errors().empty()) return std::move(faults.errors());
  return entries;
}

Loaded<Assignment> read_partition_map(const std::string& path, const Graph& graph) {
  const auto source = SourceFile::open(path);
  if (!source) return source.error();
  const auto entries = parse_partition_map(source->path(), source->bytes());
  if (!entries) return entries.error();
  return MapResolver(graph, *source, *entries).resolve();
}

}  // namespace cleave
