// Writes the parts of a split model.

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "core/base/words.h"
#include "core/split/split.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/base/process.h"
#include "formats/tflite/internal.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- split plan ----

// Steps: which partition makes and reads each tensor; which variables stay in one partition; then
// each partition's operators, inputs and outputs.

namespace {

constexpr std::uint32_t kNowhere = 0xffffffff;
constexpr std::uint32_t kMany = 0xfffffffe;

class SplitPlanner {
 public:
  SplitPlanner(const TfliteModel& model, const Partition& partition)
      : model_(model), graph_(model.subgraph()), partition_(partition) {}

  Result<TflitePlan> plan(TfliteLift lift) {
    find_places();
    find_readers();
    find_state(lift);
    std::vector<std::vector<std::uint32_t>> operators(partition_.count());
    for (std::uint32_t i = 0; i < part_of_.size(); ++i) {
      if (part_of_[i] != kNowhere) operators[part_of_[i]].push_back(i);
    }
    seen_.assign(graph_.tensors.size(), kNowhere);
    pulled_.assign(graph_.operators.size(), kNowhere);
    for (const PartId part : partition_.parts()) {
      plan_.parts.push_back({.part = part,
                             .operators = std::move(operators[index(part)]),
                             .inputs = {},
                             .outputs = {},
                             .variables = std::move(native_[index(part)])});
      fill(plan_.parts.back());
    }
    if (!fault_.empty()) return Error{.message = fault_};
    return std::move(plan_);
  }

 private:
  static std::uint32_t number(std::int32_t tensor) { return static_cast<std::uint32_t>(tensor); }

  void each_read(const TfliteOperator& op, const auto& visit) const {
    for (std::uint32_t k = 0; k < op.inputs.size(); ++k) {
      if (op.inputs[k] >= 0) visit(model_.state.read_as[number(op.inputs[k])]);
    }
  }
  // Whether an operator that is a node or a constant makes the tensor.
  bool is_made(std::uint32_t tensor) const {
    const std::uint32_t maker = graph_.tensors[tensor].maker;
    return maker != kNoTflite && model_.state.is_hidden[maker] == 0;
  }
  bool is_constant(std::uint32_t tensor) const {
    const std::uint32_t maker = graph_.tensors[tensor].maker;
    return maker == kNoTflite ? is_stored(graph_.tensors[tensor]) : model_.is_constant[maker] != 0;
  }
  // The partition that makes the tensor.
  std::uint32_t home_of(std::uint32_t tensor) const {
    return is_made(tensor) ? part_of_[graph_.tensors[tensor].maker] : kNowhere;
  }

  void find_places() {
    part_of_.assign(graph_.operators.size(), kNowhere);
    for (const PartId part : partition_.parts()) {
      for (const NodeId node : partition_.nodes(part)) {
        part_of_[model_.operators[index(node)]] = index(part);
      }
    }
  }

  // By tensor: the partition that reads it, or kMany. What the model gives out is read by many, as is
  // what nodes outside of all partitions read.
  void find_readers() {
    reader_.assign(graph_.tensors.size(), kNowhere);
    for (std::uint32_t i = 0; i < graph_.operators.size(); ++i) {
      if (model_.state.is_hidden[i] != 0 || model_.is_constant[i] != 0) continue;
      const std::uint32_t reader = part_of_[i] == kNowhere ? kMany : part_of_[i];
      covers_all_ = covers_all_ && reader != kMany;
      each_read(graph_.operators[i], [&](std::uint32_t tensor) { add_reader(tensor, reader); });
    }
    output_place_.assign(graph_.tensors.size(), kNoTflite);
    for (std::uint32_t k = graph_.outputs.size(); k-- > 0;) {
      const std::uint32_t tensor = model_.state.read_as[number(graph_.outputs[k])];
      add_reader(tensor, kMany);
      output_place_[tensor] = k;
    }
  }
  void add_reader(std::uint32_t tensor, std::uint32_t part) {
    reader_[tensor] = reader_[tensor] == kNowhere || reader_[tensor] == part ? part : kMany;
  }

  void find_state(TfliteLift lift) {
    const std::vector<TfliteVariable>& variables = model_.state.variables;
    native_.resize(partition_.count());
    plan_.is_native.assign(variables.size(), 0);
    std::vector<std::uint8_t> is_moved(graph_.tensors.size(), 0);  // from one variable to another
    for (const TfliteVariable& variable : variables) {
      if (variable.newest != kNoTflite) is_moved[variable.newest] = 1;
    }
    for (std::uint32_t v = 0; v < variables.size(); ++v) {
      const TfliteVariable& variable = variables[v];
      const std::uint32_t home = home_of_variable(variable, is_moved);
      if (home != kNowhere && lift != TfliteLift::all) {
        plan_.is_native[v] = 1;
        native_[home].push_back(v);
        continue;
      }
      plan_.lifted.push_back(v);
      if (variable.newest != kNoTflite) add_reader(variable.newest, kMany);
    }
  }

  // The only partition that has to do with the variable; kNowhere: there is none.
  std::uint32_t home_of_variable(const TfliteVariable& variable,
                                 const std::vector<std::uint8_t>& is_moved) const {
    std::uint32_t home = kNowhere;
    if (variable.read != kNoTflite) {
      home = reader_[variable.value];
      if (is_moved[variable.value] != 0 || home == kMany) return kNowhere;
    }
    if (variable.newest == kNoTflite) return home;
    const std::uint32_t maker = home_of(variable.newest);
    if (maker == kNowhere || is_constant(variable.newest)) return kNowhere;
    return home == kNowhere || home == maker ? maker : kNowhere;
  }

  void fill(TflitePart& part) {
    const std::uint32_t here = index(part.part);
    std::vector<std::uint32_t> open;  // constant operators to be copied
    const auto need = [&](std::uint32_t tensor) {
      const std::uint32_t maker = graph_.tensors[tensor].maker;
      if (maker == kNoTflite || model_.is_constant[maker] == 0) return;
      if (std::exchange(pulled_[maker], here) != here) open.push_back(maker);
    };
    for (const std::uint32_t op : part.operators) each_read(graph_.operators[op], need);
    add_outputs(part, here, need);
    for (std::size_t i = 0; i < open.size(); ++i) each_read(graph_.operators[open[i]], need);
    part.operators.insert(part.operators.end(), open.begin(), open.end());
    std::ranges::sort(part.operators);
    add_inputs(part, here);
  }

