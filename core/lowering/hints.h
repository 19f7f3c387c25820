// Hints: items that a backend's message may name. Most messages do name the culprit, each backend in
// a way of its own; so every word and every quoted text of the message is looked up among the names
// of the nodes, then of their values, then of their ops.
//
// A name may be cut off at its front or have its odd characters replaced ("/loop/Loop" ->
// "main_graph_loop_Loop", "oop/Loop"): a word of at least 8 characters counts when it is the end of
// one name only, or one name is its end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/lowering/item_order.h"

namespace cleave {

class Hints {
 public:
  // Looks up all names of the order's nodes. O(names log names).
  Hints(const Graph& graph, const ItemOrder& order);

  // Those of `items` that the message may name, each once, the most likely first: named nodes, then
  // makers of named values, then nodes of a named op, the rarest op first and one item a node case.
  // Linear in the message and the items, times log names.
  std::vector<std::uint32_t> in(std::string_view message,
                                std::span<const std::uint32_t> items) const;

 private:
  struct Name {
    std::string_view text;
    std::uint32_t item;
    bool operator<(const Name& other) const { return text < other.text; }
  };
  struct Ending {  // a name backwards, odd characters as '_'
    std::string text;
    std::uint32_t item;
    bool operator<(const Ending& other) const { return text < other.text; }
  };

  void add_exact(const std::vector<Name>& names, std::string_view word,
                 std::vector<std::uint32_t>& found) const;
  void add_ending(std::string_view word, std::vector<std::uint32_t>& found) const;
  void add_ops(std::span<const std::string_view> words, std::span<const std::uint32_t> items,
               std::vector<std::uint32_t>& found) const;

  const Graph& graph_;
  const ItemOrder& order_;
  std::vector<Name> nodes_, values_;  // sorted
  std::vector<Ending> endings_;       // of nodes, sorted
};

}  // namespace cleave
