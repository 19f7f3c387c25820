// Makes a graph of a TensorFlow Lite file.

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/words.h"
#include "formats/base/elements.h"
#include "formats/base/json.h"
#include "formats/base/model.h"
#include "formats/base/text.h"
#include "formats/tflite/internal.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- facts ----
//
// What the format knows about operators and tensors, for rules.

namespace {

// As for ONNX (kMostElementsRead): rules ask for shapes, axes and scales; a weight is not read to
// answer them.
constexpr std::uint64_t kMostElements = 65'536;
using Elements = std::optional<std::vector<Literal>>;

Elements elements_of(const TfliteModel& model, const TfliteTensor& tensor) {
  if (!tensor.has_data || tensor.is_variable || tensor.maker != kNoTflite ||
      tensor.table.has(tfl::tensor::sparsity)) {
    return std::nullopt;
  }
  if (tensor.external != 0) return std::nullopt;
  std::uint64_t count = 1;
  for (std::uint32_t i = 0; i < tensor.shape.size(); ++i) {
    count *= static_cast<std::uint64_t>(tensor.shape[i]);
    if (count > kMostElements) return std::nullopt;
  }
  if (count == 0) return std::vector<Literal>{};
  const TfliteBytes& at = model.buffers[tensor.buffer];
  return literals_of(tflite_dtype(tensor.type), model.bytes.substr(at.offset, at.size),
                     static_cast<std::size_t>(count));
}

Quantization quantization_of(const TfliteTensor& tensor) {
  Quantization found;
  found.stored = tflite_dtype(tensor.type);
  const FlatTable table = tensor.table.table(tfl::tensor::quantization);
  if (table.is_absent()) return found;
  const auto scales = table.numbers<float>(tfl::quantization::scale);
  const auto zeros = table.numbers<std::int64_t>(tfl::quantization::zero_point);
  if (table.tag(tfl::quantization::details) != 0) {
    found.kind = Quantization::Kind::other;
  } else if (!scales.empty()) {
    found.kind = scales.size() == 1 ? Quantization::Kind::tensor : Quantization::Kind::axis;
  }
  for (std::uint32_t i = 0; i < scales.size(); ++i) {
    found.scales.push_back(static_cast<double>(scales[i]));
    // One zero point may stand for all, and none for 0.
    const std::uint32_t at = zeros.size() == scales.size() ? i : 0;
    found.zero_points.push_back(zeros.empty() ? 0 : zeros[at]);
  }
  found.axis = table.integer(tfl::quantization::dimension);
  return found;
}

// Sets of nodes that share a variable tensor; a set of one needs no tie.
void add_shared_variables(const TfliteModel& model, std::vector<std::vector<NodeId>>& sets,
                          const std::vector<NodeId>& node_of) {
  std::map<std::int32_t, std::vector<NodeId>> readers;
  const TfliteSubgraph& graph = model.subgraph();
  for (std::uint32_t i = 0; i < graph.operators.size(); ++i) {
    if (node_of[i] == kNone<NodeId>) continue;
    const FlatInts& inputs = graph.operators[i].inputs;
    for (std::uint32_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] < 0 || !graph.tensors[static_cast<std::uint32_t>(inputs[k])].is_variable)
        continue;
      std::vector<NodeId>& nodes = readers[inputs[k]];
      if (nodes.empty() || nodes.back() != node_of[i]) nodes.push_back(node_of[i]);
    }
  }
  for (auto& [tensor, nodes] : readers) {
    if (nodes.size() > 1) sets.push_back(std::move(nodes));
  }
}

}  // namespace

NodeTies tflite_ties(const TfliteModel& model) {
  NodeTies ties{.order = {}, .whole = {}, .way_out = ""};
  std::vector<NodeId> node_of(model.subgraph().operators.size(), kNone<NodeId>);
  for (std::size_t n = 0; n < model.operators.size(); ++n) {
    if (model.operators[n] != kNoTflite) node_of[model.operators[n]] = id_at<NodeId>(n);
  }
  if (model.state.whole.size() > 1) {
    ties.whole.emplace_back();
    for (const std::uint32_t op : model.state.whole) ties.whole.back().push_back(node_of[op]);
    std::ranges::sort(ties.whole.back());
  }
  add_shared_variables(model, ties.whole, node_of);
  return ties;
}