  void add_outputs(TflitePart& part, std::uint32_t here, const auto& need) {
    for (const std::uint32_t op : part.operators) {
      const FlatInts& outputs = graph_.operators[op].outputs;
      for (std::uint32_t k = 0; k < outputs.size(); ++k) {
        const std::uint32_t tensor = number(outputs[k]);
        if (reader_[tensor] != kNowhere && reader_[tensor] != here) add_output(part, tensor);
      }
    }
    if (covers_all_ && here + 1 == partition_.count()) add_constant_outputs(part, need);
    std::ranges::sort(part.outputs, [this](std::uint32_t a, std::uint32_t b) {
      return std::pair(output_place_[a], a) < std::pair(output_place_[b], b);
    });
    part.outputs.erase(std::unique(part.outputs.begin(), part.outputs.end()), part.outputs.end());
  }

  void add_output(TflitePart& part, std::uint32_t tensor) {
    check_crossing(part, tensor);
    part.outputs.push_back(tensor);
  }

  // Constants that the model gives out, or keeps: the last partition has them.
  void add_constant_outputs(TflitePart& part, const auto& need) {
    const auto add = [&](std::uint32_t tensor) {
      if (!is_constant(tensor)) return;
      need(tensor);
      part.outputs.push_back(tensor);
    };
    for (std::uint32_t k = 0; k < graph_.outputs.size(); ++k) {
      add(model_.state.read_as[number(graph_.outputs[k])]);
    }
    for (const std::uint32_t v : plan_.lifted) {
      const TfliteVariable& variable = model_.state.variables[v];
      if (variable.newest != kNoTflite) add(variable.newest);
    }
  }

  void add_inputs(TflitePart& part, std::uint32_t here) {
    for (const std::uint32_t v : part.variables) {
      const TfliteVariable& variable = model_.state.variables[v];
      if (variable.read != kNoTflite) seen_[variable.value] = here;
    }
    std::vector<std::uint32_t> made;
    for (const std::uint32_t op : part.operators) {
      each_read(graph_.operators[op], [&](std::uint32_t tensor) {
        if (is_constant(tensor) || home_of(tensor) == here) return;
        if (model_.values[tensor] == kNone<ValueId>) return;  // memory to work in
        if (graph_.tensors[tensor].is_variable && !graph_.tensors[tensor].is_input) return;
        if (std::exchange(seen_[tensor], here) == here) return;
        check_crossing(part, tensor);
        (graph_.tensors[tensor].is_input ? part.inputs : made).push_back(tensor);
      });
    }
    std::ranges::sort(made);
    order_inputs(part.inputs);
    part.inputs.insert(part.inputs.end(), made.begin(), made.end());
  }

  // As the model lists them.
  void order_inputs(std::vector<std::uint32_t>& inputs) {
    if (place_.empty()) {
      place_.assign(graph_.tensors.size(), kNowhere);
      for (std::uint32_t k = graph_.inputs.size(); k-- > 0;) place_[number(graph_.inputs[k])] = k;
    }
    std::ranges::sort(inputs,
                      [&](std::uint32_t a, std::uint32_t b) { return place_[a] < place_[b]; });
  }

  void check_crossing(const TflitePart& part, std::uint32_t tensor) {
    if (is_tensor_type(graph_.tensors[tensor].type) || !fault_.empty()) return;
    fault_ = "partition " + escaped_in_quotes(partition_.name(part.part)) + " and another share " +
             escaped_in_quotes(graph_.tensors[tensor].name) +
             ", the handle of a resource: handles cannot cross";
  }

  const TfliteModel& model_;
  const TfliteSubgraph& graph_;
  const Partition& partition_;
  TflitePlan plan_;
  std::vector<std::uint32_t> part_of_;              // by operator
  std::vector<std::uint32_t> reader_;               // by tensor
  std::vector<std::vector<std::uint32_t>> native_;  // by partition
  std::vector<std::uint32_t> seen_, pulled_;        // by tensor, operator: the partition met last
  std::vector<std::uint32_t> place_;                // by tensor: among the model's inputs
  std::vector<std::uint32_t> output_place_;         // by tensor: among its outputs
  bool covers_all_ = true;                          // the partitions have all nodes
  std::string fault_;
};

// The packing of weights in other files that are in a form of their own; empty: none are.
std::string_view packing_of(const TfliteModel& model) {
  for (const TfliteSubgraph& graph : model.subgraphs) {
    for (const TfliteTensor& tensor : graph.tensors) {
      if (tensor.external == 0) continue;
      const std::string_view packing = model.external.at(tensor.external).packing;
      if (!packing.empty()) return packing;
    }
  }
  return {};
}

}  // namespace

Result<TflitePlan> plan_tflite_split(const TfliteModel& model, const Graph& graph,
                                     const Partition& partition, TfliteLift lift) {
  if (const std::string_view packing = packing_of(model); !packing.empty()) {
    return Error{.message = "keeps weights in other files in the packing " +
                            escaped_in_quotes(packing) + ", which cleave does not know"};
  }
  if (auto whole = check_whole(graph, partition, tflite_ties(model)); !whole) return whole.error();
  return SplitPlanner(model, partition).plan(lift);
}

namespace {

using Layout = JsonText::Layout;

class ChainWriter {
 public:
  ChainWriter(const TfliteModel& model, const TflitePlan& plan, const TfliteChainNames& names)
      : model_(model), graph_(model.subgraph()), plan_(plan), names_(names) {}

