// Steps: the walk; operator codes and buffers; subgraphs with tensors and operators; signatures;
// then what numbers of different tables say together.
#include "formats/models/tflite/model_reader.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "formats/base/text/utf8.h"
#include "formats/models/tflite/fields.h"
#include "formats/models/tflite/state.h"
#include "formats/models/tflite/tensor_type.h"

namespace cleave {
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
    const auto at = std::find_if(waits.begin(), waits.end(), [](std::uint32_t n) { return n > 0; });
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

}  // namespace cleave