OpFacts tflite_op_facts(const TfliteModel& model) {
  OpFacts facts;
  facts.whole = tflite_ties(model).whole;
  facts.elements = [&model](const Graph&, ValueId parameter) -> Elements {
    const std::uint32_t tensor = model.tensors[index(parameter)];
    return tensor == kNoTflite ? std::nullopt
                               : elements_of(model, model.subgraph().tensors[tensor]);
  };
  facts.quantization = [&model](const Graph&, ValueId value) -> std::optional<Quantization> {
    const std::uint32_t tensor = model.tensors[index(value)];
    if (tensor == kNoTflite) return std::nullopt;
    return quantization_of(model.subgraph().tensors[tensor]);
  };
  facts.version = [&model](NodeId node) -> std::optional<std::int64_t> {
    if (index(node) >= model.code_of_node.size()) return std::nullopt;
    return model.codes[model.code_of_node[index(node)]].version;
  };
  facts.is_written = [&model](ValueId parameter) {
    const std::uint32_t tensor = model.tensors[index(parameter)];
    return tensor != kNoTflite && model.subgraph().tensors[tensor].is_variable;
  };
  return facts;
}

// ---- model reader ----
//
// Steps: the walk; operator codes and buffers; subgraphs with tensors and operators; signatures;
// then what numbers of different tables say together.

namespace {

constexpr std::size_t kMostFaults = 20;

// By table: whether one of its fields has numbers of subgraphs.
consteval bool names_subgraph(const SchemaField& field) {
  return field.name.find("subgraph") != std::string_view::npos ||
         field.name == "called_computations";
}
struct BodyFields {
  bool has[std::size(kSchemaTables)] = {};
  bool is_body[std::size(kSchemaFields)] = {};
};
consteval BodyFields find_body_fields() {
  BodyFields found;
  for (std::size_t t = 0; t < std::size(kSchemaTables); ++t) {
    const SchemaTable& table = kSchemaTables[t];
    if (!table.name.ends_with("Options")) continue;
    for (std::size_t f = table.first; f < std::size_t{table.first} + table.count; ++f) {
      found.is_body[f] = names_subgraph(kSchemaFields[f]);
      found.has[t] = found.has[t] || found.is_body[f];
    }
  }
  return found;
}
constexpr BodyFields kBodyFields = find_body_fields();

class ModelReader {
 public:
  ModelReader(const SourceFile& source, const ModelLimits& limits, std::string_view signature)
      : source_(source), limits_(limits), signature_(signature) {}

  Loaded<TfliteModel> read() {
    model_.bytes = source_.bytes();
    if (model_.bytes.size() < 8) return Diagnostics{fault_of("ends within its first 8 bytes")};
    auto walk = walk_flatbuffer(model_.bytes, schema_table("Model"));
    if (!walk) return Diagnostics{fault_of(walk.error())};
    model_.walk = *std::move(walk);
    const FlatTable& root = model_.walk.root;
    if (const auto version = root.integer(tfl::model::version); version < 3) {
      return Diagnostics{fault_of("is of version " + std::to_string(version) +
                                  " of the format, from before 2017; cleave reads version 3")};
    }
    read_codes(root.tables(tfl::model::operator_codes));
    read_buffers(root.tables(tfl::model::buffers));
    read_external(root);
    const FlatTables subgraphs = root.tables(tfl::model::subgraphs);
    for (std::uint32_t i = 0; i < subgraphs.size() && !is_full(); ++i)
      read_subgraph(subgraphs[i], i);
    if (model_.subgraphs.empty() && faults_.empty()) fail("has no subgraph");
    if (faults_.empty()) find_main();
    if (faults_.empty()) check_bodies();
    if (!faults_.empty()) return std::move(faults_);
    if (signature_.empty()) prefer_computing();
    name_tensors();
    name_model();
    return std::move(model_);
  }

 private:
  Diagnostic fault_of(std::string text) const {
    return diagnostic_of(source_.path(), std::move(text));
  }
  bool is_full() const { return faults_.size() >= kMostFaults; }
  void fail(std::string text) {
    if (!is_full()) faults_.push_back(fault_of(std::move(text)));
  }

  // `what` makes the words for the text.
  bool check_text(std::string_view text, const auto& what) {
    if (text.size() > limits_.name_bytes) {
      fail(what() + " has " + beyond_limit(limits_, &ModelLimits::name_bytes));
      return false;
    }
    if (limits_.names == NameBytes::any || first_invalid_utf8(text) == text.npos) return true;
    fail(what() + ", " + escaped_in_quotes(text) +
         ", is not UTF-8: --limit utf8=lenient reads it all the same");
    return false;
  }

  void read_codes(const FlatTables& codes) {
    for (std::uint32_t i = 0; i < codes.size() && !is_full(); ++i) {
      const FlatTable table = codes[i];
      // Codes of old files are in one byte, which ends at 127.
      const std::int64_t number = std::max(table.integer(tfl::code::builtin_code),
                                           table.integer(tfl::code::deprecated_builtin_code));
      TfliteCode code;
      code.version = table.integer(tfl::code::version);
      if (number < 0 || number >= static_cast<std::int64_t>(kSchemaOperatorCount)) {
        fail("operator code " + std::to_string(i) + " is " + std::to_string(number) +
             ", an operator that is newer than this cleave");
        continue;
      }
      code.builtin = static_cast<std::uint32_t>(number);
      code.is_custom = code.builtin == schema_operator("CUSTOM");
      code.name = kSchemaOperators[code.builtin].name;
      if (code.is_custom) {
        const std::string_view own = table.bytes(tfl::code::custom_code);
        check_text(own, [&] { return "the name of operator code " + std::to_string(i); });
        if (!own.empty()) code.name = own;
      }
      model_.codes.push_back(code);
    }
  }