  std::string write() {
    json_.begin_object();
    json_.begin_list("order");
    for (const TflitePart& part : plan_.parts) write_part(part);
    json_.end_list();
    write_own("inputs", graph_.inputs);
    write_own("outputs", graph_.outputs);
    write_state();
    write_init();
    write_signature();
    write_open();
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  std::string_view name_of(std::uint32_t tensor) const { return graph_.tensors[tensor].name; }
  std::string_view own_name(std::int64_t tensor) const {
    return name_of(model_.state.read_as[static_cast<std::size_t>(tensor)]);
  }

  void write_values(std::string_view key, const std::vector<std::uint32_t>& tensors) {
    json_.begin_list(key, Layout::one_line);
    for (const std::uint32_t tensor : tensors) json_.text(name_of(tensor));
    json_.end_list();
  }

  void write_part(const TflitePart& part) {
    const std::size_t number = index(part.part);
    json_.begin_object();
    json_.text("name", names_.names[number]);
    json_.text("file", names_.files[number]);
    if (names_.is_bundle) json_.text("model", names_.names[number]);
    write_values("inputs", part.inputs);
    write_values("outputs", part.outputs);
    write_values("writes_inputs", {});
    write_values("repeated", {});
    json_.begin_list("variables", Layout::one_line);
    for (const std::uint32_t v : part.variables) json_.text(target_of(v));
    json_.end_list();
    json_.end_object();
  }

  void write_own(std::string_view key, const FlatInts& tensors) {
    json_.begin_list(key, Layout::one_line);
    for (std::uint32_t i = 0; i < tensors.size(); ++i) json_.text(own_name(tensors[i]));
    json_.end_list();
  }

  std::string target_of(std::uint32_t v) const {
    const TfliteVariable& variable = model_.state.variables[v];
    if (variable.container.empty()) return std::string(variable.shared_name);
    return std::string(variable.container) + "/" + std::string(variable.shared_name);
  }

  void write_state() {
    json_.begin_list("state");
    for (const std::uint32_t v : plan_.lifted) {
      if (model_.state.variables[v].read == kNoTflite) continue;
      json_.begin_object(Layout::one_line);
      json_.text("name", model_.state.variables[v].name);
      json_.text("kind", "variable");
      json_.text("target", target_of(v));
      json_.end_object();
    }
    json_.end_list();
    json_.begin_list("mutations");
    for (const std::uint32_t v : plan_.lifted) {
      if (model_.state.variables[v].newest == kNoTflite) continue;
      json_.begin_object(Layout::one_line);
      json_.text("kind", "variable");
      json_.text("target", target_of(v));
      json_.text("value", name_of(model_.state.variables[v].newest));
      json_.end_object();
    }
    json_.end_list();
  }

  void write_init() {
    const TfliteInit& init = names_.init;
    if (init.file.empty()) return;
    json_.begin_object("init");
    json_.text("file", init.file);
    if (!init.signature.empty()) json_.text("model", init.signature);
    json_.begin_list("outputs", Layout::one_line);
    for (const std::uint32_t v : init.variables) json_.text(model_.state.variables[v].name);
    json_.end_list();
    json_.end_object();
  }

  void write_signature() {
    if (model_.signature.is_absent()) return;
    json_.begin_object("signature");
    json_.text("key", model_.signature.bytes(tfl::signature::key));
    write_names("inputs", model_.signature.tables(tfl::signature::inputs));
    write_names("outputs", model_.signature.tables(tfl::signature::outputs));
    json_.end_object();
  }

  void write_names(std::string_view key, const FlatTables& maps) {
    json_.begin_list(key);
    for (std::uint32_t i = 0; i < maps.size(); ++i) {
      const std::int64_t tensor = maps[i].integer(tfl::signature::tensor_index);
      if (static_cast<std::uint64_t>(tensor) >= graph_.tensors.size()) continue;
      json_.begin_object(Layout::one_line);
      json_.text("name", maps[i].bytes(tfl::signature::tensor_name));
      json_.text("value", own_name(tensor));
      json_.end_object();
    }
    json_.end_list();
  }

  // Whether it has a dim that the file and the options leave open.
  static bool is_open(const TfliteTensor& tensor) {
    const auto is_free = [](std::int32_t size) { return size < 0; };
    if (!tensor.bound.empty()) {
      return std::ranges::any_of(tensor.bound, is_free);
    }
    const FlatInts signature = tensor.table.ints(tfl::tensor::signature);
    bool is_any = false;
    for (std::uint32_t i = 0; i < signature.size(); ++i) is_any = is_any || is_free(signature[i]);
    return is_any;
  }

  void write_open() {
    std::vector<std::uint32_t> open;
    for (const TflitePart& part : plan_.parts) {
      for (const std::uint32_t tensor : part.inputs) {
        if (is_open(graph_.tensors[tensor])) open.push_back(tensor);
      }
    }
    sort_unique(open);
    write_values("open", open);
  }

  const TfliteModel& model_;
  const TfliteSubgraph& graph_;
  const TflitePlan& plan_;
  const TfliteChainNames& names_;
  JsonText json_;
};

}  // namespace

std::string tflite_chain_json(const TfliteModel& model, const TflitePlan& plan,
                              const TfliteChainNames& names) {
  return ChainWriter(model, plan, names).write();
}

// ---- part file ----

namespace {

constexpr std::uint32_t kComposite = schema_operator("STABLEHLO_COMPOSITE");
constexpr std::int64_t kPlaceholder = 127;  // the old byte of an operator code that is larger
// A FlexBuffer that is an empty map. LiteRT wants the attributes of a composite to be there.
constexpr std::string_view kEmptyMap("\0\0\1\0\0\x24\1", 7);

std::string_view name_of(const FlatTable& metadata) { return metadata.bytes(tfl::metadata::name); }

// Writes sizes that options set; dims that stay open are -1 in the signature of the shape.
void set_bound_shape(OutTable& table, const TfliteTensor& tensor) {
  if (tensor.bound.empty()) return;
  std::vector<std::int32_t> shape = tensor.bound;
  bool is_open = false;
  for (std::uint32_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0) continue;
    shape[i] = tensor.shape[i];
    is_open = true;
  }
  table.set(tfl::tensor::shape, std::move(shape));
  if (is_open) {
    table.set(tfl::tensor::signature, tensor.bound);
  } else {
    table.drop(tfl::tensor::signature);
  }
}

}  // namespace

FileBuilder::FileBuilder(const TfliteModel& source, std::string description)
    : source_(source), description_(std::move(description)) {
  buffers_.emplace_back(schema_table("Buffer"));  // number 0 is "no data"
  code_numbers_.assign(source.codes.size(), kNoTflite);
  buffer_numbers_.assign(source.buffers.size(), kNoTflite);
  body_numbers_.assign(source.subgraphs.size(), kNoTflite);
}

FileBuilder::SubgraphId FileBuilder::add_subgraph(std::string name) {
  subgraphs_.emplace_back(std::move(name));
  return static_cast<SubgraphId>(subgraphs_.size() - 1);
}

std::int64_t FileBuilder::code(std::uint32_t source) {
  std::uint32_t& number = code_numbers_[source];
  if (number == kNoTflite) {
    number = static_cast<std::uint32_t>(codes_.size());
    codes_.emplace_back(source_.walk.root.tables(tfl::model::operator_codes)[source]);
  }
  return number;
}

std::int64_t FileBuilder::add_buffer(const TfliteBytes& bytes) {
  OutTable table(schema_table("Buffer"));
  table.set(tfl::buffer::data, bytes);
  buffers_.push_back(std::move(table));
  return static_cast<std::int64_t>(buffers_.size() - 1);
}

std::int64_t FileBuilder::buffer(std::uint32_t source) {
  if (source >= source_.buffers.size() || source_.buffers[source].size == 0) return 0;
  std::uint32_t& number = buffer_numbers_[source];
  if (number == kNoTflite) {
    number = static_cast<std::uint32_t>(add_buffer(source_.buffers[source]));
  }
  return number;
}

// Weights in another file become a buffer of this one.
std::int64_t FileBuilder::buffer_of(const TfliteTensor& tensor) {
  if (tensor.external == 0) return buffer(tensor.buffer);
  const auto known = external_numbers_.find(tensor.external);
  if (known != external_numbers_.end()) return known->second;
  const std::int64_t number = add_buffer(source_.external.at(tensor.external).bytes);
  external_numbers_.emplace(tensor.external, number);
  return number;
}

