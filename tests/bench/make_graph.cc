// Writes a large graph, or the support list that goes with it, to standard output.
//
// usage: cleave_make_graph chain|wide|transformer|onnx NODES
//        cleave_make_graph support|onnx-support
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "tests/bench/bench_graph.h"
#include "tests/bench/bench_onnx_graph.h"

namespace {

// Empty for an unknown kind.
std::string made(std::string_view kind, std::size_t nodes) {
  using namespace cleave::bench;
  if (kind == "onnx") return make_onnx_model(nodes);
  const auto known = parse_graph_kind(kind);
  return known ? make_graph(*known, nodes) : "";
}

}  // namespace

int main(int argc, char** argv) {
  std::string text;
  if (argc == 2 && std::string_view(argv[1]) == "support") {
    text = cleave::bench::make_support_list();
  } else if (argc == 2 && std::string_view(argv[1]) == "onnx-support") {
    text = cleave::bench::make_onnx_support_list();
  } else if (argc == 3) {
    const std::string_view count = argv[2];
    std::size_t nodes = 0;
    std::from_chars(count.data(), count.data() + count.size(), nodes);
    if (nodes > 0) text = made(argv[1], nodes);
  }
  if (text.empty()) {
    std::fputs(
        "usage: cleave_make_graph chain|wide|transformer|onnx NODES\n"
        "       cleave_make_graph support|onnx-support\n",
        stderr);
    return 2;
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return written && std::fflush(stdout) == 0 ? 0 : 4;
}
