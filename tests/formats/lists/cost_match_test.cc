#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "formats/lists/costs.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

// ---- cost match test ----

namespace {

TEST_CASE("nodes, constants and nodes of bodies are found, and the node whose time includes each") {
  const Graph graph = graph_from_text(R"(
    input x
    param w
    const c = Cast(w)
    a = Relu(x)
    i = If(a, ^x)
    | h = Exp(x)
    | k = Neg(h)
    j = If(i, ^x)
    | m = Exp(x)
    n@ u = Add(j, c)
  )");
  const NodeNames names(graph);
  // The name of the owner; "none" for a constant, "absent" for a name of no node.
  const auto owner = [&](std::string_view name) -> std::string {
    const auto found = names.find(name);
    if (!found) return "absent";
    const NodeId node = names.owner(*found);
    return node == kNone<NodeId> ? "none" : std::string(graph.node(node).name);
  };
  CHECK(owner("a") == "a");
  CHECK(owner("i") == "i");
  CHECK(owner("h") == "i");
  CHECK(owner("k") == "i");
  CHECK(owner("m") == "j");
  CHECK(owner("n") == "n");
  CHECK(owner("c") == "none");
  CHECK(owner("u") == "absent");
  CHECK(names.find_maker("u") == node_named(graph, "n"));
  CHECK(names.find_maker("c") == node_named(graph, "c"));
  CHECK_FALSE(names.find_maker("x"));
}

CostEntry kernel(std::string name, std::string op, double us, ObservedDims made = {}) {
  CostEntry entry{.name = std::move(name), .op = std::move(op), .us = us};
  if (!made.empty()) entry.outputs = {std::move(made)};
  return entry;
}

// The rule of each kernel, then "name time" of each node that has one.
std::string match(const char* model, std::vector<CostEntry> kernels,
                  CostFormat format = CostFormat::onnxruntime) {
  const Graph graph = graph_from_text(model);
  const CostMatch made =
      match_costs({.path = "p", .format = format, .entries = std::move(kernels)}, graph);
  std::ostringstream result;
  for (const MatchRule rule : made.rules) result << match_rule_name(rule) << ", ";
  for (const NodeId node : graph.nodes()) {
    if (made.us[node] >= 0) result << graph.node(node).name << " " << made.us[node] << "; ";
  }
  result << 100 * made.share() << "%";
  return result.str();
}

constexpr const char* kChain = R"(
  input x: float32[1,8,4,4]
  param w: float32[8,8,1,1]
  /a/Conv@ u: float32[1,8,4,4] = Conv(x, w)
  /a/Relu@ v: float32[1,8,4,4] = Relu(u)
  /b/Exp@ y: float32[1,8,4,4] = Exp(v)
)";

TEST_CASE("a kernel is found by its node's name or an output's name") {
  CHECK(
      match(kChain, {kernel("/a/Conv", "Conv", 5), kernel("v", "Relu", 2), kernel("z", "Z", 3)}) ==
      "name, output, none, /a/Conv 5; /a/Relu 1; /b/Exp 1; 70%");
}

TEST_CASE("a fused kernel named by its last output is divided back to the node whose op fits") {
  const std::string text = match(kChain, {kernel("v_nchwc", "Conv", 100)});
  CHECK(text.starts_with("stripped name, /a/Conv "));
  CHECK(text.find("/a/Relu ") != text.npos);
  CHECK(text.ends_with("100%"));
}

TEST_CASE("a node without a kernel joins its producer's kernel if its op is often fused") {
  const std::string text = match(kChain, {kernel("/a/Conv", "Conv", 100)});
  CHECK(text.find("/a/Relu ") != text.npos);
  // In a file written by hand, a node that is left out was not measured.
  CHECK(match(kChain, {kernel("/a/Conv", "", 100)}, CostFormat::node_csv) ==
        "name, /a/Conv 100; 100%");
}

TEST_CASE("the time of a kernel of several nodes is divided among them") {
  CHECK(match(kChain, {kernel("/a/Relu + /b/Exp", "", 8)}, CostFormat::tensorrt)
            .starts_with("joined names, "));
  CHECK(match(kChain, {kernel("{ForeignNode[/a/Conv.../b/Exp]}", "", 8)}, CostFormat::tensorrt)
            .starts_with("joined names, /a/Conv "));
}

TEST_CASE("a kernel goes to the node with the longest common path whose op fits") {
  CHECK(match(R"(
    input x: float32[4]
    /l.0/MatMul: float32[4] = MatMul(x, x)
    /l.0/Softmax: float32[4] = Softmax(/l.0/MatMul)
    /l.1/MatMul: float32[4] = MatMul(/l.0/Softmax, x)
  )",
              {kernel("/l.1/MatMul/Fusion//Scale/", "FusedMatMul", 7),
               kernel("/l.0/MatMulAddFusion", "Gemm", 3)}) ==
        "path, path, /l.0/MatMul 3; /l.1/MatMul 7; 100%");
}