  void read_buffers(const FlatTables& buffers) {
    model_.buffers.reserve(buffers.size());
    for (std::uint32_t i = 0; i < buffers.size(); ++i) {
      const FlatTable table = buffers[i];
      TfliteBytes bytes;
      const auto offset = static_cast<std::uint64_t>(table.integer(tfl::buffer::offset));
      const auto size = static_cast<std::uint64_t>(table.integer(tfl::buffer::size));
      if (const std::string_view data = table.bytes(tfl::buffer::data); !data.empty()) {
        bytes = {static_cast<std::uint64_t>(data.data() - model_.bytes.data()), data.size()};
      } else if (offset > 1 && size > 0) {
        bytes = {offset, size};
        check_outside(bytes, "buffer " + std::to_string(i));
      }
      model_.buffers.push_back(bytes);
    }
  }

  // Weights in other files. These are not opened here.
  void read_external(const FlatTable& root) {
    const FlatTables groups = root.tables(tfl::model::external_buffer_groups);
    for (std::uint32_t i = 0; i < groups.size() && !is_full(); ++i) {
      const std::string_view file = groups[i].bytes(tfl::external::file);
      check_text(file, [&] { return "the file of external buffers " + std::to_string(i); });
      model_.weight_files.push_back(file);
    }
    const FlatTables buffers = root.tables(tfl::model::external_buffers);
    for (std::uint32_t i = 0; i < buffers.size() && !is_full(); ++i) {
      const FlatTable table = buffers[i];
      const auto id = static_cast<std::uint32_t>(table.integer(tfl::external::id));
      const auto group = static_cast<std::uint32_t>(table.integer(tfl::external::group));
      if (group >= groups.size()) {
        fail("external buffer " + std::to_string(id) + " is in file " + std::to_string(group) +
             ", but there are " + std::to_string(groups.size()));
        continue;
      }
      const TfliteBytes bytes{static_cast<std::uint64_t>(table.integer(tfl::external::offset)),
                              static_cast<std::uint64_t>(table.integer(tfl::external::length)),
                              group + 1};
      const std::string_view packing = table.bytes(tfl::external::packing);
      if (!model_.external.emplace(id, TfliteExternal{bytes, packing}).second) {
        fail("several external buffers have the id " + std::to_string(id));
      }
    }
  }

  // Data behind the flatbuffer, which files of more than 2 GiB have.
  void check_outside(const TfliteBytes& bytes, const std::string& what) {
    if (bytes.offset > model_.bytes.size() || bytes.size > model_.bytes.size() - bytes.offset) {
      fail(what + " lies beyond the file's end");
    } else if (bytes.offset < model_.walk.end) {
      fail(what + " lies among the model's tables");
    }
  }

  void read_subgraph(const FlatTable& table, std::uint32_t number) {
    TfliteSubgraph graph{.table = table,
                         .tensors = {},
                         .operators = {},
                         .inputs = table.ints(tfl::subgraph::inputs),
                         .outputs = table.ints(tfl::subgraph::outputs)};
    place_ = "subgraph " + std::to_string(number) + ": ";
    const FlatTables tensors = table.tables(tfl::subgraph::tensors);
    const FlatTables operators = table.tables(tfl::subgraph::operators);
    operator_count_ += operators.size();
    value_count_ += tensors.size();
    if (operator_count_ > limits_.nodes) {
      return fail("has " + beyond_limit(limits_, &ModelLimits::nodes));
    }
    if (value_count_ > limits_.values) {
      return fail("has " + beyond_limit(limits_, &ModelLimits::values));
    }
    graph.tensors.reserve(tensors.size());
    for (std::uint32_t i = 0; i < tensors.size() && !is_full(); ++i) {
      graph.tensors.push_back(read_tensor(tensors[i], i));
    }
    if (is_full()) return;
    check_numbers(graph.inputs, graph, "inputs", false);
    check_numbers(graph.outputs, graph, "outputs", false);
    if (is_full() || !faults_.empty()) return;
    for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
      graph.tensors[static_cast<std::uint32_t>(graph.inputs[i])].is_input = true;
    }
    graph.operators.reserve(operators.size());
    for (std::uint32_t i = 0; i < operators.size() && !is_full(); ++i) {
      read_operator(operators[i], i, graph);
    }
    check_order(graph);
    model_.subgraphs.push_back(std::move(graph));
  }

