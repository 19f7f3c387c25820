// Writes a large graph, or the support list that goes with it, to standard output.
//
// usage: cleave_make_graph chain|wide|transformer NODES
//        cleave_make_graph support
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "tests/bench/bench_graph.h"

int main(int argc, char** argv) {
  using namespace cleave::bench;
  std::string text;
  if (argc == 2 && std::string_view(argv[1]) == "support") {
    text = make_support_list();
  } else if (argc == 3 && parse_graph_kind(argv[1])) {
    const std::string_view count = argv[2];
    std::size_t nodes = 0;
    std::from_chars(count.data(), count.data() + count.size(), nodes);
    if (nodes > 0) text = make_graph(*parse_graph_kind(argv[1]), nodes);
  }
  if (text.empty()) {
    std::fputs(
        "usage: cleave_make_graph chain|wide|transformer NODES\n"
        "       cleave_make_graph support\n",
        stderr);
    return 2;
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return written && std::fflush(stdout) == 0 ? 0 : 4;
}
