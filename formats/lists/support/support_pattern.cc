// Steps:
// 1. read the fields; keep the places of ops, edges and relations;
// 2. check the graph that ops and edges make;
// 3. read the relations, which may name any op.
#include "formats/lists/support/support_pattern.h"

#include <utility>

#include "core/condition/relation_parser.h"
#include "formats/lists/support/condition_fields.h"

namespace cleave {
namespace {

constexpr std::string_view kEdgeWanted = "a pair of ops like [0, 1], or {\"from\": 0, \"to\": 1}";

// A text of the file and where it begins.
struct PlacedText {
  std::size_t at;
  std::string text;
};

class PatternReader {
 public:
  PatternReader(JsonWalk& json, PlaceCounter& places, Pattern& pattern)
      : json_(json), places_(places), pattern_(pattern) {}

  std::vector<StatedFields> read() {
    const std::size_t begin = json_.offset();
    const std::size_t errors_before = json_.faults().errors().size();
    places_.mark(pattern_, begin);
    json_.each_field("a pattern",
                     "an object like {\"name\": ..., \"ops\": [...], \"edges\": [...]}",
                     [&](const std::string& key, std::size_t at) { read_field(key, at); });
    if (json_.is_over() || json_.faults().errors().size() > errors_before) {
      return std::move(stated_);
    }
    if (pattern_.name.empty()) json_.faults().error(begin, "a pattern needs \"name\"");
    check_graph(begin);
    read_relations();
    return std::move(stated_);
  }

 private:
  void read_field(const std::string& key, std::size_t at) {
    if (key == "name") return read_text("\"name\"", pattern_.name);
    if (key == "why") return read_text("\"why\"", pattern_.why);
    if (key == "unchecked") return read_text("\"unchecked\"", pattern_.unchecked);
    if (key == "ops") return json_.each_item("\"ops\"", "a list of ops", [&] { read_op(); });
    if (key == "edges") {
      return json_.each_item("\"edges\"", "a list of edges like [0, 1]", [&] { read_edge(); });
    }
    if (key == "where") return read_where();
    json_.pass_unknown(at, key, "a pattern", {"name", "ops", "edges", "where", "why", "unchecked"});
  }

  void read_text(const std::string& what, std::string& text) {
    const std::size_t at = json_.offset();
    const auto read = json_.take_text(what);
    if (!read) return;
    if (read->empty()) json_.faults().error(at, what + " is empty");
    text = *read;
  }

  void read_op() {
    const std::size_t at = json_.offset();
    op_places_.push_back(at);
    Rule& rule = pattern_.ops.emplace_back();
    places_.mark(rule, at);
    stated_.push_back(read_rule(json_, Verdict::allow, rule));
    if (!rule.unchecked.empty()) {
      json_.faults().error(at, "\"unchecked\" is for the pattern, not for one of its ops");
    }
  }

  // ---- edges ----

  void read_edge() {
    edge_places_.push_back(json_.offset());
    PatternEdge& edge = pattern_.graph.edges.emplace_back();
    if (json_.type() == JsonType::list) return read_pair(edge);
    const std::size_t at = json_.offset();
    bool has_from = false, has_to = false;
    json_.each_field("an edge", kEdgeWanted, [&](const std::string& key, std::size_t place) {
      if (key == "from") {
        has_from = read_number("\"from\"", edge.from);
      } else if (key == "to") {
        has_to = read_number("\"to\"", edge.to);
      } else if (key == "output") {
        read_number("\"output\"", edge.output.emplace());
      } else if (key == "input") {
        read_number("\"input\"", edge.input.emplace());
      } else {
        json_.pass_unknown(place, key, "an edge", {"from", "to", "output", "input"});
      }
    });
    if (json_.is_over() || (has_from && has_to)) return;
    json_.faults().error(at, "an edge needs \"from\" and \"to\"");
  }

  void read_pair(PatternEdge& edge) {
    const std::size_t at = json_.offset();
    std::vector<std::uint32_t> ends;
    json_.each_item("an edge", kEdgeWanted, [&] {
      std::uint32_t end = 0;
      if (read_number("an op", end)) ends.push_back(end);
    });
    if (json_.is_over()) return;
    if (ends.size() != 2) {
      return json_.faults().error(at, "an edge must be " + std::string(kEdgeWanted));
    }
    edge.from = ends[0];
    edge.to = ends[1];
  }

  bool read_number(std::string_view what, std::uint32_t& number) {
    constexpr std::int64_t kMost = OperandSlot::kMaxPosition;
    const std::size_t at = json_.offset();
    const auto read = json_.take_integer(what, 0);
    if (!read) return false;
    if (*read > kMost) {
      json_.faults().error(at, std::string(what) + " is too large");
      return false;
    }
    number = static_cast<std::uint32_t>(*read);
    return true;
  }

  // ---- the graph ----

  void check_graph(std::size_t begin) {
    pattern_.graph.op_count = pattern_.ops.size();
    const auto fault = find_pattern_fault(pattern_.graph);
    if (!fault) return;
    switch (fault->kind) {
      case PatternFault::Kind::no_op:
        return json_.faults().error(begin, "a pattern needs \"ops\": at least one");
      case PatternFault::Kind::too_many_ops:
        return json_.faults().error(op_places_[PatternGraph::kMostOps],
                                    "a pattern has at most " +
                                        std::to_string(PatternGraph::kMostOps) + " ops, this has " +
                                        std::to_string(pattern_.ops.size()));
      case PatternFault::Kind::too_many_edges:
        return json_.faults().error(
            edge_places_[PatternGraph::kMostEdges],
            "a pattern has at most " + std::to_string(PatternGraph::kMostEdges) + " edges");
      case PatternFault::Kind::no_such_op:
        return json_.faults().error(edge_places_[fault->at],
                                    "an edge names an op that is not there: ops are counted from "
                                    "0, the last is " +
                                        std::to_string(pattern_.ops.size() - 1));
      case PatternFault::Kind::repeated_edge:
        return json_.faults().error(edge_places_[fault->at], "the edge is given twice");
      case PatternFault::Kind::cycle:
        return json_.faults().error(edge_places_[fault->at],
                                    "the edges form a cycle, which no model has");
      case PatternFault::Kind::unconnected:
        return json_.faults().error(op_places_[fault->at],
                                    "no edges connect this op with the first one: a pattern is "
                                    "one connected piece");
    }
  }

  // ---- relations ----

  void read_where() {
    const auto take = [&] {
      const std::size_t at = json_.offset();
      if (auto text = json_.take_text("\"where\"")) where_.push_back({at, *std::move(text)});
    };
    if (json_.type() == JsonType::string) return take();
    json_.each_item("\"where\"", "a relation or a list of them", take);
  }

  void read_relations() {
    for (const PlacedText& one : where_) {
      auto relation = parse_pattern_relation(one.text, pattern_.ops.size());
      if (relation) {
        pattern_.where.push_back(*std::move(relation));
      } else {
        report_relation(json_, one.at, one.text, relation.error());
      }
    }
  }

  JsonWalk& json_;
  PlaceCounter& places_;
  Pattern& pattern_;
  std::vector<StatedFields> stated_;
  std::vector<std::size_t> op_places_, edge_places_;
  std::vector<PlacedText> where_;
};

}  // namespace

std::vector<StatedFields> read_pattern(JsonWalk& json, PlaceCounter& places, Pattern& pattern) {
  return PatternReader(json, places, pattern).read();
}

}  // namespace cleave