TEST_CASE("a kernel goes past nodes near its path whose op does not fit or that have a kernel") {
  constexpr const char* kModel = R"(
    input x: float32[4]
    /l.0/Softmax: float32[4] = Softmax(x)
    /l.0/MatMul: float32[4] = MatMul(/l.0/Softmax, x)
    /l.0/MatMul_1: float32[4] = MatMul(/l.0/MatMul, x)
  )";
  CHECK(match(kModel, {kernel("/l.0/Fusion", "Gemm", 3)}) == "path, /l.0/MatMul 3; 100%");
  CHECK(match(kModel, {kernel("/l.0/MatMul", "MatMul", 2), kernel("/l.0/Fusion", "Gemm", 3)}) ==
        "name, path, /l.0/MatMul 2; /l.0/MatMul_1 3; 100%");
  CHECK(match(kModel, {kernel("/l.0/Fusion", "Conv", 3)}) == "none, 0%");
}

TEST_CASE("paths have whole folders in common, not parts of a folder's name") {
  constexpr const char* kModel = R"(
    input x: float32[4]
    /m/l.2/MatMul: float32[4] = MatMul(x, x)
    /m/l.11/MatMul: float32[4] = MatMul(/m/l.2/MatMul, x)
  )";
  CHECK(match(kModel, {kernel("/m/l.12/Fusion", "Gemm", 3)}) == "path, /m/l.2/MatMul 3; 100%");
  CHECK(match(kModel, {kernel("/more/Fusion", "Gemm", 3)}) == "none, 0%");
}

TEST_CASE("a kernel matches the only node with its output shape") {
  CHECK(match(R"(
    input x: float32[4]
    a: float32[4,9] = Tile(x)
    b: float32[4,8] = Tile(x)
  )",
              {kernel("other", "Tile", 7, {4, 9})}) == "shape, a 7; 100%");
}

TEST_CASE("a kernel with a made-up name belongs to the node after the last one found") {
  CHECK(match(R"(
    input x: float32[1,8,4,4]
    conv: float32[1,8,4,4] = Conv(x)
    act: float32[1,8,4,4] = HardSwish(conv)
    last: float32[1,8,2,2] = MaxPool(act)
  )",
              {kernel("conv", "Conv", 10), kernel("HardSigmoid_5", "HardSigmoid", 2, {1, 8, 4, 4}),
               kernel("Mul_6", "Mul", 1, {1, 8, 4, 4}), kernel("last", "MaxPool", 1)}) ==
        "name, order, order, name, conv 10; act 3; last 1; 100%");
}

TEST_CASE("the time of constants and bodies counts for no node") {
  CHECK(match(R"(
    input x: float32[4]
    param w: float32[4]
    const c: float32[4] = Exp(w)
    a: float32[4] = Add(x, c)
  )",
              {kernel("c", "Exp", 4), kernel("a", "Add", 1)}) == "name, name, a 1; 100%");
  std::vector<CostEntry> inside = {kernel("h", "Relu", 5), kernel("i", "If", 9)};
  inside[0].is_inside = true;
  inside[0].around = 1;
  CHECK(match(R"(
    input x: float32[4]
    i = If(x, ^x)
    | h = relu(x)
  )",
              inside) == "none, name, i 9; 100%");
}

TEST_CASE("kernels of an If that the model has replaced by its branch count, and the If does not") {
  std::vector<CostEntry> kernels = {kernel("a", "Exp", 2), kernel("deep/b", "LSTM", 18),
                                    kernel("deep/inner", "If", 30), kernel("other", "Relu", 5),
                                    kernel("outer", "If", 50)};
  kernels[1].is_inside = kernels[2].is_inside = kernels[3].is_inside = true;
  kernels[1].around = 2;
  kernels[2].around = kernels[3].around = 4;
  CHECK(match(R"(
    input x: float32[4]
    a: float32[4] = Exp(x)
    deep/b: float32[4] = LSTM(a)
  )",
              kernels) == "name, name, none, none, none, a 2; deep/b 18; 80%");
}

TEST_CASE("only a kernel whose name the runtime made up is matched by its place") {
  constexpr const char* kModel = R"(
    input x: float32[4]
    conv: float32[4] = Conv(x)
    act: float32[4] = HardSwish(conv)
  )";
  const auto rule_of = [&](const std::string& name) {
    const std::string made =
        match(kModel, {kernel("conv", "Conv", 1), kernel(name, "Mul", 1, {4})});
    return made.substr(6, made.find(',', 6) - 6);
  };
  for (const char* const name : {"", "Mul", "Mul_1", "Mul_160"}) CHECK(rule_of(name) == "order");
  for (const char* const name : {"Mul_", "Mul1", "Mul_1x", "Mul-1", "Mu", "Add_1", "aMul_1"}) {
    CHECK(rule_of(name) == "none");
  }
  // A shape that contradicts the node's is another's; without one nothing is known.
  CHECK(match(kModel, {kernel("conv", "Conv", 1), kernel("Mul_1", "Mul", 1, {5})})
            .starts_with("name, none"));
  CHECK(match(kModel, {kernel("conv", "Conv", 1), kernel("Mul_1", "Mul", 1)})
            .starts_with("name, none"));
  CHECK(match(kModel, {kernel("Mul_1", "Mul", 1, {4})}).starts_with("none"));
}