  TfliteTensor read_tensor(const FlatTable& table, std::uint32_t number) {
    TfliteTensor tensor{
        .name = table.bytes(tfl::tensor::name),
        .table = table,
        .shape = table.ints(tfl::tensor::shape),
        .buffer = static_cast<std::uint32_t>(table.integer(tfl::tensor::buffer)),
        .external = static_cast<std::uint32_t>(table.integer(tfl::tensor::external_buffer)),
        .is_variable = table.integer(tfl::tensor::is_variable) != 0};
    const auto here = [&] { return place_ + "tensor " + std::to_string(number); };
    const std::int64_t type = table.integer(tfl::tensor::type);
    if (type < 0 || type >= kTfliteTypeCount) {
      fail(here() + " is of type " + std::to_string(type) + ", which is newer than this cleave");
    } else {
      tensor.type = static_cast<std::uint8_t>(type);
    }
    check_text(tensor.name,
               [&] { return place_ + "the name of tensor " + std::to_string(number); });
    if (tensor.shape.size() > limits_.dims ||
        table.ints(tfl::tensor::signature).size() > limits_.dims) {
      fail(here() + " has " + beyond_limit(limits_, &ModelLimits::dims));
      return tensor;
    }
    if (tensor.buffer >= std::max<std::size_t>(model_.buffers.size(), 1)) {
      fail(here() + " is in buffer " + std::to_string(tensor.buffer) + ", but there are " +
           std::to_string(model_.buffers.size()));
      return tensor;
    }
    if (tensor.external != 0 && !model_.external.contains(tensor.external)) {
      fail(here() + " is in external buffer " + std::to_string(tensor.external) +
           ", which the model does not have");
      return tensor;
    }
    check_size(tensor, here);
    return tensor;
  }

  void check_size(TfliteTensor& tensor, const auto& here) {
    std::uint64_t elements = 1;
    bool is_huge = false;
    for (std::uint32_t i = 0; i < tensor.shape.size(); ++i) {
      const std::int32_t dim = tensor.shape[i];
      if (dim < 0) return fail(here() + " has the dim " + std::to_string(dim));
      is_huge =
          is_huge || __builtin_mul_overflow(elements, static_cast<std::uint64_t>(dim), &elements);
      if (dim == 0) tensor.has_data = true;  // an empty tensor has no data to store
    }
    if (tensor.has_data) return;
    std::uint64_t size = model_.buffers.empty() ? 0 : model_.buffers[tensor.buffer].size;
    if (tensor.external == 0 && size == 0) return;
    tensor.has_data = true;
    if (tensor.table.has(tfl::tensor::sparsity)) return;
    if (tensor.external != 0) {
      const TfliteExternal& external = model_.external.at(tensor.external);
      if (!external.packing.empty()) return;
      size = std::min(external.bytes.size, std::uint64_t{1} << 59);  // no product of it overflows
    }
    const std::uint64_t bits = tflite_type_bits(tensor.type);
    if (is_huge || (bits > 0 && elements > size / bits * 8 + 8)) is_huge = true;
    if (bits > 0 && (is_huge || (elements * bits + 7) / 8 > size)) {
      fail(here() + ", " + escaped_in_quotes(tensor.name) + ", has " + count_text(size) +
           " bytes of data, fewer than its shape asks for");
    }
  }

  void check_numbers(const FlatInts& numbers, const TfliteSubgraph& graph, std::string_view of,
                     bool may_be_absent) {
    for (std::uint32_t i = 0; i < numbers.size() && !is_full(); ++i) {
      const std::int32_t number = numbers[i];
      if (number == -1 && may_be_absent) continue;
      if (number >= 0 && static_cast<std::size_t>(number) < graph.tensors.size()) continue;
      fail(place_ + "its " + std::string(of) + " name tensor " + std::to_string(number) +
           ", but there are " + std::to_string(graph.tensors.size()));
    }
  }

  void read_operator(const FlatTable& table, std::uint32_t number, TfliteSubgraph& graph) {
    TfliteOperator op{.code = static_cast<std::uint32_t>(table.integer(tfl::op::opcode_index)),
                      .inputs = table.ints(tfl::op::inputs),
                      .outputs = table.ints(tfl::op::outputs),
                      .table = table,
                      .options = table.table(tfl::op::builtin_options)};
    if (op.options.is_absent()) op.options = table.table(tfl::op::builtin_options_2);
    if (op.code >= model_.codes.size()) {
      return fail(place_ + "operator " + std::to_string(number) + " has code " +
                  std::to_string(op.code) + ", but there are " +
                  std::to_string(model_.codes.size()));
    }
    const std::size_t before = faults_.size();
    const std::string around =
        std::exchange(place_, place_ + "operator " + std::to_string(number) + " (" +
                                  escaped(model_.codes[op.code].name) + "): ");
    check_numbers(op.inputs, graph, "inputs", true);
    check_numbers(op.outputs, graph, "outputs", false);
    check_numbers(table.ints(tfl::op::intermediates), graph, "intermediates", false);
    for (std::uint32_t i = 0; i < op.outputs.size() && faults_.size() == before; ++i) {
      TfliteTensor& tensor = graph.tensors[static_cast<std::uint32_t>(op.outputs[i])];
      if (tensor.maker != kNoTflite || tensor.is_input) {
        fail(place_ + "it makes tensor " + std::to_string(op.outputs[i]) + ", which " +
             (tensor.is_input ? "is an input of the subgraph"
                              : "operator " + std::to_string(tensor.maker) + " makes, too"));
      }
      tensor.maker = number;
    }
    check_custom_options(table);
    place_ = around;
    graph.operators.push_back(op);
  }

