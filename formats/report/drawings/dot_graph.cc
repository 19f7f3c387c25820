// The graph of boxes that drawings are made of, its colours and heat.

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <utility>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- dot graph ----

namespace {

// Characters of an id without quotes; includes all bytes outside ASCII.
bool is_id_character(char c) { return is_word_char(c) || static_cast<unsigned char>(c) >= 0x80; }

// "12", "-0.5", ".5"
bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto digits = [](std::string_view part) { return std::ranges::all_of(part, is_digit); };
  const std::string_view behind = text.substr(std::min(dot + 1, text.size()));
  return digits(text.substr(0, dot)) && digits(behind) && (dot > 0 || !behind.empty());
}

bool is_keyword(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kKeywords = {"node",  "edge",    "strict",
                                                                "graph", "digraph", "subgraph"};
  const auto same = [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a + 32 == b); };
  return std::ranges::any_of(kKeywords, [&](std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(), same);
  });
}

bool needs_quotes(std::string_view text) {
  if (text.empty()) return true;
  if (is_digit(text[0]) || text[0] == '.' || text[0] == '-') return !is_number(text);
  return !std::ranges::all_of(text, is_id_character) || is_keyword(text);
}

// Backslashes are part of the value and are not escaped.
void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t quote = text.find('"'); quote != text.npos; quote = text.find('"')) {
    out.append(text.substr(0, quote)).append("\\\"");
    text.remove_prefix(quote + 1);
  }
  out.append(text) += '"';
}

void append_id(std::string& out, std::string_view text) {
  if (needs_quotes(text)) {
    append_quoted(out, text);
  } else {
    out += text;
  }
}

bool is_before(const DotAttribute& a, const DotAttribute& b) {
  return std::strcmp(a.name, b.name) < 0;
}

// Sorts the attributes by name; of several with one name the last one is kept.
void arrange(DotAttributes& attributes) {
  const bool is_arranged = std::ranges::adjacent_find(attributes, [](const auto& a, const auto& b) {
                             return !is_before(a, b);
                           }) == attributes.end();
  if (is_arranged) return;
  std::ranges::stable_sort(attributes, is_before);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    if (i + 1 < attributes.size() && !is_before(attributes[i], attributes[i + 1])) continue;
    if (kept != i) attributes[kept] = std::move(attributes[i]);
    ++kept;
  }
  attributes.resize(kept, DotAttribute{"", ""});
}

void merge(DotAttributes& to, DotAttributes more) {
  if (to.empty()) {
    to = std::move(more);
  } else {
    to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  arrange(to);
}

void append_attribute(std::string& out, const DotAttribute& attribute) {
  append_id(out, attribute.name);
  out += '=';
  append_id(out, attribute.value);
}

// Appends the attributes of the graph, or the defaults of its nodes or edges.
void append_defaults(std::string& out, std::string_view of, const DotAttributes& attributes) {
  std::size_t count = 0;
  for (const DotAttribute& attribute : attributes) {
    if (attribute.value.empty()) continue;
    if (count++ == 0) {
      out.append("\t").append(of).append(" [");
    } else {
      out += ",\n\t\t";
    }
    append_attribute(out, attribute);
  }
  if (count > 0) out += count > 1 ? "\n\t];\n" : "];\n";
}

// True when the attribute has its default value. Attributes come in order of their names, and `at`
// moves along with them through the defaults.
bool is_default(const DotAttribute& attribute, DotAttributes::const_iterator& at,
                const DotAttributes& defaults) {
  while (at != defaults.end() && is_before(*at, attribute)) ++at;
  const bool is_declared = at != defaults.end() && !is_before(attribute, *at);
  return attribute.value == (is_declared ? std::string_view(at->value) : std::string_view());
}

bool are_default(const DotAttributes& attributes, const DotAttributes& defaults) {
  auto at = defaults.begin();
  return std::ranges::all_of(attributes, [&](const DotAttribute& attribute) {
    return is_default(attribute, at, defaults);
  });
}

void append_attributes(std::string& out, const DotAttributes& attributes,
                       const DotAttributes& defaults) {
  auto at = defaults.begin();
  bool is_first = true;
  for (const DotAttribute& attribute : attributes) {
    if (is_default(attribute, at, defaults)) continue;
    out += std::exchange(is_first, false) ? "\t[" : ",\n\t\t";
    append_attribute(out, attribute);
  }
  out += is_first ? ";\n" : "];\n";
}

// True for text that dot_text() would not change.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= ' ' && c <= '~' && c != '\\' && c != '&'; });
}

