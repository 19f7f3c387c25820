#include "formats/report/drawings/dot_graph.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <utility>

#include "formats/base/text/diagnostic.h"
#include "formats/base/text/utf8.h"

namespace cleave {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Characters of an id without quotes; includes all bytes outside ASCII.
bool is_id_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// "12", "-0.5", ".5"
bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto digits = [](std::string_view part) {
    return std::all_of(part.begin(), part.end(), is_digit);
  };
  const std::string_view behind = text.substr(std::min(dot + 1, text.size()));
  return digits(text.substr(0, dot)) && digits(behind) && (dot > 0 || !behind.empty());
}

bool is_keyword(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kKeywords = {"node",  "edge",    "strict",
                                                                "graph", "digraph", "subgraph"};
  const auto same = [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a + 32 == b); };
  return std::any_of(kKeywords.begin(), kKeywords.end(), [&](std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(), same);
  });
}

bool needs_quotes(std::string_view text) {
  if (text.empty()) return true;
  if (is_digit(text[0]) || text[0] == '.' || text[0] == '-') return !is_number(text);
  return !std::all_of(text.begin(), text.end(), is_id_character) || is_keyword(text);
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
  const bool is_arranged =
      std::adjacent_find(attributes.begin(), attributes.end(), [](const auto& a, const auto& b) {
        return !is_before(a, b);
      }) == attributes.end();
  if (is_arranged) return;
  std::stable_sort(attributes.begin(), attributes.end(), is_before);
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
  return std::all_of(attributes.begin(), attributes.end(), [&](const DotAttribute& attribute) {
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
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '\\' && c != '&'; });
}

// True when `text` begins with a character entity, such as "&lt;" or "&#955;".
bool is_entity(std::string_view text) {
  const std::size_t end = text.substr(0, 12).find(';');
  if (!text.starts_with('&') || end == text.npos || end < 2) return false;
  return std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(end), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '#';
  });
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
  std::sort(edges.begin(), edges.end(), [&](std::uint32_t a, std::uint32_t b) {
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

}  // namespace cleave