std::int32_t FileBuilder::add_named_tensor(SubgraphId to, std::uint32_t from, std::uint32_t number,
                                           std::string_view name) {
  const TfliteTensor& tensor = source_.subgraphs[from].tensors[number];
  OutTable table(tensor.table);
  if (scales_of_no_axis(tensor) == 1) {
    OutTable quantization(tensor.table.table(tfl::tensor::quantization));
    quantization.drop(tfl::quantization::dimension);
    table.set(tfl::tensor::quantization, std::move(quantization));
  }
  set_bound_shape(table, tensor);
  table.set(tfl::tensor::name, name);
  table.set(tfl::tensor::buffer, buffer_of(tensor));
  if (tensor.external != 0) table.drop(tfl::tensor::external_buffer);
  OutSubgraph& subgraph = subgraphs_[to];
  subgraph.tensors_.push_back(std::move(table));
  return static_cast<std::int32_t>(subgraph.tensors_.size() - 1);
}

std::int32_t FileBuilder::tensor(SubgraphId to, std::uint32_t from, std::uint32_t number) {
  const std::pair key(from, number);
  const auto known = subgraphs_[to].numbers_.find(key);
  if (known != subgraphs_[to].numbers_.end()) return known->second;
  const std::string_view name = source_.subgraphs[from].tensors[number].name;
  const std::int32_t made = add_named_tensor(to, from, number, name);
  subgraphs_[to].numbers_.emplace(key, made);
  return made;
}

void FileBuilder::set_same(SubgraphId to, std::uint32_t of, std::uint32_t same) {
  const std::int32_t number = tensor(to, source_.main, same);
  subgraphs_[to].numbers_.emplace(std::pair(source_.main, of), number);
}

std::vector<std::int32_t> FileBuilder::numbers_of(SubgraphId to, std::uint32_t from,
                                                  const FlatInts& tensors) {
  const bool is_main = from == source_.main;
  std::vector<std::int32_t> numbers;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] < 0) {
      numbers.push_back(-1);
      continue;
    }
    const auto named = static_cast<std::uint32_t>(tensors[i]);
    numbers.push_back(tensor(to, from, is_main ? source_.state.read_as[named] : named));
  }
  return numbers;
}

std::int32_t FileBuilder::body(std::uint32_t subgraph) {
  std::uint32_t& number = body_numbers_[subgraph];
  if (number == kNoTflite) {
    number =
        add_subgraph(std::string(source_.subgraphs[subgraph].table.bytes(tfl::subgraph::name)));
    open_bodies_.push_back(subgraph);
  }
  return static_cast<std::int32_t>(number);
}

// The options with the numbers that bodies have here.
OutTable FileBuilder::options_of(const TfliteOperator& op, const std::vector<TfliteBody>& bodies) {
  OutTable options(op.options);
  std::map<SchemaFieldId, std::vector<std::int32_t>> lists;
  for (const TfliteBody& called : bodies) {
    const std::int32_t number = body(static_cast<std::uint32_t>(called.subgraph));
    if (!kSchemaFields[called.field].is_vector) {
      options.set(called.field, std::int64_t{number});
      continue;
    }
    std::vector<std::int32_t>& list = lists[called.field];
    const FlatInts stored = op.options.ints(called.field);
    for (auto i = static_cast<std::uint32_t>(list.size()); i < stored.size(); ++i) {
      list.push_back(stored[i]);
    }
    list[called.element] = number;
  }
  for (auto& [field, list] : lists) options.set(field, std::move(list));
  return options;
}

OutTable FileBuilder::operator_table(SubgraphId to, std::uint32_t from, const TfliteOperator& op) {
  OutTable table(op.table);
  table.set(tfl::op::opcode_index, code(op.code));
  table.set(tfl::op::inputs, numbers_of(to, from, op.inputs));
  table.set(tfl::op::outputs, numbers_of(to, from, op.outputs));
  if (op.table.has(tfl::op::intermediates)) {
    table.set(tfl::op::intermediates, numbers_of(to, from, op.table.ints(tfl::op::intermediates)));
  }
  table.drop(tfl::op::debug_metadata);
  const TfliteBytes custom{
      static_cast<std::uint64_t>(op.table.integer(tfl::op::large_custom_options_offset)),
      static_cast<std::uint64_t>(op.table.integer(tfl::op::large_custom_options_size))};
  if (custom.offset > 1 && custom.size > 0) table.set(tfl::op::custom_options, custom);
  table.drop(tfl::op::large_custom_options_offset);
  table.drop(tfl::op::large_custom_options_size);
  if (const std::vector<TfliteBody> bodies = bodies_of(op); !bodies.empty()) {
    const bool is_first = op.table.tag(tfl::op::builtin_options) != 0;
    table.set(is_first ? tfl::op::builtin_options : tfl::op::builtin_options_2,
              options_of(op, bodies));
  }
  return table;
}

void FileBuilder::add_operator(SubgraphId to, std::uint32_t from, std::uint32_t number,
                               const BodyFilter& filter) {
  OutTable table = operator_table(to, from, source_.subgraphs[from].operators[number]);
  subgraphs_[to].operators_.push_back(std::move(table));
  fill_bodies(filter);
}

void FileBuilder::fill_bodies(const BodyFilter& filter) {
  std::vector<std::uint32_t> filtered;
  while (!open_bodies_.empty()) {
    const std::uint32_t from = open_bodies_.back();
    open_bodies_.pop_back();
    const SubgraphId to = body_numbers_[from];
    if (filter) filtered.push_back(from);
    const TfliteSubgraph& body = source_.subgraphs[from];
    std::vector<std::int32_t> inputs = numbers_of(to, from, body.inputs);
    subgraphs_[to].inputs_ = std::move(inputs);
    for (const TfliteOperator& op : body.operators) {
      if (filter && !filter(from, op)) continue;
      OutTable table = operator_table(to, from, op);
      subgraphs_[to].operators_.push_back(std::move(table));
    }
    std::vector<std::int32_t> outputs = numbers_of(to, from, body.outputs);
    subgraphs_[to].outputs_ = std::move(outputs);
  }
  for (const std::uint32_t from : filtered) body_numbers_[from] = kNoTflite;
}