// True when `text` begins with a character entity, such as "&lt;" or "&#955;".
bool is_entity(std::string_view text) {
  const std::size_t end = text.substr(0, 12).find(';');
  if (!text.starts_with('&') || end == text.npos || end < 2) return false;
  return std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char c) { return is_digit(c) || is_letter(c) || c == '#'; });
}

// Escapes the text so that Graphviz shows its escapes and entities literally.
std::string without_meaning(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') out += '\\';
    out += text[i];
    if (is_entity(text.substr(i))) out += "amp;";
  }
  return out;
}

// Bytes of the first `count` characters of a valid text; of all when there are fewer.
std::size_t bytes_of_characters(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (count-- > 0 && at < text.size()) at += utf8_character(text.substr(at));
  return at;
}

std::string shortened(std::string_view text, std::size_t most) {
  constexpr std::string_view kDots = "...";
  if (bytes_of_characters(text, most) == text.size()) return std::string(text);
  const std::size_t kept = std::max(most, kDots.size() + 2) - kDots.size();
  const std::size_t head = bytes_of_characters(text, kept / 2);
  std::size_t tail = text.size();
  for (std::size_t left = kept - kept / 2; left > 0 && tail > head;) {
    --tail;
    if ((static_cast<unsigned char>(text[tail]) & 0xC0U) != 0x80U) --left;
  }
  return std::string(text.substr(0, head)).append(kDots).append(text.substr(tail));
}

}  // namespace

DotGraph::DotGraph(std::string_view name) : name_(name) {
  // Long lines are not broken when Graphviz writes the drawing again: some readers do not know that
  // a backslash at the end of a line continues it.
  set_graph({{"linelength", "0"}});
}

void DotGraph::set_graph(DotAttributes attributes) { merge(graph_, std::move(attributes)); }

void DotGraph::set_node_defaults(DotAttributes attributes) {
  merge(node_defaults_, std::move(attributes));
}

void DotGraph::set_edge_defaults(DotAttributes attributes) {
  merge(edge_defaults_, std::move(attributes));
}

std::uint32_t DotGraph::find(const std::string& id) const {
  return node_table_.find(id, [&](std::uint32_t i) { return std::string_view(nodes_[i].id); });
}

void DotGraph::add_node(const std::string& id, DotAttributes attributes) {
  const auto id_of = [&](std::uint32_t i) { return std::string_view(nodes_[i].id); };
  const auto fresh = static_cast<std::uint32_t>(nodes_.size());
  std::uint32_t node = node_table_.find_or_insert(id, fresh, id_of);
  if (node == kNone) {
    node = fresh;
    nodes_.push_back({.id = id, .attributes = {}});
  }
  merge(nodes_[node].attributes, std::move(attributes));
}

void DotGraph::add_edge(const std::string& from, const std::string& to, DotAttributes attributes) {
  const std::uint32_t tail = find(from), head = find(to);
  assert(tail != kNone && head != kNone && "an edge joins nodes that were added");
  const auto edge = static_cast<std::uint32_t>(edges_.size());
  arrange(attributes);
  edges_.push_back({.to = head, .next = kNone, .attributes = std::move(attributes)});
  Node& node = nodes_[tail];
  (node.last_edge == kNone ? node.first_edge : edges_[node.last_edge].next) = edge;
  node.last_edge = edge;
  nodes_[head].first_maker = std::min(nodes_[head].first_maker, tail);
}

void DotGraph::add_cluster(const DotAttributes& attributes, std::vector<std::string> members) {
  clusters_.push_back({attributes, std::move(members)});
}