TEST_CASE(
    "the time of a kernel is divided by computing or by moving data, whichever takes longer") {
  constexpr const char* kModel = R"(
    input x: float32[4096,4096]
    a: float32[4096,4096] = MatMul(x, x)
    b: float32[4096,4096] = Relu(a)
    c: float32 = Softmax(b)
    d: float32 = Odd(c)
  )";
  CHECK(match(kModel, {kernel("a + b", "", 11.24)}, CostFormat::tensorrt) ==
        "joined names, a 10.24; b 1; 100%");
  CHECK(match(kModel, {kernel("b", "", 1), kernel("PWN(c), d", "", 8)}, CostFormat::tensorrt) ==
        "name, joined names, b 1; c 4; d 4; 100%");
  CHECK(match(kModel, {kernel("PWN(d)", "", 8)}, CostFormat::tensorrt) ==
        "joined names, d 8; 100%");
}

TEST_CASE("nodes join the kernels on either side, and are counted") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    t: float32[4] = Transpose(x)
    r: float32[4] = Reshape(t)
    s: float32[4] = Softmax(t)
    c: float32[4] = Conv(r)
    a: float32[4] = Add(x, c)
    z: float32[4] = Relu(s)
    o: float32[4] = Relu(x)
    e: float32[4] = Neg(x)
    f: float32[4] = Softmax(e)
    g: float32[4] = Gemm(e)
  )");
  CostEntries file{.path = "p", .format = CostFormat::onnxruntime};
  file.entries = {kernel("c", "Conv", 0), kernel("z", "Relu", 0), kernel("gone", "Softmax", 0),
                  kernel("g", "Gemm", 0)};
  file.entries[2].was_run = false;
  const CostMatch made = match_costs(file, graph);
  CHECK(made.fused_nodes == 4);  // not s, which was run by itself, and o, which is beside none
  CHECK(made.measured_nodes == 7);
  CHECK(made.us[node_named(graph, "s")] < 0);
  file.entries[2].name = "s";
  CHECK(match_costs(file, graph).fused_nodes == 5);
  CHECK(match_costs(file, graph).us[node_named(graph, "s")] == 0);
}

TEST_CASE("a fused kernel goes back by the first node that is often fused, to the one that fits") {
  constexpr const char* kModel = R"(
    input x: float32[4]
    param w: float32[4]
    s: float32[4] = Softmax(x)
    c: float32[4] = Conv(x, w)
    r: float32[4] = Relu(c)
    q: float32[4] = Relu(s)
    a: float32[4] = Add(s, w, r, q)
  )";
  CHECK(match(kModel, {kernel("a", "Conv", 24)}, CostFormat::node_csv) == "name, a 24; 100%");
  CHECK(match(kModel, {kernel("a_nchwc", "Conv", 0)}, CostFormat::node_csv) ==
        "stripped name, a 0; 100%");
  constexpr const char* kNamed = R"(
    input x: float32[4]
    param w: float32[4]
    s: float32[4] = Softmax(x)
    c: float32[4] = Conv(x, w)
    r: float32[4] = Relu(c)
    q: float32[4] = Relu(s)
    n@ a: float32[4] = Add(s, w, r, q)
    m@ n_quant: float32[4] = Max(a, w)
  )";
  CHECK(match(kNamed, {kernel("a", "Conv", 0)}, CostFormat::node_csv) ==
        "output, c 0; r 0; n 0; 100%");
  // The name is an output's, and without its addition that of another node.
  CHECK(match(kNamed, {kernel("n_quant", "Max", 5)}, CostFormat::node_csv) == "output, m 5; 100%");
}

TEST_CASE("a change of layout is of the node that its name ends with") {
  CHECK(match(kChain, {kernel("u_abcd_acdb_/b/Exp", "Reorder", 3)}, CostFormat::node_csv) ==
        "stripped name, /b/Exp 3; 100%");
  CHECK(match(kChain, {kernel("u_abcd_/b/Exp_nchwc", "Reorder", 3)}, CostFormat::node_csv) ==
        "stripped name, /b/Exp 3; 100%");
  CHECK(match(kChain, {kernel("u_abcd_acdb_/b/Exp", "Conv", 3)}, CostFormat::node_csv) ==
        "none, 0%");
  CHECK(match(kChain, {kernel("a_b + /b/Exp", "Reorder", 3)}, CostFormat::node_csv) ==
        "joined names, /b/Exp 3; 100%");
}

TEST_CASE("a range of nodes takes all between its ends that have no kernel, if both are known") {
  constexpr const char* kModel = R"(
    input x: float32[4]
    param w: float32[4]
    const k: float32[4] = Exp(w)
    a: float32[4] = Softmax(x)
    b: float32[4] = Softmax(a)
    c: float32[4] = Softmax(b)
    d: float32[4] = Softmax(c)
  )";
  const auto range = [&](const std::string& ends) {
    return match(kModel, {kernel("b", "", 1), kernel("{ForeignNode[" + ends + "]}", "", 9)},
                 CostFormat::tensorrt);
  };
  CHECK(range("a...d") == "name, joined names, a 3; b 1; c 3; d 3; 100%");
  CHECK(range("c...d") == "name, joined names, b 1; c 4.5; d 4.5; 100%");
  for (const char* const ends : {"a...e", "e...d", "e...f", "a...k", "a..d"}) {
    CHECK(range(ends) == "name, none, b 1; 10%");
  }
}

