#include "formats/report/words/pattern_text.h"

#include <map>
#include <utility>

#include "core/condition/relation_value.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/number_text.h"
#include "formats/report/words/condition_text.h"
#include "formats/report/words/failed_part_text.h"

namespace cleave {
namespace {

const Pattern& pattern_of(const ReasonContext& context, const PatternMatch& match) {
  return context.lists[match.list].patterns[match.pattern];
}

class MissWords {
 public:
  MissWords(const ReasonContext& context, const Pattern& pattern, const PatternMiss& miss)
      : context_(context), graph_(context.graph), pattern_(pattern), miss_(miss) {}

  std::string text() const {
    switch (miss_.kind) {
      case PatternMiss::Kind::no_neighbor:
        return no_neighbor();
      case PatternMiss::Kind::no_edge:
        return node(miss_.node) + " does not read " + node(miss_.other) + slots();
      case PatternMiss::Kind::failing:
        return failing();
      case PatternMiss::Kind::taken:
        return node(miss_.node) + " is in another match";
      case PatternMiss::Kind::denied:
        return node(miss_.node) + (graph_.body_nodes(miss_.node).empty()
                                       ? " is denied"
                                       : " is denied, or a node of its body is refused");
      case PatternMiss::Kind::other_edge:
        return node(miss_.node) + " reads " + node(miss_.other) +
               ", which is no edge of the pattern";
      case PatternMiss::Kind::read_outside:
        return read_outside();
      case PatternMiss::Kind::whole:
        return whole();
      case PatternMiss::Kind::too_long:
        return "the search around it was ended after " + count_text(PatternSearch::kMostSteps) +
               " candidates";
      case PatternMiss::Kind::refused:
        return "it matches, but another list refuses " + node(miss_.node);
    }
    return {};
  }

 private:
  std::string node(NodeId id) const { return escaped_in_quotes(graph_.node(id).name); }
  std::string op(std::uint32_t number) const { return escaped_in_quotes(pattern_.ops[number].op); }

  // ` from output 1 at input 0`, as far as the edge says.
  std::string slots() const {
    const PatternEdge& edge = pattern_.graph.edges[miss_.edge];
    std::string text;
    if (edge.output) text += " from output " + std::to_string(*edge.output);
    if (edge.input) text += " at input " + std::to_string(*edge.input);
    return text;
  }

  std::string no_neighbor() const {
    const PatternEdge& edge = pattern_.graph.edges[miss_.edge];
    if (edge.to == miss_.op) return "no " + op(edge.to) + " reads " + node(miss_.node) + slots();
    return node(miss_.node) + " reads no " + op(edge.from) + slots();
  }

  std::string failing() const {
    const Rule& rule = pattern_.ops[miss_.op];
    return node(miss_.node) + " does not fit op " + std::to_string(miss_.op) + " (" +
           escaped(rule.op) +
           "): " + failed_parts_text(failed_parts(graph_, miss_.node, rule, context_.facts));
  }

  std::string read_outside() const {
    const std::string value = "value " + escaped_in_quotes(graph_.value(miss_.value).name);
    if (miss_.other == kNone<NodeId>) return value + " is an output of the model";
    return value + " is read by " + node(miss_.other) + ", which is not in it";
  }

  std::string whole() const {
    for (const Relation& relation : pattern_.where) {
      if (relation_holds(relation, graph_, miss_.nodes, context_.facts)) continue;
      return escaped(relation_failure_text(
          {relation}, relation_failure(relation, graph_, miss_.nodes, context_.facts)));
    }
    return {};
  }

  const ReasonContext& context_;
  const Graph& graph_;
  const Pattern& pattern_;
  const PatternMiss& miss_;
};

}  // namespace

std::string pattern_place(const ReasonContext& context, const PatternMatch& match) {
  return pattern_place(context.lists[match.list], pattern_of(context, match));
}

std::string pattern_place(const SupportList& list, const Pattern& pattern) {
  const std::string file = escaped(list.path.empty() ? list.name : list.path);
  return "pattern " + escaped_in_quotes(pattern.name) + " of " + file +
         (pattern.line == 0 ? "" : ":" + std::to_string(pattern.line));
}

std::string pattern_miss_text(const ReasonContext& context, const Reason& reason) {
  if (context.support == nullptr) return {};
  return MissWords(context, pattern_of(context, {reason.list, reason.rule}),
                   context.support->misses[reason.size])
      .text();
}

std::string pattern_counts_text(const ReasonContext& context, const PatternMatches& matches) {
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::size_t> counts;
  for (const PatternMatch& match : matches.matches) ++counts[{match.list, match.pattern}];
  std::string text;
  for (const auto& [place, count] : counts) {
    const Pattern& pattern = pattern_of(context, {place.first, place.second});
    text += (text.empty() ? "" : ", ") + escaped_in_quotes(pattern.name) + " " +
            (count == 1 ? "once" : count_text(count) + " times");
  }
  return text;
}

}  // namespace cleave