// About the ranks that a layout gives: of each node the number of edges on the longest path to it, or more if
// it can stand nearer to what reads it, as a parameter does; of nodes on a cycle, and after it, the number
// known without it.
std::vector<std::uint32_t> DotGraph::ranks() const {
  std::vector<std::uint32_t> ranks(nodes_.size(), 0), makers(nodes_.size(), 0), order;
  for (const Edge& edge : edges_) ++makers[edge.to];
  std::vector<std::uint32_t> waiting = makers;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    if (makers[node] == 0) order.push_back(node);
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::uint32_t node = order[at];
    for (std::uint32_t i = nodes_[node].first_edge; i != kNone; i = edges_[i].next) {
      const std::uint32_t to = edges_[i].to;
      ranks[to] = std::max(ranks[to], ranks[node] + 1);
      if (--waiting[to] == 0) order.push_back(to);
    }
  }
  for (std::size_t at = order.size(); at-- > 0;) {
    const std::uint32_t node = order[at];
    std::uint32_t readers = 0, nearest = kNone;
    for (std::uint32_t i = nodes_[node].first_edge; i != kNone; i = edges_[i].next, ++readers) {
      nearest = std::min(nearest, ranks[edges_[i].to]);
    }
    if (readers > 0 && readers >= makers[node] && nearest > ranks[node]) ranks[node] = nearest - 1;
  }
  return ranks;
}

std::size_t DotGraph::leave_out_long_edges(std::size_t most) {
  const std::vector<std::uint32_t> rank = ranks();
  std::vector<std::vector<std::uint32_t>> by_span(nodes_.size() + 1);
  std::size_t sum = 0;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    std::uint32_t shortest = kNone;
    const auto span = [&](std::uint32_t edge) {
      const std::uint32_t from = rank[node], to = rank[edges_[edge].to];
      return std::max<std::uint32_t>(1, from < to ? to - from : from - to);
    };
    for (std::uint32_t i = nodes_[node].first_edge; i != kNone; i = edges_[i].next) {
      if (shortest == kNone || span(i) < span(shortest)) shortest = i;
    }
    for (std::uint32_t i = nodes_[node].first_edge; i != kNone; i = edges_[i].next) {
      sum += span(i);
      if (i != shortest) by_span[span(i)].push_back(i);
    }
  }
  std::size_t left_out = 0;
  for (std::size_t span = by_span.size(); span-- > 1 && sum > most;) {
    while (sum > most && !by_span[span].empty()) {
      edges_[by_span[span].back()].is_left_out = true;
      by_span[span].pop_back();
      sum -= span;
      ++left_out;
    }
  }
  return left_out;
}

// A node that has an edge and only default attributes gets no statement of its own.
void DotGraph::append_node(std::uint32_t node, std::string& out) const {
  const Node& drawn = nodes_[node];
  const bool has_edges = drawn.first_edge != kNone || drawn.first_maker != kNone;
  if (has_edges && are_default(drawn.attributes, node_defaults_)) return;
  out += '\t';
  append_id(out, drawn.id);
  append_attributes(out, drawn.attributes, node_defaults_);
}

// Edges out of the node, in the order in which their targets were added.
void DotGraph::list_edges(std::uint32_t node, std::vector<std::uint32_t>& edges) const {
  edges.clear();
  for (std::uint32_t i = nodes_[node].first_edge; i != kNone; i = edges_[i].next) {
    if (!edges_[i].is_left_out) edges.push_back(i);
  }
  std::ranges::sort(edges, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(edges_[a].to, a) < std::pair(edges_[b].to, b);
  });
}

// The node and its edges, with each target before the edge to it: a node is written where it first
// occurs.
void DotGraph::append_from(std::uint32_t node, std::vector<std::uint32_t>& edges,
                           std::string& out) const {
  if (nodes_[node].first_maker >= node) append_node(node, out);
  list_edges(node, edges);
  std::uint32_t before = node;
  for (const std::uint32_t i : edges) {
    const Edge& edge = edges_[i];
    const std::uint32_t to = edge.to;
    if (to > before && nodes_[to].first_maker == node) append_node(to, out);
    before = std::max(before, to);
    out += '\t';
    append_id(out, nodes_[node].id);
    out += " -> ";
    append_id(out, nodes_[to].id);
    append_attributes(out, edge.attributes, edge_defaults_);
  }
}