TEST_CASE(
    "of a kernel's neighbours by name 200 on each side are tried, the first in the model wins") {
  std::string text = "input x: float32[4]\n";
  for (int i = 0; i < 500; ++i) {
    text += "/m/n" + std::to_string(100 + i * 7 % 500) + "/MatMul: float32[4] = MatMul(x, x)\n";
  }
  const auto found = [&](const std::string& name) {
    const std::string made = match(text.c_str(), {kernel(name, "Gemm", 3)});
    return made.substr(0, made.find(' ', 6));
  };
  CHECK(found("/m/n350/Fusion") == "path, /m/n350/MatMul");
  CHECK(found("/m/n350/Z") == "path, /m/n350/MatMul");
  CHECK(found("/m/n100/Fusion") == "path, /m/n100/MatMul");
  CHECK(found("/m/n599/Z") == "path, /m/n599/MatMul");
  // From n150 to n549, and from n400 to n599; their places in the model are multiples of 7.
  CHECK(found("/m/n350x") == "path, /m/n156/MatMul");
  CHECK(found("/m/z") == "path, /m/n401/MatMul");
}

TEST_CASE("among nodes as near to its path a kernel goes to the one that makes what it makes") {
  constexpr const char* kModel = R"(
    input x: float32[4]
    /k/M: float32[8] = MatMul(x)
    /l/A: float32[8] = Softmax(x)
    /l/B: float32[N] = MatMul(x)
    /l/C: float32[8] = MatMul(x)
    /l/D: float32[9] = MatMul(x)
    /l/E: float32[8] = MatMul(x)
  )";
  CHECK(match(kModel, {kernel("/l/F", "Gemm", 3, {8})}) == "path, /l/C 3; 100%");
  CHECK(match(kModel, {kernel("/l/F", "Gemm", 3, {9})}) == "path, /l/D 3; 100%");
  CHECK(match(kModel, {kernel("/l/F", "Gemm", 3, {7})}) == "path, /l/B 3; 100%");
  CHECK(match(kModel, {kernel("/l/F", "Gemm", 3)}) == "path, /l/B 3; 100%");
  CHECK(match(kModel, {kernel("/l/F", "Gemm", 3, {8}), kernel("/l/F", "Gemm", 4, {8}),
                       kernel("/l/F", "Gemm", 5, {8}), kernel("/l/F", "Gemm", 6, {8})}) ==
        "path, path, path, path, /l/B 5; /l/C 3; /l/D 6; /l/E 4; 100%");
}

TEST_CASE("a shape is that of the only node which is left, whose op fits and whose rank is known") {
  constexpr const char* kModel = R"(
    input x: float32[4]
    c: float32[4,9] = Tile(x)
    s: float32[4,9] = Softmax(x)
    a: float32[4,9] = Tile(x)
    u: float32 = Tile(x)
    b: float32[4,8] = Tile(x)
    d: float32[4,8] = Tile(x)
  )";
  CHECK(match(kModel, {kernel("c", "Tile", 1), kernel("p", "Tile", 7, {4, 9})}) ==
        "name, shape, c 1; a 7; 100%");
  CHECK(match(kModel, {kernel("p", "Tile", 7, {4, 9})}) == "none, 0%");
  CHECK(match(kModel, {kernel("p", "Tile", 7, {4, 8})}) == "none, 0%");
  CostEntry scalar = kernel("p", "Tile", 7);
  scalar.outputs = {{}};
  CHECK(match(kModel, {scalar}) == "none, 0%");
}

TEST_CASE("a kernel with a made-up name may make what is not known, and follows what was run") {
  constexpr const char* kModel = R"(
    input x: float32[4]
    conv: float32[4] = Conv(x)
    act: float32 = HardSwish(conv)
    end: float32 = Odd(act)
  )";
  std::vector<CostEntry> kernels = {kernel("gone", "Relu", 1), kernel("conv", "Conv", 10),
                                    kernel("HardSigmoid_5", "HardSigmoid", 2, {4}),
                                    kernel("Mul_6", "Mul", 1, {4}), kernel("end", "Odd", 1)};
  kernels[0].was_run = false;
  CHECK(match(kModel, kernels) == "none, name, order, order, name, conv 10; act 3; end 1; 100%");
}