void FileBuilder::add_composite(SubgraphId to, SubgraphId part, const std::string& name,
                                std::vector<std::int32_t> inputs,
                                std::vector<std::int32_t> outputs) {
  if (composite_code_ < 0) {
    composite_code_ = static_cast<std::int64_t>(codes_.size());
    OutTable made(schema_table("OperatorCode"));
    made.set(tfl::code::deprecated_builtin_code, kPlaceholder);
    made.set(tfl::code::builtin_code, std::int64_t{kComposite});
    made.set(tfl::code::version, std::int64_t{1});
    codes_.push_back(std::move(made));
  }
  OutTable options(schema_table("StableHLOCompositeOptions"));
  options.set(tfl::composite::name, std::string_view(name));
  options.set(tfl::composite::subgraph, std::int64_t{part});
  options.set(tfl::composite::attributes, kEmptyMap);
  options.set(tfl::composite::version, std::int64_t{1});
  OutTable op(schema_table("Operator"));
  op.set(tfl::op::opcode_index, composite_code_);
  op.set(tfl::op::inputs, std::move(inputs));
  op.set(tfl::op::outputs, std::move(outputs));
  op.set(tfl::op::builtin_options_2, std::move(options));
  subgraphs_[to].operators_.push_back(std::move(op));
}

void FileBuilder::add_input(SubgraphId to, std::int32_t tensor, std::string_view name) {
  subgraphs_[to].inputs_.push_back(tensor);
  subgraphs_[to].input_names_.emplace_back(name, tensor);
}

void FileBuilder::add_output(SubgraphId to, std::int32_t tensor, std::string_view name) {
  subgraphs_[to].outputs_.push_back(tensor);
  subgraphs_[to].output_names_.emplace_back(name, tensor);
}

void FileBuilder::add_signature(SubgraphId of, std::string_view key) {
  const auto maps_of = [](const std::vector<std::pair<std::string, std::int32_t>>& names) {
    std::vector<OutTable> maps;
    for (const auto& [name, tensor] : names) {
      OutTable map(schema_table("TensorMap"));
      map.set(tfl::signature::tensor_name, std::string_view(name));
      map.set(tfl::signature::tensor_index, std::int64_t{tensor});
      maps.push_back(std::move(map));
    }
    return maps;
  };
  OutTable signature(schema_table("SignatureDef"));
  signature.set(tfl::signature::inputs, maps_of(subgraphs_[of].input_names_));
  signature.set(tfl::signature::outputs, maps_of(subgraphs_[of].output_names_));
  signature.set(tfl::signature::key, key);
  signature.set(tfl::signature::subgraph_index, std::int64_t{of});
  signatures_.push_back(std::move(signature));
}

// What runtimes read. Other metadata describes the whole model: labels of its inputs, places in the
// memory of tensors by their old numbers.
void FileBuilder::add_metadata() {
  const FlatTables all = source_.walk.root.tables(tfl::model::metadata);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (name_of(all[i]) != "min_runtime_version" &&
        name_of(all[i]) != "reduced_precision_support") {
      continue;
    }
    OutTable table(all[i]);
    table.set(tfl::metadata::buffer,
              buffer(static_cast<std::uint32_t>(all[i].integer(tfl::metadata::buffer))));
    metadata_.push_back(std::move(table));
  }
}

OutTable FileBuilder::finish() && {
  add_metadata();
  std::vector<OutTable> subgraphs;
  for (OutSubgraph& one : subgraphs_) {
    OutTable table(schema_table("SubGraph"));
    table.set(tfl::subgraph::name, std::string_view(one.name_));
    table.set(tfl::subgraph::tensors, std::move(one.tensors_));
    table.set(tfl::subgraph::inputs, std::move(one.inputs_));
    table.set(tfl::subgraph::outputs, std::move(one.outputs_));
    table.set(tfl::subgraph::operators, std::move(one.operators_));
    subgraphs.push_back(std::move(table));
  }
  OutTable model(schema_table("Model"));
  model.set(tfl::model::version, std::int64_t{3});
  model.set(tfl::model::operator_codes, std::move(codes_));
  model.set(tfl::model::subgraphs, std::move(subgraphs));
  model.set(tfl::model::description, std::string_view(description_));
  model.set(tfl::model::buffers, std::move(buffers_));
  if (!metadata_.empty()) model.set(tfl::model::metadata, std::move(metadata_));
  if (!signatures_.empty()) model.set(tfl::model::signature_defs, std::move(signatures_));
  return model;
}

namespace {

using SubgraphId = FileBuilder::SubgraphId;
constexpr std::string_view kKey = "serving_default";

std::uint32_t number(std::int32_t tensor) { return static_cast<std::uint32_t>(tensor); }

std::pair<std::string_view, std::string_view> variable_of(const TfliteOperator& handle) {
  return {handle.options.bytes(tfl::variable::container),
          handle.options.bytes(tfl::variable::shared_name)};
}

// Sets up, reads and writes variables inside a subgraph, as the model's operators do.
class VariableOperators {
 public:
  VariableOperators(FileBuilder& builder, const TfliteModel& model, SubgraphId to,
                    const std::vector<std::uint32_t>& variables)
      : builder_(builder), model_(model), to_(to), variables_(variables) {
    for (const std::uint32_t v : variables) {
      const TfliteVariable& variable = model.state.variables[v];
      names_.emplace(variable.container, variable.shared_name);
    }
  }

  // The calls that set variables up once, their handles and the reads.
  void begin() {
    std::set<std::uint32_t> calls;
    for (const std::uint32_t v : variables_) {
      const std::uint32_t call = model_.state.variables[v].init_call;
      if (call != kNoTflite) calls.insert(call);
    }
    for (const std::uint32_t call : calls) {
      builder_.add_operator(to_, model_.main, call,
                            [this](std::uint32_t subgraph, const TfliteOperator& op) {
                              return is_of_these(subgraph, op);
                            });
    }
    for (const std::uint32_t v : variables_) {
      const TfliteVariable& variable = model_.state.variables[v];
      builder_.add_operator(to_, model_.main, variable.handle);
      if (variable.read != kNoTflite) add(variable.read, v);
    }
  }

  void end() {
    for (const std::uint32_t v : variables_) {
      if (model_.state.variables[v].assign != kNoTflite) add(model_.state.variables[v].assign, v);
    }
  }

 private:
  // A variable may have several handles; here all are the one that was added.
  void add(std::uint32_t op, std::uint32_t v) {
    const TfliteSubgraph& graph = model_.subgraph();
    const std::uint32_t handle = model_.state.variables[v].handle;
    builder_.set_same(to_, number(graph.operators[op].inputs[0]),
                      number(graph.operators[handle].outputs[0]));
    builder_.add_operator(to_, model_.main, op);
  }

