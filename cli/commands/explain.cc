// cleave explain: why nodes run where they do.
#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "formats/report/split/split_texts.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {
namespace {

class ExplainCommand : public Command {
 public:
  explicit ExplainCommand(const Given& given) : given_(given), patterns_(given.texts("NODE")) {}

  ExitCode run() override {
    const auto run = split_with_progress(given_.split);
    if (!run) return run.error();
    const Report report = run->report();
    std::vector<NodeId> nodes = patterns_.empty() ? cpu_nodes(*run) : named_nodes(*run);
    if (!unknown_.empty()) return no_such_nodes(run->graph());
    const std::vector<std::string> ways = ways_out(*run, nodes);
    write_stdout(given_.flag("--json") ? explain_json(report, nodes, ways)
                                       : explain_text(report, nodes, ways));
    return ExitCode::done;
  }

 private:
  static std::vector<NodeId> cpu_nodes(const SplitJob& run) {
    std::vector<NodeId> nodes;
    for (const NodeId node : run.graph().nodes()) {
      if (!run.split().partition.is_acc(run.split().partition.part_of[node])) nodes.push_back(node);
    }
    return nodes;
  }

  // Ordered by pattern, each pattern's nodes in model order, constants after nodes.
  std::vector<NodeId> named_nodes(const SplitJob& run) {
    const Graph& graph = run.graph();
    const ByName by_name = nodes_by_name(graph);
    std::vector<NodeId> nodes;
    for (const std::string& pattern : patterns_) {
      const bool is_glob = pattern.find_first_of("*?") != pattern.npos;
      const auto named = by_name.find(pattern);
      if (!is_glob && named == by_name.end()) {
        unknown_.push_back(pattern);
        continue;
      }
      const auto is_meant = [&](NodeId node) {
        const std::string_view name = graph.node(node).name;
        return name == pattern || (is_glob && glob_match(pattern, name));
      };
      const std::size_t before = nodes.size();
      if (is_glob) {
        for (const auto& range : {graph.nodes(), graph.constants()}) {
          std::ranges::copy_if(range, std::back_inserter(nodes), is_meant);
        }
      } else {
        nodes.insert(nodes.end(), named->second.begin(), named->second.end());
      }
      if (nodes.size() > before) continue;
      const std::vector<NodeId> owners = owners_of(graph, is_meant);
      nodes.insert(nodes.end(), owners.begin(), owners.end());
      if (owners.empty()) unknown_.push_back(pattern);
    }
    return nodes;
  }

  using ByName = std::unordered_map<std::string_view, std::vector<NodeId>>;

  // The nodes of each name, constants after nodes; none for a name that only a node in a body has. So
  // thousands of names take no pass over the graph each.
  static ByName nodes_by_name(const Graph& graph) {
    ByName by_name;
    for (const auto& range : {graph.nodes(), graph.constants()}) {
      for (const NodeId node : range) by_name[graph.node(node).name].push_back(node);
    }
    for (const NodeId owner : graph.nodes()) {
      for (const NodeId inner : graph.body_nodes(owner)) by_name[graph.node(inner).name];
    }
    return by_name;
  }

  // Nodes with a matching node in a body: a body runs where its node runs.
  template <class IsMeant>
  static std::vector<NodeId> owners_of(const Graph& graph, const IsMeant& is_meant) {
    std::vector<NodeId> owners;
    for (const NodeId owner : graph.nodes()) {
      const auto body = graph.body_nodes(owner);
      const auto inner = std::ranges::find_if(body, is_meant);
      if (inner == body.end()) continue;
      owners.push_back(owner);
      print_info(escaped_in_quotes(graph.node(*inner).name) + " is in a body of " +
                 escaped_in_quotes(graph.node(owner).name));
    }
    return owners;
  }

  // What has this name, where no node has: a tensor, an operator. With the nodes to ask about instead.
  static std::vector<std::string> what_else(const Graph& graph, const std::string& name) {
    std::vector<std::string> notes;
    const auto node_name = [&](NodeId node) { return escaped_in_quotes(graph.node(node).name); };
    for (std::size_t i = 0; i < graph.value_count(); ++i) {
      const auto value = id_at<ValueId>(i);
      const Value& record = graph.value(value);
      if (record.name != name) continue;
      if (record.producer != kNone<NodeId>) {
        notes.push_back("it is a tensor, which node " + node_name(record.producer) + " makes");
        return notes;
      }
      const auto users = graph.users(value);
      const std::string what = record.kind == ValueKind::input ? "an input" : "a parameter";
      notes.push_back("it is " + what + " of the model, which " +
                      (users.empty() ? std::string("no node reads")
                                     : "is read by " + capped_list(users, kMostShown, node_name)));
      return notes;
    }
    std::vector<NodeId> nodes;
    for (const NodeId node : graph.nodes()) {
      const std::string_view op = graph.op(node);
      const bool is_last_part = op.ends_with("." + name);
      if (is_last_part || names_op_anywhere(parse_op(name), graph.domain(node), op)) {
        nodes.push_back(node);
      }
    }
    if (!nodes.empty()) {
      notes.push_back("it is an operator, that of " + capped_list(nodes, kMostShown, node_name));
    }
    return notes;
  }

  static constexpr std::size_t kMostShown = 5;

  ExitCode no_such_nodes(const Graph& graph) const {
    std::vector<std::string_view> names;
    for (const NodeId node : graph.nodes()) names.push_back(graph.node(node).name);
    constexpr std::size_t kMostNamed = 10;
    CappedList shown(kMostNamed);
    for (const std::string& pattern : unknown_) {
      if (!shown.shows_next()) continue;
      std::vector<std::string> notes = what_else(graph, pattern);
      const std::string near = notes.empty() ? nearest_name(pattern, names) : "";
      if (!near.empty()) notes.push_back("did you mean " + escaped_in_quotes(near) + "?");
      const bool is_glob = pattern.find_first_of("*?") != pattern.npos;
      print_error((is_glob ? "no node of the model matches " : "the model has no node ") +
                      escaped_in_quotes(pattern),
                  notes);
    }
    const std::string rest = shown.rest("... and # more names that no node of the model has");
    if (!rest.empty()) print_error(rest);
    return ExitCode::usage;
  }

  const Given& given_;
  std::vector<std::string> patterns_;
  std::vector<std::string> unknown_;
};

}  // namespace

std::unique_ptr<Command> make_explain_command(const Given& given) {
  return std::make_unique<ExplainCommand>(given);
}

}  // namespace cleave
