// Failure signature: decides whether two failures of a backend are the same, whichever piece of the
// partition they occur in.
//
//   Failed analyse for node #12 "/loop/Loop" Unimplemented(Loop)      of the whole partition
//   Failed analyse for node #6 "/loop/Loop" Unimplemented(Loop)       of the node alone
//   compile: Failed analyse for node # _ Unimplemented_               the signature of both
//
// It leaves out numbers, addresses, paths, quoted text, shapes and the names of the partition,
// since they change with the cut, and backtraces. From a chain of causes it keeps the first and the
// last line.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/graph/graph.h"
#include "core/lowering/oracle.h"

namespace cleave {

// The names of nodes and values, and the op types, as words of a message.
class MessageNames {
 public:
  MessageNames() = default;
  MessageNames(const Graph& graph, const std::vector<NodeId>& nodes);
  bool contains(std::string_view word) const { return names_.contains(word); }

 private:
  std::unordered_set<std::string_view> names_;  // views into the graph
};

// The lines of a message that say what is wrong, joined by " <- ". With "Caused by:" these are the
// first line and the last cause; else the first line with a word such as "error", else the first
// line that is not empty. Linear.
std::string essential_lines(std::string_view message);

// "<stage>: <what is wrong>", cut to at most 160 bytes. Linear in the message.
std::string failure_signature(const Answer& answer, const MessageNames& names);

}  // namespace cleave