void DotGraph::append_clusters(std::string& out) const {
  for (std::size_t i = 0; i < clusters_.size(); ++i) {
    out += "\tsubgraph cluster_" + std::to_string(i) + " {";
    for (const DotAttribute& attribute : clusters_[i].attributes) {
      out.append(" ").append(attribute.name) += '=';
      append_quoted(out, attribute.value);
      out += ';';
    }
    out += "\n\t\t";
    for (const std::string& member : clusters_[i].members) {
      append_quoted(out, member);
      out += "; ";
    }
    out += "\n\t}\n";
  }
}

std::string DotGraph::text() const {
  std::string out = "digraph ";
  append_id(out, name_);
  out += " {\n";
  append_defaults(out, "graph", graph_);
  append_defaults(out, "node", node_defaults_);
  append_defaults(out, "edge", edge_defaults_);
  std::vector<std::uint32_t> edges;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) append_from(node, edges, out);
  append_clusters(out);
  return out + "}\n";
}

std::string dot_text(std::string_view text, std::size_t most) {
  if (text.size() <= most && is_plain(text)) return std::string(text);
  return without_meaning(shortened(escaped(text), most));
}

// ---- dot style ----

namespace {

constexpr const char* kFont = "Helvetica,Arial,sans-serif";
// An id is written again at each edge of its box, so that a number takes the place of a longer
// name.
constexpr std::size_t kLongestId = 200;

// Prefixes that dot_id() uses: no other id may begin with one.
constexpr std::array<std::string_view, 6> kOwnIds = {
    "node:", "part:", "input:", "output:", "legend:", "parameter:"};

bool is_fit_for_id(std::string_view name) {
  // cgraph treats a name that begins with '%' as one that it generated itself.
  if (name.empty() || name.size() > kLongestId || name.starts_with('%')) return false;
  if (name.find('"') != name.npos || dot_text(name, kLongestId) != name) return false;
  return std::ranges::none_of(kOwnIds, [&](std::string_view own) { return name.starts_with(own); });
}

DotAttributes role_attributes(DotRole role) {
  switch (role) {
    case DotRole::acc:
      return {{"fillcolor", "#c4ecd9"}, {"color", "#0b7a5c"}};
    case DotRole::kept_on_cpu:
      return {{"fillcolor", "#ffe8a0"}, {"color", "#8a6000"}, {"style", "rounded,filled,dashed"}};
    case DotRole::unsupported:
      return {{"fillcolor", "#ef9d86"}, {"color", "#9c2f12"}, {"penwidth", "2"}};
    case DotRole::cpu:
      return {{"fillcolor", "#ececec"}, {"color", "#666666"}};
    case DotRole::terminal:
      return {{"fillcolor", "#f2f2f2"},
              {"color", "#777777"},
              {"shape", "ellipse"},
              {"style", "filled"}};
    case DotRole::parameter:
      return {{"fillcolor", "#fafafa"},
              {"color", "#b0b0b0"},
              {"style", "filled"},
              {"fontsize", "8"},
              {"fontcolor", "#444444"}};
  }
  return {};
}

}  // namespace

DotAttributes with_role(DotRole role, DotAttributes more) {
  DotAttributes all = role_attributes(role);
  for (DotAttribute& attribute : more) all.push_back(std::move(attribute));
  return all;
}

TargetColours target_colours(TargetId target) {
  // Light forms of colours by Okabe and Ito, which readers with any colour vision tell apart.
  static constexpr std::array<TargetColours, kTargetColours> kColours = {{{"#c4ecd9", "#0b7a5c"},
                                                                          {"#cfe4f7", "#0b5c99"},
                                                                          {"#f3d3e6", "#93306c"},
                                                                          {"#fbdcb4", "#a35a00"},
                                                                          {"#e3dcf5", "#4b3a8f"},
                                                                          {"#f7f3b0", "#6b6500"}}};
  return kColours[index(target) % kTargetColours];
}

DotAttributes with_role(DotRole role, TargetId target, DotAttributes more) {
  if (role != DotRole::acc || target == kNone<TargetId>) return with_role(role, std::move(more));
  const auto [fill, border] = target_colours(target);
  DotAttributes all = {{"fillcolor", std::string(fill)}, {"color", std::string(border)}};
  for (DotAttribute& attribute : more) all.push_back(std::move(attribute));
  return all;
}