  void check_custom_options(const FlatTable& table) {
    const TfliteBytes bytes{
        static_cast<std::uint64_t>(table.integer(tfl::op::large_custom_options_offset)),
        static_cast<std::uint64_t>(table.integer(tfl::op::large_custom_options_size))};
    if (bytes.offset > 1 && bytes.size > 0) check_outside(bytes, place_ + "its custom options");
  }

  // Operators are in the order in which they run.
  void check_order(const TfliteSubgraph& graph) {
    if (!faults_.empty()) return;
    for (std::uint32_t i = 0; i < graph.operators.size(); ++i) {
      const TfliteOperator& op = graph.operators[i];
      for (std::uint32_t k = 0; k < op.inputs.size(); ++k) {
        if (op.inputs[k] < 0) continue;
        const std::uint32_t maker = graph.tensors[static_cast<std::uint32_t>(op.inputs[k])].maker;
        if (maker == kNoTflite || maker < i) continue;
        fail(place_ + "operator " + std::to_string(i) + " reads tensor " +
             std::to_string(op.inputs[k]) + ", which operator " + std::to_string(maker) +
             " makes later");
      }
    }
  }

  void find_main() {
    const FlatTables signatures = model_.walk.root.tables(tfl::model::signature_defs);
    for (std::uint32_t i = 0; i < signatures.size() && !is_full(); ++i) {
      const auto subgraph = signatures[i].integer(tfl::signature::subgraph_index);
      if (static_cast<std::uint64_t>(subgraph) >= model_.subgraphs.size()) {
        fail("signature " + std::to_string(i) + " is of subgraph " + std::to_string(subgraph) +
             ", but there are " + std::to_string(model_.subgraphs.size()));
      }
    }
    if (!faults_.empty() || !choose(signatures)) return;
    model_.main =
        static_cast<std::uint32_t>(model_.signature.integer(tfl::signature::subgraph_index));
  }

  // Whether there is a signature to read; a fault when the one that was asked for is not there.
  bool choose(const FlatTables& signatures) {
    for (std::uint32_t i = 0; i < signatures.size(); ++i) {
      if (!signature_.empty() && signatures[i].bytes(tfl::signature::key) != signature_) continue;
      model_.signature = signatures[i];
      return true;
    }
    if (signature_.empty()) return false;
    fail("has no signature " + escaped_in_quotes(signature_) +
         (signatures.size() == 0 ? std::string(", nor any other")
                                 : "; it has " + key_list(signature_keys(model_))));
    return false;
  }

  // A signature that only sets variables has no node, so there is nothing to see or to split in it:
  // the first one that has some is what users mean.
  void prefer_computing() {
    const FlatTables signatures = model_.walk.root.tables(tfl::model::signature_defs);
    std::vector<std::uint8_t> is_tried(model_.subgraphs.size(), 0);
    for (std::uint32_t i = 0; i < signatures.size(); ++i) {
      const auto subgraph =
          static_cast<std::uint32_t>(signatures[i].integer(tfl::signature::subgraph_index));
      if (std::exchange(is_tried[subgraph], std::uint8_t{1}) != 0) continue;
      if (!computes_anything(model_, subgraph)) continue;
      model_.signature = signatures[i];
      model_.main = subgraph;
      return;
    }
  }

  // Converters call the subgraph "main", or as a file of their own.
  void name_model() {
    const std::string_view own = model_.subgraph().table.bytes(tfl::subgraph::name);
    const bool says_something = !own.empty() && own != "main" && !own.ends_with(".generated");
    const std::string& path = source_.path();
    model_.name = says_something ? own : model_.names.keep(path.substr(path.rfind('/') + 1));
  }

  // Numbers of bodies exist, and no subgraph calls itself.
  void check_bodies() {
    const auto count = static_cast<std::uint32_t>(model_.subgraphs.size());
    std::vector<std::vector<std::uint32_t>> calls(count);
    for (std::uint32_t g = 0; g < count; ++g) {
      std::unordered_set<std::uint32_t> seen;
      for (const TfliteOperator& op : model_.subgraphs[g].operators) {
        for (const TfliteBody& body : bodies_of(op)) {
          if (body.subgraph >= count) {
            fail("subgraph " + std::to_string(g) + ": " + std::string(model_.code_of(op).name) +
                 " calls subgraph " + std::to_string(body.subgraph) + ", but there are " +
                 std::to_string(count));
          } else if (seen.insert(static_cast<std::uint32_t>(body.subgraph)).second) {
            calls[g].push_back(static_cast<std::uint32_t>(body.subgraph));
          }
        }
      }
    }
    if (faults_.empty()) check_circles(calls);
  }