TEST_CASE("the node of a kernel is the first that its rule finds, and no constant") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    param w: float32[4]
    const k: float32[4] = Exp(w)
    const l@ v: float32[4] = Neg(w)
    a: float32[4] = Add(x, k)
    b: float32[4] = Softmax(a)
  )");
  const auto nodes = [&](std::vector<CostEntry> kernels) {
    const CostMatch made = match_costs(
        {.path = "p", .format = CostFormat::tensorrt, .entries = std::move(kernels)}, graph);
    std::string text;
    for (std::size_t i = 0; i < made.rules.size(); ++i) {
      const NodeId node = made.nodes[i];
      text += (text.empty() ? "" : ", ") + std::string(match_rule_name(made.rules[i])) + " " +
              (node == kNone<NodeId> ? "-" : std::string(graph.node(node).name));
    }
    return text;
  };
  CHECK(nodes({kernel("k", "Exp", 1), kernel("l", "Neg", 1), kernel("b + a", "", 1)}) ==
        "name -, name -, joined names b");
  CHECK(nodes({kernel("v", "Neg", 1), kernel("k + a", "", 1), kernel("q + r", "", 1),
               kernel("k/q", "Neg", 1)}) == "output -, joined names -, none -, none -");
  // A constant inside of it is no node for which the kernel of an If is replaced.
  std::vector<CostEntry> inside = {kernel("k", "Exp", 2), kernel("q", "Neg", 2),
                                   kernel("outer", "If", 30)};
  inside[0].is_inside = inside[1].is_inside = true;
  inside[0].around = inside[1].around = 2;
  CHECK(nodes(inside) == "none -, none -, none -");
}

TEST_CASE("the ten largest of the kernels that no rule matches are named, all are counted") {
  const Graph graph = graph_from_text("input x: float32[4]\n a: float32[4] = Relu(x)");
  CostEntries file{.path = "p", .format = CostFormat::onnxruntime};
  file.entries.push_back(kernel("a", "Relu", 7));
  for (int i = 1; i <= 12; ++i) file.entries.push_back(kernel("k" + std::to_string(i), "Odd", i));
  const CostMatch made = match_costs(file, graph);
  CHECK(made.unmatched == 12);
  REQUIRE(made.largest_unmatched.size() == 10);
  CHECK(made.largest_unmatched[0].name == "k12");
  CHECK(made.largest_unmatched[9].name == "k3");
  CHECK(made.total_us == 85);
  CHECK(made.matched_us == 7);
  CHECK(made.us_by_rule[0] == 7);
  CHECK(made.measured_nodes == 1);
  CHECK(made.fused_nodes == 0);
  CHECK(match_costs({.path = "p", .format = CostFormat::onnxruntime}, graph).share() == 1);
}

TEST_CASE("a fused kernel is traced back over six nodes to the one whose op fits") {
  const auto chain = [](int relus) {
    std::string text = "input x: float32[4]\nparam w: float32[4]\nn@ c: float32[4] = Conv(x, w)\n",
                last = "c";
    for (int i = 0; i < relus; ++i) {
      const std::string name = "r" + std::to_string(i);
      text += "n" + name + "@ " + name + ": float32[4] = Relu(" + last + ")\n";
      last = name;
    }
    const Graph graph = graph_from_text(text);
    CostEntries file{.path = "p", .format = CostFormat::node_csv};
    file.entries.push_back(kernel(last + "_nchwc", "Conv", 7));
    return match_costs(file, graph).measured_nodes;
  };
  CHECK(chain(0) == 1);
  CHECK(chain(1) == 2);
  CHECK(chain(6) == 7);
  CHECK(chain(7) == 1);
}

}  // namespace

// ---- observed shapes test ----