DotAttributes cluster_attributes(const Report& report, PartId part, const std::string& label) {
  const bool is_acc = report.split.partition.is_acc(part);
  if (is_acc && !report.targets.empty()) {
    const std::string border(target_colours(report.split.partition.target(part)).border);
    return {{"label", label},         {"tooltip", label}, {"style", "rounded,filled"},
            {"fillcolor", "#fbfbfb"}, {"color", border},  {"fontsize", "11"}};
  }
  return {{"label", label},
          {"tooltip", label},
          {"style", "rounded,filled"},
          {"fillcolor", is_acc ? "#eef5fb" : "#f8f8f8"},
          {"color", is_acc ? "#5b8db8" : "#a0a0a0"},
          {"fontsize", "11"}};
}

DotGraph start_drawing(std::string_view name, const std::string& title) {
  DotGraph drawing(is_fit_for_id(name) ? name : "model");
  drawing.set_graph(
      {{"label", title + "\\l "},
       {"labelloc", "t"},
       {"labeljust", "l"},
       {"fontname", kFont},
       {"fontsize", "14"},
       {"rankdir", "TB"},
       {"nodesep", "0.25"},
       {"ranksep", "0.35"},
       {"newrank", "true"},  // else Graphviz cannot place the boxes of many partitions
       {"bgcolor", "white"},
       {"tooltip", title}});
  drawing.set_node_defaults({{"label", "\\N"},
                             {"shape", "box"},
                             {"style", "rounded,filled"},
                             {"fillcolor", "white"},
                             {"color", "#777777"},
                             {"penwidth", "1.2"},
                             {"fontname", kFont},
                             {"fontsize", "10"},
                             {"fontcolor", "#111111"},
                             {"margin", "0.12,0.06"},
                             {"height", "0.3"},
                             {"tooltip", ""}});
  drawing.set_edge_defaults({{"color", "#8a8a8a"},
                             {"penwidth", "0.8"},
                             {"arrowsize", "0.6"},
                             {"fontname", kFont},
                             {"fontsize", "9"},
                             {"fontcolor", "#333333"},
                             {"label", ""},
                             {"style", "solid"},
                             {"tooltip", ""}});
  return drawing;
}

TargetId colour_of(const Report& report, PartId part) {
  return report.targets.empty() ? kNone<TargetId> : report.split.partition.target(part);
}

namespace {

// Puts the legend's nodes into one column in a box of their own.
void add_legend_box(DotGraph& drawing, const std::vector<std::string>& ids) {
  arrange_in_columns(drawing, ids, 1);
  drawing.add_cluster({{"label", "legend"},
                       {"tooltip", "legend"},
                       {"style", "rounded"},
                       {"color", "#a0a0a0"},
                       {"fontsize", "11"}},
                      ids);
}

}  // namespace

void add_legend(DotGraph& drawing, const Report& report,
                const std::vector<std::pair<DotRole, const char*>>& entries) {
  std::vector<std::string> members;
  const auto add = [&](DotRole role, TargetId target, const std::string& meaning) {
    members.push_back("legend:" + std::to_string(members.size()));
    drawing.add_node(members.back(),
                     with_role(role, target, {{"label", meaning}, {"tooltip", meaning}}));
  };
  for (const auto& [role, meaning] : entries) {
    const bool is_several = role == DotRole::acc && !report.targets.empty();
    if (!is_several) add(role, kNone<TargetId>, meaning);
    for (std::size_t i = 0; is_several && i < report.targets.size(); ++i) {
      add(role, id_at<TargetId>(i), "on " + report.targets[i].name);
    }
  }
  add_legend_box(drawing, members);
}

void arrange_in_columns(DotGraph& drawing, const std::vector<std::string>& ids,
                        std::size_t columns) {
  for (std::size_t i = columns; i < ids.size(); ++i) {
    drawing.add_edge(ids[i - columns], ids[i], {{"style", "invis"}});
  }
}

std::string dot_id(std::string_view name, std::string_view kind, std::uint32_t number) {
  if (is_fit_for_id(name)) return std::string(name);
  return std::string(kind) + ":" + std::to_string(number);
}

std::string_view short_op(std::string_view op) {
  if (op.starts_with("torch.ops.")) {
    op.remove_prefix(std::string_view("torch.ops.").size());
  } else if (op.starts_with("torch.") || op.starts_with("_operator.")) {
    const std::string_view last = op.substr(op.rfind('.') + 1);
    if (!last.empty()) op = last;
  }
  return op;
}