  // Takes away subgraphs that call none that is left; what stays calls itself.
  void check_circles(const std::vector<std::vector<std::uint32_t>>& calls) {
    std::vector<std::uint32_t> waits(calls.size()), free;
    std::vector<std::vector<std::uint32_t>> callers(calls.size());
    for (std::uint32_t g = 0; g < calls.size(); ++g) {
      waits[g] = static_cast<std::uint32_t>(calls[g].size());
      if (waits[g] == 0) free.push_back(g);
      for (const std::uint32_t called : calls[g]) callers[called].push_back(g);
    }
    for (std::size_t i = 0; i < free.size(); ++i) {
      for (const std::uint32_t caller : callers[free[i]]) {
        if (--waits[caller] == 0) free.push_back(caller);
      }
    }
    if (free.size() == calls.size()) return;
    const auto at = std::ranges::find_if(waits, [](std::uint32_t n) { return n > 0; });
    fail("subgraph " + std::to_string(at - waits.begin()) +
         " calls itself, or subgraphs that call themselves");
  }

  // Names in the model's subgraph: empty ones get the tensor's number, repeated ones it behind.
  void name_tensors() {
    std::vector<TfliteTensor>& tensors = model_.subgraphs[model_.main].tensors;
    std::unordered_map<std::string_view, std::uint32_t> taken;
    taken.reserve(tensors.size());
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i].name.empty()) taken.try_emplace(tensors[i].name, i);
    }
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
      const std::string_view own = tensors[i].name;
      if (!own.empty() && taken.at(own) == i) continue;
      const std::string first =
          own.empty() ? "t" + std::to_string(i) : std::string(own) + "#" + std::to_string(i);
      std::string name = first;
      for (int n = 1; taken.contains(name); ++n) name = first + "_" + std::to_string(n);
      tensors[i].name = model_.names.keep(name);
      taken.emplace(tensors[i].name, i);
    }
  }

  const SourceFile& source_;
  const ModelLimits& limits_;
  std::string_view signature_;
  TfliteModel model_;
  Diagnostics faults_;
  std::string place_;  // "subgraph 0: "
  std::uint64_t operator_count_ = 0, value_count_ = 0;
};

}  // namespace

bool looks_like_tflite(std::string_view bytes) {
  return bytes.size() >= 8 && bytes.substr(4, 4) == "TFL3";
}

std::vector<TfliteBody> bodies_of(const TfliteOperator& op) {
  std::vector<TfliteBody> bodies;
  if (op.options.is_absent() || !kBodyFields.has[op.options.type()]) return bodies;
  const SchemaTable& table = kSchemaTables[op.options.type()];
  for (SchemaFieldId f = table.first; f < table.first + table.count; ++f) {
    if (!kBodyFields.is_body[f]) continue;
    if (!kSchemaFields[f].is_vector) {
      const std::int64_t number = op.options.integer(f);
      if (number >= 0) bodies.push_back({op.options, f, 0, number});
      continue;
    }
    const FlatInts numbers = op.options.ints(f);
    for (std::uint32_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] >= 0) bodies.push_back({op.options, f, i, numbers[i]});
    }
  }
  return bodies;
}

std::uint32_t scales_of_no_axis(const TfliteTensor& tensor) {
  const FlatTable quantization = tensor.table.table(tfl::tensor::quantization);
  if (quantization.is_absent()) return 0;
  const std::int64_t axis = quantization.integer(tfl::quantization::dimension);
  if (axis == 0 || (axis > 0 && axis < std::int64_t{tensor.shape.size()})) return 0;
  return quantization.numbers<float>(tfl::quantization::scale).size();
}

std::vector<std::string_view> signature_keys(const TfliteModel& model) {
  const FlatTables signatures = model.walk.root.tables(tfl::model::signature_defs);
  std::vector<std::string_view> keys;
  for (std::uint32_t i = 0; i < signatures.size(); ++i) {
    keys.push_back(signatures[i].bytes(tfl::signature::key));
  }
  return keys;
}

std::string key_list(const std::vector<std::string_view>& keys) {
  constexpr std::size_t kMostNamed = 5;
  return capped_list(keys, kMostNamed, [](std::string_view key) { return escaped_in_quotes(key); });
}

Loaded<TfliteModel> read_tflite_model(const SourceFile& source, const ModelLimits& limits,
                                      std::string_view signature) {
  return ModelReader(source, limits, signature).read();
}

