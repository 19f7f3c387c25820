#include "formats/dot_graph.h"

#include <graphviz/cgraph.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <new>
#include <utility>

#include "formats/diagnostic.h"
#include "formats/utf8.h"

namespace cleave {
namespace {

// cgraph takes `char*` where it only reads.
char* mutable_text(const char* text) { return const_cast<char*>(text); }
char* mutable_text(const std::string& text) { return mutable_text(text.c_str()); }

Agraph_t* agraph(void* graph) { return static_cast<Agraph_t*>(graph); }

int append_to_string(void* to, const char* text) {
  static_cast<std::string*>(to)->append(text);
  return 0;
}
int nothing_to_flush(void*) { return 0; }
Agiodisc_t into_string = {nullptr, append_to_string, nothing_to_flush};
Agdisc_t disciplines = {&AgMemDisc, &AgIdDisc, &into_string};

// A default of "": objects that do not say have none.
void set_attributes(void* object, const DotAttributes& attributes) {
  for (const DotAttribute& attribute : attributes) {
    agsafeset(object, mutable_text(attribute.name), mutable_text(attribute.value),
              mutable_text(""));
  }
}

void declare_defaults(Agraph_t* graph, int kind, const DotAttributes& attributes) {
  for (const DotAttribute& attribute : attributes) {
    agattr(graph, kind, mutable_text(attribute.name), mutable_text(attribute.value));
  }
}

// True of text that dot_text() has nothing to do about.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '\\' && c != '&'; });
}

// What stands in double quotes; backslashes are part of the value.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '\\';
    out += c;
  }
  return out + '"';
}

// True when `text` begins with a character entity, as "&lt;" or "&#955;".
bool is_entity(std::string_view text) {
  const std::size_t end = text.substr(0, 12).find(';');
  if (!text.starts_with('&') || end == text.npos || end < 2) return false;
  return std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(end), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '#';
  });
}

// The same text to Graphviz, whose escapes and entities it holds meant themselves.
std::string without_meaning(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') out += '\\';
    out += text[i];
    if (is_entity(text.substr(i))) out += "amp;";
  }
  return out;
}

// Bytes of the first `count` characters of a valid text, of all where there are fewer.
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

void DotGraph::Close::operator()(void* graph) const { agclose(agraph(graph)); }

DotGraph::DotGraph(std::string_view name)
    : graph_(agopen(mutable_text(std::string(name)), Agdirected, &disciplines)) {
  if (graph_ == nullptr) throw std::bad_alloc();
  // Long lines stay whole: not every reader knows that a backslash at a line's end continues it.
  set_graph({{"linelength", "0"}});
}

void DotGraph::set_graph(const DotAttributes& attributes) {
  declare_defaults(agraph(graph_.get()), AGRAPH, attributes);
}

void DotGraph::set_node_defaults(const DotAttributes& attributes) {
  declare_defaults(agraph(graph_.get()), AGNODE, attributes);
}

void DotGraph::set_edge_defaults(const DotAttributes& attributes) {
  declare_defaults(agraph(graph_.get()), AGEDGE, attributes);
}

void DotGraph::add_node(const std::string& id, const DotAttributes& attributes) {
  set_attributes(agnode(agraph(graph_.get()), mutable_text(id), 1), attributes);
}

void DotGraph::add_edge(const std::string& from, const std::string& to,
                        const DotAttributes& attributes) {
  Agraph_t* graph = agraph(graph_.get());
  Agnode_t* tail = agnode(graph, mutable_text(from), 0);
  Agnode_t* head = agnode(graph, mutable_text(to), 0);
  assert(tail != nullptr && head != nullptr && "an edge joins nodes that were added");
  set_attributes(agedge(graph, tail, head, nullptr, 1), attributes);
}

void DotGraph::add_cluster(const DotAttributes& attributes, std::vector<std::string> members) {
  clusters_.push_back({attributes, std::move(members)});
}

std::string DotGraph::text() const {
  std::string text;
  agwrite(agraph(graph_.get()), &text);
  assert(text.ends_with("}\n") && "cgraph ends a graph with its brace");
  text.resize(text.size() - 2);
  for (std::size_t i = 0; i < clusters_.size(); ++i) {
    text += "\tsubgraph cluster_" + std::to_string(i) + " {";
    for (const DotAttribute& attribute : clusters_[i].attributes) {
      text += std::string(" ") + attribute.name + "=" + in_quotes(attribute.value) + ";";
    }
    text += "\n\t\t";
    for (const std::string& member : clusters_[i].members) text += in_quotes(member) + "; ";
    text += "\n\t}\n";
  }
  return text + "}\n";
}

std::string dot_text(std::string_view text, std::size_t most) {
  if (text.size() <= most && is_plain(text)) return std::string(text);
  return without_meaning(shortened(escaped(text), most));
}

}  // namespace cleave