std::string op_label(std::string_view op) { return dot_text(short_op(op), 40); }

std::string value_line(const Graph& graph, ValueId value) {
  std::string line =
      dot_text(graph.value(value).name, 80) + ": " + dot_text(type_text(graph, value), 80);
  if (const auto bytes = value_bytes(graph, value)) line += ", " + bytes_text(*bytes);
  return line;
}

std::string device_text(const Report& report, PartId part) {
  const bool is_one = report.targets.empty() && report.split.partition.is_acc(part);
  return is_one ? "accelerator" : device_name(report, part);
}

std::string left_out_text(std::size_t edges) {
  return counted(edges, "edge is", "edges are") + " left out: they span the most boxes";
}

std::vector<OpCount> count_ops(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<NameId> names;
  names.reserve(nodes.size());
  for (const NodeId node : nodes) names.push_back(graph.node(node).op);
  std::ranges::sort(names);
  std::vector<OpCount> ops;
  for (const NameId name : names) {
    if (ops.empty() || ops.back().op != name) ops.push_back({name, 0});
    ++ops.back().count;
  }
  std::ranges::sort(ops, [&](const OpCount& a, const OpCount& b) {
    return a.count != b.count ? a.count > b.count : graph.text(a.op) < graph.text(b.op);
  });
  return ops;
}

std::string ops_line(const Graph& graph, const std::vector<OpCount>& ops, std::size_t most) {
  CappedList list(most);
  std::string line;
  for (const OpCount& op : ops) {
    if (!list.shows_next()) continue;
    line += (line.empty() ? "" : ", ") + count_text(op.count) + " " + op_label(graph.text(op.op));
  }
  return line + list.rest(", # other op type", ", # other op types");
}

// ---- node heat ----

namespace {

constexpr std::size_t kUnknown = kHeatClasses - 1;
// The least share of each class but the last two.
constexpr std::array<double, kHeatClasses - 2> kLeastShare = {0.1, 0.03, 0.01, 0.003};
constexpr std::array<std::string_view, kHeatClasses - 2> kShareNames = {"over 10%", "3% to 10%",
                                                                        "1% to 3%", "0.3% to 1%"};

std::string_view thing_of(ColorBy by) {
  switch (by) {
    case ColorBy::time:
      return "time";
    case ColorBy::flops:
      return "FLOPs";
    case ColorBy::bytes:
      return "bytes";
    case ColorBy::support:
      break;
  }
  return {};
}

double time_of(const Report& report, NodeId node) {
  if (report.time == nullptr) return -1;
  const TargetTimes& times = report.time->basis.times;
  const Partition& partition = report.split.partition;
  const TargetId target = partition.target(partition.part_of[node]);
  const DeviceTimes& own = target == kNone<TargetId> ? times.cpu : times.on_target(index(target));
  return own.of(node).value_or(-1);
}

std::string amount_text(ColorBy by, double amount) {
  if (by == ColorBy::time) return duration_text(amount);
  if (by == ColorBy::flops) return flops_text(amount);
  return bytes_text(static_cast<std::uint64_t>(std::min(amount, 1e18)));
}

bool has_unknown(const HeatMap& heat, std::span<const NodeId> nodes) {
  return std::ranges::any_of(nodes, [&](NodeId node) { return heat.amounts[node] < 0; });
}

}  // namespace

HeatMap make_heat(const Report& report, ColorBy by) {
  const bool needs_costs = by != ColorBy::time;
  return make_heat(report, by, needs_costs ? node_costs(report.graph) : PerNode<NodeCost>());
}

HeatMap make_heat(const Report& report, ColorBy by, const PerNode<NodeCost>& costs) {
  const Graph& graph = report.graph;
  HeatMap heat{.by = by, .amounts = PerNode<double>(graph.node_count(), -1)};
  for (const NodeId node : graph.nodes()) {
    double& amount = heat.amounts[node];
    if (by == ColorBy::time) amount = time_of(report, node);
    if (by == ColorBy::flops) amount = costs[node].flops.value_or(-1);
    if (by == ColorBy::bytes) amount = costs[node].bytes.value_or(-1);
    heat.total += std::max(amount, 0.0);
    heat.has_unknown = heat.has_unknown || amount < 0;
  }
  return heat;
}