// ---- reader ----
//
// From a file to a graph: tables, state, constants, nodes; then notes on what may surprise.

namespace {

constexpr std::size_t kMostNamed = 5;

// Turns shapes from --input-shape into sizes of open dims.
class InputShapes {
 public:
  InputShapes(const TfliteModel& model, const std::string& file) : model_(model), file_(file) {}

  // `bindings` with a dim added for each open one that a shape gives.
  Loaded<ShapeBindings> bind(const ShapeBindings& bindings) const {
    ShapeBindings all = bindings;
    const TfliteSubgraph& graph = model_.subgraph();
    for (const auto& [name, dims] : bindings.inputs) {
      for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
        const TfliteTensor& input = graph.tensors[static_cast<std::uint32_t>(graph.inputs[i])];
        if (input.name != name) continue;
        const std::string fault = bind_input(input, dims, all);
        if (fault.empty()) break;
        return Diagnostics{
            diagnostic_of(file_, "--input-shape gives " + escaped_in_quotes(name) + " " + fault)};
      }
    }
    return all;
  }

 private:
  static std::string bind_input(const TfliteTensor& input, const std::vector<std::int64_t>& dims,
                                ShapeBindings& all) {
    if (dims.size() != input.shape.size()) {
      return std::to_string(dims.size()) + " dims, but it has " +
             std::to_string(input.shape.size());
    }
    for (std::uint32_t i = 0; i < input.shape.size(); ++i) {
      if (dims[i] < 0 || dims[i] == input.shape[i]) continue;
      if (!is_open_axis(input, i)) {
        return "the size " + std::to_string(dims[i]) + " in dim " + std::to_string(i) +
               ", which the model was converted with as " + std::to_string(input.shape[i]);
      }
      all.dims.emplace_back(size_symbol(input, i, true), dims[i]);
    }
    return {};
  }

  const TfliteModel& model_;
  const std::string& file_;
};

// "--dim N=SIZE", to be pasted.
std::string dim_option(const std::string& symbol) {
  return "--dim " + shell_word(escaped(symbol) + "=SIZE");
}

// "sizes are open: bytes and FLOPs are counted as converted, N = 1; ... --dim N=SIZE sets them ..."
std::string traced_note(const std::map<std::string, std::int64_t, std::less<>>& traced) {
  if (traced.empty()) return {};
  const std::string sizes = capped_list(traced, kMostNamed, [](const auto& symbol_and_size) {
    return escaped(symbol_and_size.first) + " = " + std::to_string(symbol_and_size.second);
  });
  const std::string options = capped_list(
      traced, kMostNamed,
      [](const auto& symbol_and_size) { return dim_option(symbol_and_size.first); }, "", " ");
  return "sizes are open: bytes and FLOPs are counted as converted, " + sizes +
         ", and lists that want known sizes refuse them; " + options +
         " sets them, also in the files that are written";
}

// Sizes that no input decides.
std::string unknown_note(const TfliteGraph& made) {
  if (made.unknown_dims == 0) return {};
  return counted(made.unknown_dims, "size is", "sizes are") +
         " not known before the model runs, the first is " + escaped_in_quotes(made.unknown_dim) +
         ": " + dim_option(made.unknown_dim) + " states it";
}

// Names of tensors that were empty or repeated.
std::string names_note(const TfliteSubgraph& graph) {
  std::size_t made = 0;
  for (const TfliteTensor& tensor : graph.tensors) {
    made += tensor.name != tensor.table.bytes(tfl::tensor::name);
  }
  if (made == 0) return {};
  return counted(made, "tensor has", "tensors have") +
         " no name of its own: an empty name is t<number>, a repeated one gets #<number>";
}

std::string state_note(const TfliteState& state) {
  if (state.variables.empty()) return {};
  const std::size_t count = state.variables.size();
  return "the model keeps " + counted(count, "variable") +
         " from call to call, which are inputs and outputs here, behind its own";
}

std::string signatures_note(const TfliteModel& model) {
  std::vector<std::string_view> others = signature_keys(model);
  if (others.size() < 2) return {};
  const std::string_view own = model.signature.bytes(tfl::signature::key);
  others.erase(std::ranges::find(others, own));
  return "this is signature " + escaped_in_quotes(own) +
         "; --signature reads another: " + key_list(others);
}

// A runtime calls a signature by its key, and takes the first one.
void warn_of_keys(const TfliteModel& model, const std::string& file, Diagnostics& warnings) {
  std::set<std::string_view> seen;
  for (const std::string_view key : signature_keys(model)) {
    if (seen.insert(key).second) continue;
    Diagnostic warning = diagnostic_of(
        file, "several signatures are " + escaped_in_quotes(key) + ": the first one counts");
    warning.severity = Severity::warning;
    warnings.push_back(std::move(warning));
    return;
  }
}