  // An operator of a subgraph that sets variables up: only those that concern these variables.
  bool is_of_these(std::uint32_t subgraph, const TfliteOperator& op) const {
    const TfliteSubgraph& graph = model_.subgraphs[subgraph];
    if (model_.is_builtin(op, schema_operator("VAR_HANDLE")))
      return names_.contains(variable_of(op));
    if (!model_.is_builtin(op, schema_operator("ASSIGN_VARIABLE"))) return true;
    const std::uint32_t maker = graph.tensors[number(op.inputs[0])].maker;
    return maker == kNoTflite || names_.contains(variable_of(graph.operators[maker]));
  }

  FileBuilder& builder_;
  const TfliteModel& model_;
  SubgraphId to_;
  const std::vector<std::uint32_t>& variables_;
  std::set<std::pair<std::string_view, std::string_view>> names_;
};

void fill_part(FileBuilder& builder, const TfliteModel& model, SubgraphId to,
               const TflitePart& part) {
  const std::vector<TfliteTensor>& tensors = model.subgraph().tensors;
  for (const std::uint32_t tensor : part.inputs) {
    builder.add_input(to, builder.tensor(to, model.main, tensor), tensors[tensor].name);
  }
  VariableOperators variables(builder, model, to, part.variables);
  variables.begin();
  for (const std::uint32_t op : part.operators) builder.add_operator(to, model.main, op);
  variables.end();
  for (const std::uint32_t tensor : part.outputs) {
    builder.add_output(to, builder.tensor(to, model.main, tensor), tensors[tensor].name);
  }
}

class RootMaker {
 public:
  RootMaker(const TfliteModel& model, const TflitePlan& plan, const std::string& description)
      : model_(model), graph_(model.subgraph()), plan_(plan), builder_(model, description) {}

  OutTable make(const std::vector<std::string>& names) {
    main_ = builder_.add_subgraph("main");
    std::vector<SubgraphId> parts;
    for (const TflitePart& part : plan_.parts) {
      const bool is_called = can_be_composite(model_, part);
      parts.push_back(is_called ? builder_.add_subgraph(names[index(part.part)]) : main_);
    }
    add_inputs();
    std::vector<std::uint32_t> all;
    for (std::uint32_t v = 0; v < model_.state.variables.size(); ++v) all.push_back(v);
    VariableOperators variables(builder_, model_, main_, all);
    variables.begin();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == main_) {
        add_inside(plan_.parts[i]);
        continue;
      }
      fill_part(builder_, model_, parts[i], plan_.parts[i]);
      builder_.add_composite(main_, parts[i], "cleave." + names[index(plan_.parts[i].part)],
                             numbers_of(plan_.parts[i].inputs), numbers_of(plan_.parts[i].outputs));
    }
    variables.end();
    add_outputs();
    const std::string_view key = model_.signature.bytes(tfl::signature::key);
    builder_.add_signature(main_, key.empty() ? kKey : key);
    return std::move(builder_).finish();
  }

 private:
  // Adds the partition's operators to the main subgraph; constants of several partitions once.
  void add_inside(const TflitePart& part) {
    for (const std::uint32_t op : part.operators) {
      if (added_.insert(op).second) builder_.add_operator(main_, model_.main, op);
    }
  }

  std::vector<std::int32_t> numbers_of(const std::vector<std::uint32_t>& tensors) {
    std::vector<std::int32_t> numbers;
    for (const std::uint32_t tensor : tensors) {
      numbers.push_back(builder_.tensor(main_, model_.main, tensor));
    }
    return numbers;
  }

  // The name that the model's signature has for the tensor, else its own.
  std::string_view name_of(std::uint32_t tensor, SchemaFieldId list) const {
    const FlatTables maps = model_.signature.tables(list);
    for (std::uint32_t i = 0; i < maps.size(); ++i) {
      if (maps[i].integer(tfl::signature::tensor_index) == tensor) {
        return maps[i].bytes(tfl::signature::tensor_name);
      }
    }
    return graph_.tensors[tensor].name;
  }

  void add_inputs() {
    for (std::uint32_t k = 0; k < graph_.inputs.size(); ++k) {
      const std::uint32_t tensor = number(graph_.inputs[k]);
      builder_.add_input(main_, builder_.tensor(main_, model_.main, tensor),
                         name_of(tensor, tfl::signature::inputs));
    }
  }

  void add_outputs() {
    for (std::uint32_t k = 0; k < graph_.outputs.size(); ++k) {
      const std::uint32_t named = number(graph_.outputs[k]);
      builder_.add_output(main_, builder_.tensor(main_, model_.main, model_.state.read_as[named]),
                          name_of(named, tfl::signature::outputs));
    }
  }

  const TfliteModel& model_;
  const TfliteSubgraph& graph_;
  const TflitePlan& plan_;
  FileBuilder builder_;
  SubgraphId main_ = 0;
  std::set<std::uint32_t> added_;  // operators that are in the main subgraph
};

}  // namespace

OutTable tflite_part(const TfliteModel& model, const TflitePart& part, const std::string& name,
                     const std::string& description) {
  FileBuilder builder(model, description);
  const SubgraphId main = builder.add_subgraph(name);
  fill_part(builder, model, main, part);
  builder.add_signature(main, kKey);
  return std::move(builder).finish();
}

bool can_be_composite(const TfliteModel& model, const TflitePart& part) {
  const TfliteSubgraph& graph = model.subgraph();
  if (part.inputs.empty() || part.outputs.empty()) return false;
  for (const std::uint32_t tensor : part.outputs) {
    const std::uint32_t maker = graph.tensors[tensor].maker;
    if (maker == kNoTflite || model.is_constant[maker] != 0) return false;
  }
  const std::vector<std::uint32_t>& whole = model.state.whole;  // sorted
  return std::ranges::none_of(part.operators, [&](std::uint32_t op) {
    if (model.is_builtin(graph.operators[op], schema_operator("SHAPE")) ||
        model.is_builtin(graph.operators[op], schema_operator("RANK"))) {
      return true;
    }
    const FlatInts& inputs = graph.operators[op].inputs;
    for (std::uint32_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] >= 0 && graph.tensors[number(inputs[k])].is_variable) return true;
    }
    return std::ranges::binary_search(whole, op);
  });
}

OutTable tflite_root(const TfliteModel& model, const TflitePlan& plan,
                     const std::vector<std::string>& names, const std::string& description) {
  return RootMaker(model, plan, description).make(names);
}

std::vector<std::uint32_t> variables_with_start(const TfliteModel& model,
                                                const std::vector<std::uint32_t>& variables) {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t v : variables) {
    const TfliteVariable& variable = model.state.variables[v];
    if (variable.init_call != kNoTflite && variable.read != kNoTflite) found.push_back(v);
  }
  return found;
}

