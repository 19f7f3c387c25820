#include "core/stages/scope_calls.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// "first-last" of each call.
std::string calls_of(std::string_view text, std::string_view scope) {
  const Graph graph = graph_from_text(text);
  std::string found;
  for (const ScopeCall& call : find_calls(graph, scope)) {
    found += (found.empty() ? "" : " ") + std::string(graph.node(call.first).name) + "-" +
             std::string(graph.node(call.last).name);
  }
  return found;
}

TEST_CASE("A scope is inside the scopes that begin its path") {
  CHECK(is_inside("enc.layer.0", "enc.layer"));
  CHECK(is_inside("enc", "enc"));
  CHECK(is_inside("enc", ""));
  CHECK(!is_inside("encoder", "enc"));
  CHECK(!is_inside("enc", "enc.layer"));
  CHECK(!is_inside("", "enc"));
  CHECK(child_of("enc.layer.0.attn", "enc.layer") == "0");
  CHECK(child_of("enc.layer", "enc.layer").empty());
  CHECK(child_of("enc.layer", "") == "enc");
}

TEST_CASE("Call numbers are not part of a scope's name unless they are asked for") {
  CHECK(is_inside("enc@1.layer", "enc"));
  CHECK(is_inside("enc@1.layer", "enc@1"));
  CHECK(!is_inside("enc@2.layer", "enc@1"));
  CHECK(!is_inside("enc@x", "enc"));
  CHECK(child_of("enc@1.layer.0", "enc") == "layer");
}

TEST_CASE("Data that leaves a scope and comes back begins a new call") {
  const char* const model =
      "input x\nscope l\n a = f(x)\n b = f(a)\nscope\n c = f(b)\nscope l\n d = f(c)\n output d";
  CHECK(calls_of(model, "l") == "a-b d-d");
  CHECK(calls_of(model, "") == "a-d");
  CHECK(calls_of(model, "m").empty());
}

TEST_CASE("A node of another scope between them does not divide a call") {
  CHECK(calls_of("input x\nscope l\n a = f(x)\nscope\n s = size(x)\n t = g(a)\nscope l\n"
                 " b = f(a, s)\n output b, t",
                 "l") == "a-b");
}

}  // namespace
}  // namespace cleave