namespace {

enum class Layout { plain, blocked };

// What a profile with one kernel, of a Conv that makes float32[1,20,4,6], says of the model when
// the kernel made this: "agrees", or the contradiction.
std::string verdict(ObservedDims made, Layout layout = Layout::blocked) {
  const Graph graph = graph_from_text(R"(
    input x: float32[1,3,4,6]
    c: float32[1,20,4,6] = Conv(x)
  )");
  CostEntry kernel{.name = "c", .op = "Conv", .us = 1};
  kernel.outputs.push_back(std::move(made));
  const CostEntries file{.path = "p",
                         .format = CostFormat::onnxruntime,
                         .entries = {std::move(kernel)},
                         .has_blocked_layout = layout == Layout::blocked};
  const ObservedShapes seen = observe_shapes(file, match_costs(file, graph), graph);
  CHECK(seen.contradicted == (seen.contradiction ? 1 : 0));
  return seen.contradiction ? seen.contradiction->message : "agrees";
}

std::string contradiction(const std::string& made) {
  return "node \"c\" made " + made + " in the profile, but \"c\" is [1, 20, 4, 6] in the model";
}

TEST_CASE("channels padded to a multiple of 8 or 16 are no contradiction in a blocked layout") {
  CHECK(verdict({1, 20, 4, 6}) == "agrees");
  CHECK(verdict({1, 24, 4, 6}) == "agrees");
  CHECK(verdict({1, 32, 4, 6}) == "agrees");
  CHECK(verdict({1, 28, 4, 6}) == contradiction("[1, 28, 4, 6]"));
  CHECK(verdict({1, 40, 4, 6}) == contradiction("[1, 40, 4, 6]"));
  CHECK(verdict({1, 16, 4, 6}) == contradiction("[1, 16, 4, 6]"));
  CHECK(verdict({1, 20, 8, 6}) == contradiction("[1, 20, 8, 6]"));
  CHECK(verdict({1, 24, 4, 6}, Layout::plain) == contradiction("[1, 24, 4, 6]"));
}

TEST_CASE("a padded shape binds nothing") {
  const auto made = [](ObservedDims dims) {
    const Graph graph = graph_from_text("input x: float32[N,3]\n c: float32[N,20,4,6] = Conv(x)");
    CostEntry kernel{.name = "c", .op = "Conv", .us = 1};
    kernel.outputs.push_back(std::move(dims));
    const CostEntries file{.path = "p",
                           .format = CostFormat::onnxruntime,
                           .entries = {std::move(kernel)},
                           .has_blocked_layout = true};
    const ObservedShapes seen = observe_shapes(file, match_costs(file, graph), graph);
    return seen.dims.size() + seen.shapes.size();
  };
  CHECK(made({2, 20, 4, 6}) == 2);
  CHECK(made({2, 24, 4, 6}) == 0);
}

TEST_CASE("dims in another order and a last axis of blocks are no contradiction") {
  CHECK(verdict({1, 4, 6, 20}, Layout::plain) == "agrees");
  CHECK(verdict({1, 2, 4, 6, 16}) == "agrees");
  CHECK(verdict({1, 3, 4, 6, 8}) == "agrees");
  CHECK(verdict({1, 2, 4, 6, 12}) == contradiction("[1, 2, 4, 6, 12]"));
  CHECK(verdict({1, 20, 24}) == contradiction("[1, 20, 24]"));
}

using AllDims = std::vector<ObservedDims>;

CostEntry kernel(std::string name, std::string op, AllDims inputs, AllDims outputs, double us = 1) {
  return {.name = std::move(name),
          .op = std::move(op),
          .us = us,
          .inputs = std::move(inputs),
          .outputs = std::move(outputs)};
}

std::string text_of(const ObservedDims& dims) {
  std::string text;
  for (const std::int64_t dim : dims) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text.empty() ? "scalar" : text;
}

// "c 2x8; N=2; not M; 1 differs: ...": the shapes, the dims of inputs, those that conflict, and how
// many kernels have other shapes, with the contradiction.
std::string seen(const char* model, std::vector<CostEntry> kernels, Layout layout = Layout::plain) {
  const Graph graph = graph_from_text(model);
  const CostEntries file{.path = "p",
                         .format = CostFormat::onnxruntime,
                         .entries = std::move(kernels),
                         .has_blocked_layout = layout == Layout::blocked};
  const ObservedShapes made = observe_shapes(file, match_costs(file, graph), graph);
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  for (const ObservedShape& shape : made.shapes) {
    add(std::string(graph.value(shape.value).name) + " " + text_of(shape.dims));
  }
  for (const InputDim& dim : made.dims) add(dim.name + "=" + std::to_string(dim.size));
  for (const std::string& name : made.conflicting_dims) add("not " + name);
  if (made.contradicted > 0) add(std::to_string(made.contradicted) + " differ");
  if (made.contradiction) add(made.contradiction->message);
  return text;
}

constexpr const char* kOpen = R"(
  input x: float32[N,3,?,9]
  param w: float32[8,3,3,3]
  c: float32[N,8,?,7] = Conv(x, w)
  r: float32[N,8,?,7] = Relu(c)
  u: float32 = Softmax(r)
)";

TEST_CASE("kernels give sizes to open dims of values and of the model's inputs") {
  const AllDims in = {{2, 3, 6, 9}, {8, 3, 3, 3}};
  CHECK(seen(kOpen, {kernel("c", "Conv", in, {{2, 8, 4, 7}})}) ==
        "c 2x8x4x7; x 2x3x6x9; N=2; x:2=6");
  CHECK(seen(kOpen, {kernel("r", "Relu", {}, {{5, 8, 4, 7}})}) == "r 5x8x4x7; N=5");
  // By the name of an output; the runtime leaves out the weights.
  CHECK(seen(kOpen, {kernel("c", "Conv", {{2, 3, 6, 9}}, {})}) == "x 2x3x6x9; N=2; x:2=6");
  // A shape without a rank, or with a size that is not known, is of no use.
  CHECK(seen(kOpen, {kernel("u", "Softmax", {}, {{2, 56}})}) == "u 2x56");
  CHECK(seen(kOpen, {kernel("u", "Softmax", {}, {{2, -1}})}).empty());
  CHECK(seen(kOpen, {kernel("u", "Softmax", {}, {{0, 56}})}) == "u 0x56");
  CHECK(seen(kOpen, {kernel("c", "Conv", {}, {{2, 8, -1, 7}})}) == "N=2");
  // Another number of outputs than the node has says nothing.
  CHECK(seen(kOpen, {kernel("c", "Conv", {}, {{9, 9}, {9, 9}})}).empty());
  CHECK(seen("input x: float32[4,3]\n a: float32[4,3] = Relu(x)",
             {kernel("a", "Relu", {{4, 3}}, {{4, 3}})})
            .empty());
}