namespace {

void fill_init(FileBuilder& builder, const TfliteModel& model, SubgraphId to,
               const std::vector<std::uint32_t>& variables) {
  std::set<std::uint32_t> added;  // subgraphs whose other operators are there
  for (const std::uint32_t v : variables) {
    const TfliteVariable& variable = model.state.variables[v];
    const TfliteOperator& call = model.subgraph().operators[variable.init_call];
    const auto from = static_cast<std::uint32_t>(bodies_of(call).front().subgraph);
    const TfliteSubgraph& graph = model.subgraphs[from];
    if (added.insert(from).second) {
      for (std::uint32_t i = 0; i < graph.operators.size(); ++i) {
        const TfliteOperator& op = graph.operators[i];
        const bool is_of_variable = model.is_builtin(op, schema_operator("VAR_HANDLE")) ||
                                    model.is_builtin(op, schema_operator("ASSIGN_VARIABLE"));
        if (!is_of_variable) builder.add_operator(to, from, i);
      }
    }
    const std::uint32_t value = number(graph.operators[variable.init_assign].inputs[1]);
    const std::int32_t tensor = graph.tensors[value].maker == kNoTflite
                                    ? builder.add_named_tensor(to, from, value, variable.name)
                                    : builder.tensor(to, from, value);
    builder.add_output(to, tensor, variable.name);
  }
}

}  // namespace

OutTable tflite_init(const TfliteModel& model, const std::vector<std::uint32_t>& variables,
                     const std::string& description) {
  FileBuilder builder(model, description);
  const SubgraphId main = builder.add_subgraph("init");
  fill_init(builder, model, main, variables);
  builder.add_signature(main, kKey);
  return std::move(builder).finish();
}

OutTable tflite_bundle(const TfliteModel& model, const TflitePlan& plan,
                       const std::vector<std::string>& names, const TfliteInit& init,
                       const std::string& description) {
  FileBuilder builder(model, description);
  for (const TflitePart& part : plan.parts) {
    const std::string& name = names[index(part.part)];
    const SubgraphId to = builder.add_subgraph(name);
    fill_part(builder, model, to, part);
    builder.add_signature(to, name);
  }
  if (!init.variables.empty()) {
    const SubgraphId to = builder.add_subgraph(init.signature);
    fill_init(builder, model, to, init.variables);
    builder.add_signature(to, init.signature);
  }
  return std::move(builder).finish();
}

// ---- writer ----
//
// Steps: plan the split; write each partition, the root and the first state; describe the chain of
// calls for the manifest.

namespace {

constexpr std::string_view kRootFile = "root.tflite";
constexpr std::string_view kInitFile = "init.tflite";
constexpr std::string_view kBundleFile = "bundle.tflite";
constexpr std::string_view kInit = "init";  // its signature in a bundle

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A name that begins with `wanted` and is none of `names`.
std::string free_name(std::string_view wanted, const std::vector<std::string>& names) {
  const std::set<std::string_view> taken(names.begin(), names.end());
  std::string name(wanted);
  for (int n = 2; taken.contains(name); ++n) name = std::string(wanted) + "_" + std::to_string(n);
  return name;
}

// File names of partitions; "init" is the name of a file of the split's own.
std::vector<std::string> part_files_of(const std::vector<std::string>& names) {
  std::vector<std::string> files = file_stems(names);
  const std::string instead = free_name(kInit, files);
  for (std::string& file : files) file = (file == kInit ? instead : file) + ".tflite";
  return files;
}

// The model's file and those beside it, as TfliteBytes counts them. Fails when weights that a tensor
// has are not there.
Result<std::vector<ByteSource>, Fault> sources_of(const LoadedModel& loaded) {
  constexpr std::size_t kMostFaults = 20;
  const TfliteModel& model = *loaded.tflite();
  std::vector<ByteSource> sources = byte_sources(loaded), found;
  sources.resize(1 + model.weight_files.size());
  WeightFiles files(loaded.source.folder(), found);
  Diagnostics faults;
  const auto look_at = [&](const TfliteTensor& tensor) -> std::string {
    const TfliteBytes& bytes = model.external.at(tensor.external).bytes;
    const std::string_view location = model.weight_files[bytes.source - 1];
    const auto file = files.find(location);
    if (file) sources[bytes.source] = found[file->source];
    const std::string fault = file ? fault_of_range(*file, bytes.offset, bytes.size) : file.error();
    return fault.empty() ? fault : "weights at " + escaped_in_quotes(location) + " " + fault;
  };
  for (const TfliteSubgraph& graph : model.subgraphs) {
    for (const TfliteTensor& tensor : graph.tensors) {
      if (tensor.external == 0 || faults.size() >= kMostFaults) continue;
      if (const std::string fault = look_at(tensor); !fault.empty()) {
        faults.push_back(diagnostic_of(loaded.source.path(),
                                       "tensor " + escaped_in_quotes(tensor.name) + ": " + fault));
      }
    }
  }
  if (!faults.empty()) return input_fault(std::move(faults));
  return sources;
}

class TfliteWriter {
 public:
  TfliteWriter(const LoadedModel& model, const Partition& partition, const TfliteChoices& choices,
               const OutputFolder& folder, const Progress& progress)
      : loaded_(model),
        model_(*model.tflite()),
        partition_(partition),
        choices_(choices),
        folder_(folder),
        progress_(progress) {}

  Result<TfliteWritten, Fault> write() {
    auto plan = plan_tflite_split(model_, loaded_.graph, partition_, choices_.lift);
    if (!plan) return refusal_of(loaded_, plan.error());
    auto sources = sources_of(loaded_);
    if (!sources) return std::move(sources).error();
    sources_ = *std::move(sources);
    const bool is_bundle = choices_.files == PartFiles::bundle;
    TfliteInit init{.variables = variables_with_start(model_, plan->lifted)};
    auto done = is_bundle ? write_bundle(*plan, init) : write_files(*plan, init);
    if (!done) return std::move(done).error();
    written_.chain =
        tflite_chain_json(model_, *plan, {partition_.names, written_.part_files, is_bundle, init});
    add_notes(*plan);
    return std::move(written_);
  }

 private:
  std::string description(const std::string& name) const {
    return name + " of " + file_name(loaded_.source.path()) + ", written by cleave";
  }

  Status<Fault> write_bundle(const TflitePlan& plan, TfliteInit& init) {
    written_.part_files.assign(partition_.count(), std::string(kBundleFile));
    if (plan.parts.empty()) return Done{};  // a file needs a subgraph
    if (!init.variables.empty()) {
      init.file = kBundleFile;
      init.signature = free_name(kInit, partition_.names);
    }
    return write_file(tflite_bundle(model_, plan, partition_.names, init, description("bundle")),
                      std::string(kBundleFile));
  }