std::size_t heat_class(const HeatMap& heat, double amount) {
  if (amount < 0) return kUnknown;
  const double share = heat.total > 0 ? amount / heat.total : 0;
  std::size_t found = 0;
  while (found < kLeastShare.size() && share < kLeastShare.at(found)) ++found;
  return found;
}

double heat_of(const HeatMap& heat, std::span<const NodeId> nodes) {
  double sum = 0;
  for (const NodeId node : nodes) sum += std::max(heat.amounts[node], 0.0);
  return sum > 0 || !has_unknown(heat, nodes) ? sum : -1;
}

std::string heat_text(const HeatMap& heat, double amount) {
  const std::string thing(thing_of(heat.by));
  if (amount < 0) return thing + " not known";
  if (heat.has_unknown) return amount_text(heat.by, amount);
  const double share = heat.total > 0 ? amount / heat.total : 0;
  return amount_text(heat.by, amount) + ", " + percent_text(share) + " of the " + thing;
}

std::string heat_text(const HeatMap& heat, std::span<const NodeId> nodes) {
  const double amount = heat_of(heat, nodes);
  return heat_text(heat, amount) + (amount >= 0 && has_unknown(heat, nodes) ? "+" : "");
}

std::string heat_class_name(const HeatMap& heat, std::size_t heat_class) {
  const std::string thing(thing_of(heat.by));
  if (heat_class == kUnknown) return thing + " not known";
  if (heat_class == kShareNames.size()) return "less";
  return std::string(kShareNames.at(heat_class)) +
         (heat_class == 0 ? (heat.has_unknown ? " of the known " : " of the ") + thing : "");
}

DotAttributes heat_attributes(std::size_t heat_class) {
  switch (heat_class) {
    case 0:
      return {{"fillcolor", "#b2182b"}, {"color", "#67000d"}, {"fontcolor", "#ffffff"}};
    case 1:
      return {{"fillcolor", "#ef6a4c"}, {"color", "#8f1d14"}};
    case 2:
      return {{"fillcolor", "#fdb27f"}, {"color", "#a0522d"}};
    case 3:
      return {{"fillcolor", "#fde3c4"}, {"color", "#a08060"}};
    case kUnknown:
      return {{"fillcolor", "#ffffff"}, {"color", "#777777"}, {"style", "rounded,filled,dashed"}};
    default:
      return {{"fillcolor", "#f7f4f0"}, {"color", "#a0a0a0"}};
  }
}

void add_heat_legend(DotGraph& drawing, const HeatMap& heat) {
  std::vector<std::string> members;
  for (std::size_t i = 0; i < kHeatClasses; ++i) {
    members.push_back("legend:" + std::to_string(i));
    DotAttributes attributes = heat_attributes(i);
    const std::string name = heat_class_name(heat, i);
    attributes.push_back({"label", name});
    attributes.push_back({"tooltip", name});
    drawing.add_node(members.back(), attributes);
  }
  add_legend_box(drawing, members);
}

// ---- flow graph ----

std::string FlowSum::bytes_words() const {
  if (!is_known && bytes == 0) return "size unknown";
  return (is_known ? "" : "at least ") + bytes_text(bytes);
}

FlowSum sum_of(const Graph& graph, std::span<const Flow> flows) {
  FlowSum sum{.values = flows.size()};
  for (const Flow& flow : flows) {
    const auto bytes = value_bytes(graph, flow.value);
    sum.is_known = sum.is_known && bytes && !__builtin_add_overflow(sum.bytes, *bytes, &sum.bytes);
  }
  return sum;
}

void FlowGraph::arrange() {
  std::ranges::sort(flows_, [](const Flow& a, const Flow& b) { return a.key() < b.key(); });
  flows_.erase(std::unique(flows_.begin(), flows_.end(),
                           [](const Flow& a, const Flow& b) { return a.key() == b.key(); }),
               flows_.end());
}

std::size_t FlowGraph::edge_count() const {
  std::size_t edges = 0;
  each_edge([&](std::span<const Flow>) { ++edges; });
  return edges;
}

}  // namespace cleave