TEST_CASE("every input of the model that a kernel reads binds its dims, wherever it stands") {
  constexpr const char* kSeveral = R"(
  input x: float32[N,M]
  input z: float32[N,K,4]
  param w: float32[5,5]
  a: float32 = Gemm(w, x)
  b: float32 = Where(w, x, z)
  c: float32 = Sum(other=w, into=x, z)
)";
  CHECK(seen(kSeveral, {kernel("a", "Gemm", {{5, 5}, {2, 3}}, {})}) == "N=2; M=3");
  CHECK(seen(kSeveral, {kernel("b", "Where", {{5, 5}, {2, 3}, {2, 7, 4}}, {})}) == "N=2; M=3; K=7");
  CHECK(seen(kSeveral, {kernel("b", "Where", {{5, 5}, {2, 3}, {1, 7, 4}}, {})}) ==
        "M=3; K=7; not N");
  // A kernel with fewer inputs than the node says nothing of their sizes.
  CHECK(seen(kSeveral, {kernel("a", "Gemm", {{2, 3}}, {})}).empty());
  CHECK(seen(kSeveral, {kernel("b", "Where", {{5, 5}, {2, 3}}, {})}).empty());
  // What is passed by a keyword has no place in a kernel.
  CHECK(seen(kSeveral, {kernel("c", "Sum", {{5, 5}, {2, 3}, {2, 7, 4}}, {})}) == "N=2; K=7");
}

TEST_CASE("a size that a kernel did not record is no other size, and 0 is one") {
  const AllDims known = {{2, 3, 6, 9}, {8, 3, 3, 3}}, in_part = {{-1, 3, 6, 9}, {8, 3, 3, 3}};
  CHECK(seen(kOpen, {kernel("c", "Conv", known, {}), kernel("c", "Conv", in_part, {})}) ==
        "x 2x3x6x9; N=2; x:2=6");
  CHECK(seen(kOpen, {kernel("c", "Conv", in_part, {})}) == "x:2=6");
  CHECK(seen(kOpen, {kernel("c", "Conv", {{0, 3, 6, 9}, {8, 3, 3, 3}}, {})}) ==
        "x 0x3x6x9; N=0; x:2=6");
}

TEST_CASE("each value is seen once, and a dim of which kernels saw several sizes is none") {
  CHECK(seen(kOpen, {kernel("odd", "Conv", {}, {{9, 9}}), kernel("c", "Conv", {}, {{2, 8, 4, 7}}),
                     kernel("r", "Relu", {}, {{2, 8, 4, 7}}),
                     kernel("c", "Conv", {}, {{2, 8, 4, 7}})}) == "c 2x8x4x7; r 2x8x4x7; N=2");
  CHECK(seen(kOpen, {kernel("c", "Conv", {}, {{2, 8, 4, 7}}),
                     kernel("r", "Relu", {}, {{3, 8, 4, 7}})}) == "c 2x8x4x7; r 3x8x4x7; not N");
  CHECK(seen(kOpen, {kernel("c", "Conv", {}, {{0, 8, 4, 7}}),
                     kernel("r", "Relu", {}, {{3, 8, 4, 7}})}) == "c 0x8x4x7; r 3x8x4x7; not N");
  CHECK(seen("input x: float32[N,M]\n p: float32[5,M], q: float32[5,M] = Split(x)",
             {kernel("p", "Split", {}, {{5, 2}, {5, 2}})}) == "p 5x2; q 5x2; M=2");
}

TEST_CASE("an input of the model that differs is a contradiction, whatever its time") {
  const std::vector<CostEntry> kernels = {kernel("r", "Relu", {}, {{2, 8, 4, 7}}, 1000),
                                          kernel("c", "Conv", {{2, 4, 6, 9}}, {{2, 8, 4, 7}}, 1)};
  CHECK(seen(kOpen, kernels) ==
        "r 2x8x4x7; c 2x8x4x7; N=2; 1 differ; node \"c\" read [2, 4, 6, 9] in the profile, but "
        "\"x\" is [N, 3, ?, 9] in the model");
  // The first that reads one, though others made what differs before.
  const CostEntry made = kernel("r", "Relu", {}, {{2, 9, 4, 7}}, 10);
  const CostEntry read = kernel("c", "Conv", {{2, 4, 6, 9}}, {}),
                  again = kernel("c", "Conv", {{2, 5, 6, 9}}, {});
  CHECK(seen(kOpen, {made, read, made, again}).find("4 differ; node \"c\" read [2, 4, 6, 9]") == 0);
  CHECK(seen(kOpen, {read, made}).find("2 differ; node \"c\" read [2, 4, 6, 9]") == 0);
}

TEST_CASE("other kernels contradict the model when they have over a tenth of the time") {
  const auto with = [](double us) {
    return seen(kOpen, {kernel("c", "Conv", {}, {{2, 8, 4, 7}}, 9),
                        kernel("r", "Relu", {}, {{2, 9, 4, 7}}, us)});
  };
  const std::string differs =
      "; node \"r\" made [2, 9, 4, 7] in the profile, but \"r\" is [N, 8, ?, 7] in the model";
  CHECK(with(1) == "c 2x8x4x7; N=2; 1 differ");
  CHECK(with(1.01) == "c 2x8x4x7; N=2; 1 differ" + differs);
  CHECK(seen(kOpen, {kernel("r", "Relu", {}, {{2, 9, 4, 7}}, 9),
                     kernel("c", "Conv", {}, {{2, 7, 4, 7}})}) == "2 differ" + differs);
  // A kernel that another op gave its name to says nothing of the node.
  CHECK(seen(kOpen, {kernel("r", "Gelu", {}, {{2, 9, 4, 7}})}).empty());
}