// Subgraphs that no signature and no operator names.
std::string unused_note(const TfliteModel& model) {
  std::vector<std::uint8_t> is_used(model.subgraphs.size(), 0);
  is_used[model.main] = 1;
  const FlatTables signatures = model.walk.root.tables(tfl::model::signature_defs);
  for (std::uint32_t i = 0; i < signatures.size(); ++i) {
    is_used[static_cast<std::size_t>(signatures[i].integer(tfl::signature::subgraph_index))] = 1;
  }
  for (const TfliteSubgraph& graph : model.subgraphs) {
    for (const TfliteOperator& op : graph.operators) {
      for (const TfliteBody& body : bodies_of(op))
        is_used[static_cast<std::size_t>(body.subgraph)] = 1;
    }
  }
  const auto unused = static_cast<std::size_t>(std::ranges::count(is_used, 0));
  if (unused == 0) return {};
  return counted(unused, "subgraph is", "subgraphs are") + " named by no signature and no operator";
}

// Operators that other tools made: compiled parts, and calls of TensorFlow's own kernels.
std::string custom_note(const TfliteModel& model) {
  constexpr std::pair<std::string_view, std::string_view> kCompiled[] = {
      {"ethos-u", "Ethos-U"}, {"edgetpu-custom-op", "the Edge TPU"}, {"DISPATCH_OP", "an NPU"}};
  std::size_t compiled = 0, flex = 0;
  std::string_view target;
  for (const TfliteOperator& op : model.subgraph().operators) {
    const TfliteCode& code = model.code_of(op);
    if (!code.is_custom) continue;
    flex += code.name.starts_with("Flex");
    for (const auto& [name, device] : kCompiled) {
      if (code.name != name) continue;
      ++compiled;
      target = device;
    }
  }
  if (compiled > 0) {
    return counted(compiled, "operator is", "operators are") + " compiled for " +
           std::string(target) + " already: split the model that was compiled";
  }
  if (flex == 0) return {};
  return counted(flex, "operator needs", "operators need") +
         " the Flex delegate, which has TensorFlow's own kernels";
}

// LiteRT refuses axes that are none of the tensor's. The writer leaves out those of single scales.
void warn_of_axes(const TfliteModel& model, const std::string& file, Diagnostics& warnings) {
  std::size_t count = 0;
  std::uint32_t most_scales = 0;
  const TfliteTensor* first = nullptr;
  for (const TfliteTensor& tensor : model.subgraph().tensors) {
    const std::uint32_t scales = scales_of_no_axis(tensor);
    if (scales == 0) continue;
    most_scales = std::max(most_scales, scales);
    if (++count == 1) first = &tensor;
  }
  if (count == 0) return;
  Diagnostic warning = diagnostic_of(
      file, counted(count, "tensor is", "tensors are") + " quantised along an axis that " +
                (count == 1 ? "it does" : "they do") + " not have, the first is " +
                escaped_in_quotes(first->name) + ": LiteRT 2.3 and later refuse such a model" +
                (most_scales == 1 ? ", but take its partitions, which are written without" : ""));
  warning.severity = Severity::warning;
  warnings.push_back(std::move(warning));
}

}  // namespace

Loaded<TfliteLoaded> read_tflite(const SourceFile& source, const ShapeBindings& bindings,
                                 const ModelLimits& limits, const Progress& progress) {
  auto read = read_tflite_model(source, limits, bindings.signature);
  if (!read) return std::move(read).error();
  std::unique_ptr<TfliteModel, DeleteTfliteModel> model(new TfliteModel(*std::move(read)));
  find_tflite_state(*model);
  model->is_constant = tflite_constants(*model, model->main);
  if (bindings.folding == Folding::off) {
    model->is_constant.assign(model->is_constant.size(), 0);  // what computes a constant is a node
  }
  auto bound = InputShapes(*model, source.path()).bind(bindings);
  if (!bound) return std::move(bound).error();
  ShapeBinder binder(*bound);
  auto made = make_tflite_graph(*model, binder, progress);
  JsonFaults faults(source);
  binder.report_faults(faults);
  if (!faults.empty()) return faults.errors();
  if (!made) return faults_of(source, made.error());
  TfliteLoaded loaded{std::move(model), std::move(made->graph), {}, {}};
  warn_of_keys(*loaded.model, source.path(), loaded.warnings);
  warn_of_axes(*loaded.model, source.path(), loaded.warnings);
  for (const std::string& note :
       {signatures_note(*loaded.model), state_note(loaded.model->state),
        names_note(loaded.model->subgraph()), traced_note(made->traced), unknown_note(*made),
        custom_note(*loaded.model), unused_note(*loaded.model)}) {
    if (!note.empty()) loaded.notes.push_back(note);
  }
  return loaded;
}

void DeleteTfliteModel::operator()(TfliteModel* model) const noexcept { delete model; }

}  // namespace cleave