  Status<Fault> write_files(const TflitePlan& plan, TfliteInit& init) {
    auto lifted = plan_tflite_split(model_, loaded_.graph, partition_, TfliteLift::all);
    if (!lifted) return refusal_of(loaded_, lifted.error());
    written_.part_files = part_files_of(partition_.names);
    auto done = write_parts(plan);
    if (!done) return done;
    auto root = write_file(tflite_root(model_, *lifted, partition_.names, description("root")),
                           std::string(kRootFile));
    if (!root || init.variables.empty()) return root;
    init.file = kInitFile;
    return write_file(tflite_init(model_, init.variables, description("init")), init.file);
  }

  Status<Fault> write_parts(const TflitePlan& plan) {
    std::vector<std::optional<Fault>> faults(plan.parts.size());
    const std::size_t failed = do_each(faults.size(), [&](std::size_t i) {
      const std::size_t number = index(plan.parts[i].part);
      const std::string& name = partition_.names[number];
      auto done =
          write_file(tflite_part(model_, plan.parts[i], name, description("partition " + name)),
                     written_.part_files[number]);
      if (!done) faults[i] = std::move(done).error();
      return !faults[i];
    });
    if (failed < faults.size()) return *std::move(faults[failed]);
    return Done{};
  }

  Status<Fault> write_file(const OutTable& table, const std::string& file) {
    auto encoded = encode_tflite(table, model_);
    if (!encoded) return refusal_of(loaded_, encoded.error());
    if (encoded->is_outside) {
      const std::lock_guard lock(mutex_);
      outside_.push_back(file);
    }
    const auto told = [this](std::uint64_t bytes) {
      const std::lock_guard lock(mutex_);
      bytes_written_ += bytes;
      tell(progress_, {"writing", "bytes", bytes_written_,
                       std::max<std::uint64_t>(bytes_written_, 2 * loaded_.source.size())});
    };
    return write_pieces(encoded->pieces, sources_,
                        {folder_.path_of(file), folder_.final_path() + "/" + file}, told);
  }

  // What other signatures do to the variables is in no file that is written.
  void add_signatures_note() {
    std::vector<std::string_view> keys = signature_keys(model_);
    std::erase(keys, model_.signature.bytes(tfl::signature::key));
    if (keys.empty()) return;
    const bool has_state = !model_.state.variables.empty() || !model_.state.whole.empty();
    written_.notes.push_back(
        std::string(keys.size() == 1 ? "signature " : "signatures ") + key_list(keys) +
        (keys.size() == 1 ? " is" : " are") + " in none of the files" +
        (has_state ? ": to begin anew, load them again, or give the state's first values" : ""));
  }

  void add_notes(const TflitePlan& plan) {
    add_signatures_note();
    if (plan.parts.empty()) {
      written_.notes.emplace_back(
          "there is no operator to put into a partition: root.tflite is the whole model");
      return;
    }
    if (!plan.lifted.empty()) {
      const std::size_t count = plan.lifted.size();
      const std::string why = choices_.lift == TfliteLift::all
                                  ? " kept by the caller"
                                  : " used by several partitions, so the caller keeps " +
                                        std::string(count == 1 ? "it" : "them");
      written_.notes.push_back(counted(count, "variable is", "variables are") + why +
                               " from call to call (manifest.json: \"chain\")");
    }
    const auto inside = static_cast<std::size_t>(std::ranges::count_if(
        plan.parts, [this](const TflitePart& part) { return !can_be_composite(model_, part); }));
    if (inside > 0 && choices_.files == PartFiles::one_a_part) {
      written_.notes.push_back(
          counted(inside, "partition is", "partitions are") +
          " no composite of root.tflite, but part of its main subgraph: LiteRT "
          "would lose state or sizes in it, or refuse it");
    }
    if (outside_.empty()) return;
    std::ranges::sort(outside_);
    const std::string names = joined(outside_);
    written_.notes.push_back(
        "the weights of " + names +
        " are behind the flatbuffer, which may have 2 GiB at most: LiteRT reads that, OpenVINO and "
        "LiteRT for Microcontrollers do not");
  }

  const LoadedModel& loaded_;
  const TfliteModel& model_;
  const Partition& partition_;
  TfliteChoices choices_;
  const OutputFolder& folder_;
  const Progress& progress_;
  std::vector<ByteSource> sources_;
  TfliteWritten written_;
  std::mutex mutex_;  // of what follows
  std::uint64_t bytes_written_ = 0;
  std::vector<std::string> outside_;  // files with weights behind the flatbuffer
};

}  // namespace

Result<TfliteWritten, Fault> write_tflite_split(const LoadedModel& model,
                                                const Partition& partition,
                                                const TfliteChoices& choices,
                                                const OutputFolder& folder,
                                                const Progress& progress) {
  return TfliteWriter(model, partition, choices, folder, progress).write();
}

namespace {

// Whether the caller wants to give what a variable holds, and so keeps the state.
bool begins_at_variable(const TfliteModel& model, const PieceEnds& ends) {
  return std::ranges::any_of(ends.from, [&](ValueId value) {
    return std::ranges::any_of(model.state.variables, [&](const TfliteVariable& variable) {
      return variable.value == model.tensors[index(value)];
    });
  });
}

// The part with the inputs and outputs that were asked for, and what else it reads.
void put_ends(const TfliteModel& model, const PieceEnds& ends, TflitePart& part) {
  std::vector<std::uint32_t> inputs, outputs;
  for (const ValueId value : ends.from) inputs.push_back(model.tensors[index(value)]);
  for (const ValueId value : ends.to) outputs.push_back(model.tensors[index(value)]);
  const std::set<std::uint32_t> asked(inputs.begin(), inputs.end());
  std::ranges::copy_if(part.inputs, std::back_inserter(inputs),
                       [&](std::uint32_t tensor) { return !asked.contains(tensor); });
  part.inputs = std::move(inputs);
  part.outputs = std::move(outputs);
}

}  // namespace

Status<Fault> write_tflite_piece(const LoadedModel& model, const Partition& piece, TfliteLift lift,
                                 const OutputPath& output, const PieceEnds* ends) {
  const TfliteModel& source = *model.tflite();
  const bool is_given = ends != nullptr && begins_at_variable(source, *ends);
  auto plan = plan_tflite_split(source, model.graph, piece, is_given ? TfliteLift::all : lift);
  if (!plan) return refusal_of(model, plan.error());
  if (ends != nullptr) put_ends(source, *ends, plan->parts.front());
  const auto sources = sources_of(model);
  if (!sources) return sources.error();
  const std::string& name = piece.names.front();
  auto encoded = encode_tflite(
      tflite_part(source, plan->parts.front(), name,
                  name + " of " + file_name(model.source.path()) + ", written by cleave"),
      source);
  if (!encoded) return refusal_of(model, encoded.error());
  return write_pieces(encoded->pieces, *sources, output);
}

}  // namespace cleave