TEST_CASE("a fused kernel's input is that of the node before it whose op fits") {
  const std::string model = R"(
  input x: float32[N,3,?,9]
  param w: float32[8,3,3,3]
  c: float32 = Conv(x, w)
)";
  const auto chain = [&](int relus) {
    std::string text = model, last = "c";
    for (int i = 0; i < relus; ++i) {
      const std::string name = "r" + std::to_string(i);
      text.append("  ").append(name).append(": float32 = Relu(").append(last).append(")\n");
      last = name;
    }
    return seen(text.c_str(), {kernel(last + "_nchwc", "Conv", {{2, 3, 6, 9}, {8, 3, 3, 3}}, {})});
  };
  CHECK(chain(0) == "N=2; x:2=6");
  CHECK(chain(1) == "N=2; x:2=6");
  CHECK(chain(5) == "N=2; x:2=6");
  CHECK(chain(6).empty());
  // Where the shape contradicts the input's, or its channels may be padded, it binds nothing.
  CHECK(seen(kOpen, {kernel("c_nchwc", "Conv", {{2, 4, 6, 9}}, {})}).empty());
  CHECK(seen("input x: float32[N,M,4,9]\n param w\n c: float32 = Conv(x, w)",
             {kernel("c_nchwc", "Conv", {{2, 8, 4, 9}}, {})}, Layout::blocked)
            .empty());
  CHECK(seen("input x: float32[N,M,4]\n param w\n c: float32 = Conv(x, w)",
             {kernel("c_nchwc", "Conv", {{2, 8, 4}}, {})}, Layout::blocked) == "N=2; M=8");
}

TEST_CASE("dims in another order need each known size as often as the model has it") {
  const auto made = [](ObservedDims dims) {
    return seen("input x\n a: float32[N,3,3,5] = Relu(x)",
                {kernel("a", "Relu", {}, {std::move(dims)})});
  };
  CHECK(made({7, 3, 3, 5}) == "a 7x3x3x5");
  CHECK(made({3, 5, 3, 7}).empty());
  CHECK(made({3, 5, 7, 7}).starts_with("1 differ"));
  CHECK(made({5, 3, 7, 5}).starts_with("1 differ"));
}

}  // namespace

// ---- runtime names test ----

namespace {

TEST_CASE("additions of runtimes to names are removed") {
  CHECK(without_additions("/a/Conv_output_0_nchwc") == "/a/Conv_output_0");
  CHECK(without_additions("/c1/Conv_token_12") == "/c1/Conv");
  CHECK(without_additions("fused /a/Gemm") == "/a/Gemm");
  CHECK(without_additions("/a/Conv/WithoutBiases") == "/a/Conv");
  CHECK(without_additions("conv1_quant_nchwc") == "conv1");
  CHECK(without_additions("conv1") == "conv1");
  CHECK(without_additions("_token_3") == "_token_3");
  CHECK(without_additions("_nchwc") == "_nchwc");
  CHECK(without_additions("Fused_Reorder_fused a_quant_nchwc") == "a");
  CHECK(without_additions("fused ") == "fused ");
  CHECK(without_additions("a_token_1_token_23") == "a");
  CHECK(without_additions("a_token_") == "a_token_");
  CHECK(without_additions("a_1") == "a_1");
}

TEST_CASE("the names in a joined name are separated") {
  using Names = std::vector<std::string_view>;
  CHECK(joined_names("a + b + c") == Names{"a", "b", "c"});
  CHECK(joined_names("a,b") == Names{"a", "b"});
  CHECK(joined_names("PWN(PWN(/a/Sigmoid), /b/Mul)") == Names{"/a/Sigmoid", "/b/Mul"});
  CHECK(joined_names("a") == Names{"a"});
  CHECK(joined_names("").empty());
  CHECK(joined_names("{ForeignNode[a.b") == Names{"{ForeignNode[a.b"});
  CHECK(joined_names("aaaaaaaaaaaaaaaaaaaa.b]}") == Names{"aaaaaaaaaaaaaaaaaaaa.b]}"});
  CHECK(range_of_nodes("{ForeignNode[a.b]}").empty());
  CHECK(range_of_nodes("{ForeignNode[/a/MatMul.../b/Add]}") == Names{"/a/MatMul", "/b/Add"});
  CHECK(range_of_nodes("/a/MatMul").empty());
}

TEST_CASE("a kernel may do the work of an operator under another name") {
  CHECK(op_fits("Conv", "Conv"));
  CHECK(op_fits("FusedConv", "Conv"));
  CHECK(op_fits("QLinearConv", "Conv"));
  CHECK(op_fits("MatMulInteger", "MatMul"));
  CHECK(op_fits("GroupConvolution", "Conv"));
  CHECK(op_fits("FullyConnected", "Gemm"));
  CHECK(op_fits("Conv2d", "torch.nn.modules.conv.Conv2d"));
  CHECK_FALSE(op_fits("Conv", "Relu"));
  CHECK_FALSE(op_fits("", "Relu"));
  CHECK_FALSE(op_fits("ConvTranspose", "Conv"));
  CHECK(is_often_fused("Relu"));
  CHECK_FALSE(is_often_fused("Conv"));
}

}  // namespace

}  // namespace cleave
