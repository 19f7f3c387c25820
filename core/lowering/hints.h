// Hints: items that a backend's message may name. Most messages name the culprit, but each backend
// has its own way of doing so. Therefore every word and every quoted text of the message is looked
// up among the names of the nodes, then of their values, then of their ops.
//
// A name may be cut off at the front or have special characters replaced ("/loop/Loop" ->
// "main_graph_loop_Loop", "oop/Loop"). So a word of at least 8 characters also counts when it is
// the end of exactly one name, or exactly one name is its end.
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
  // Indexes the names of all nodes of the order. O(names log names).
  Hints(const Graph& graph, const ItemOrder& order);

  // The members of `items` that the message may name, each once, the most likely first: named
  // nodes, then makers of named values, then nodes of a named op, the rarest op first and one item
  // per node case. Linear in the message and the items, times log names.
  std::vector<std::uint32_t> in(std::string_view message,
                                std::span<const std::uint32_t> items) const;

 private:
  struct Name {
    std::string_view text;
    std::uint32_t item;
    bool operator<(const Name& other) const { return text < other.text; }
  };
  struct Ending {  // a name backwards, special characters as '_'
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
