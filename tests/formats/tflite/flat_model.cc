#include "tests/formats/tflite/flat_model.h"

#include <algorithm>

#include "formats/tflite/tflite.h"
#include "tests/catch2.h"

namespace cleave {

FlatModel::FlatModel() : root_(schema_table("Model")) {
  buffers_.emplace_back(schema_table("Buffer"));
  root_.set(tfl::model::version, std::int64_t{3});
}

void FlatModel::begin_subgraph(std::string_view name) {
  subgraphs_.push_back({OutTable(schema_table("SubGraph")), {}, {}});
  subgraphs_.back().table.set(tfl::subgraph::name, name);
}

std::uint32_t FlatModel::buffer(std::string bytes) {
  OutTable table(schema_table("Buffer"));
  table.set(tfl::buffer::data, std::string_view(bytes));
  buffers_.push_back(std::move(table));
  return static_cast<std::uint32_t>(buffers_.size() - 1);
}

std::int32_t FlatModel::tensor(std::string_view name, std::vector<std::int32_t> shape,
                               std::uint8_t type, std::uint32_t in_buffer) {
  OutTable table(schema_table("Tensor"));
  table.set(tfl::tensor::name, name);
  table.set(tfl::tensor::shape, std::move(shape));
  table.set(tfl::tensor::type, std::int64_t{type});
  table.set(tfl::tensor::buffer, std::int64_t{in_buffer});
  subgraphs_.back().tensors.push_back(std::move(table));
  return static_cast<std::int32_t>(subgraphs_.back().tensors.size() - 1);
}

OutTable& FlatModel::tensor_table(std::int32_t tensor) {
  return subgraphs_.back().tensors[static_cast<std::size_t>(tensor)];
}

void FlatModel::move_out(std::int32_t tensor, std::uint32_t id, std::string_view file,
                         std::uint64_t offset, std::uint64_t length, std::string_view packing) {
  OutTable& table = tensor_table(tensor);
  table.drop(tfl::tensor::buffer);
  table.set(tfl::tensor::external_buffer, std::int64_t{id});
  OutTable named(schema_table("ExternalBufferGroup"));
  named.set(tfl::external::file, file);
  OutTable external(schema_table("ExternalBuffer"));
  external.set(tfl::external::id, std::int64_t{id});
  external.set(tfl::external::group, static_cast<std::int64_t>(files_.size()));
  external.set(tfl::external::offset, static_cast<std::int64_t>(offset));
  external.set(tfl::external::length, static_cast<std::int64_t>(length));
  if (!packing.empty()) external.set(tfl::external::packing, packing);
  files_.push_back(std::move(named));
  external_.push_back(std::move(external));
}

OutTable& FlatModel::op(std::uint32_t code, std::vector<std::int32_t> inputs,
                        std::vector<std::int32_t> outputs) {
  const auto known = std::find(code_numbers_.begin(), code_numbers_.end(), code);
  const std::int64_t number = known - code_numbers_.begin();
  if (known == code_numbers_.end()) {
    code_numbers_.push_back(code);
    OutTable made(schema_table("OperatorCode"));
    made.set(tfl::code::deprecated_builtin_code, std::int64_t{std::min(code, 127U)});
    made.set(tfl::code::builtin_code, std::int64_t{code});
    codes_.push_back(std::move(made));
  }
  OutTable table(schema_table("Operator"));
  table.set(tfl::op::opcode_index, number);
  table.set(tfl::op::inputs, std::move(inputs));
  table.set(tfl::op::outputs, std::move(outputs));
  subgraphs_.back().operators.push_back(std::move(table));
  return subgraphs_.back().operators.back();
}

void FlatModel::set_ends(std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs) {
  subgraphs_.back().table.set(tfl::subgraph::inputs, std::move(inputs));
  subgraphs_.back().table.set(tfl::subgraph::outputs, std::move(outputs));
}

std::string FlatModel::bytes() {
  std::vector<OutTable> subgraphs;
  for (const Subgraph& one : subgraphs_) {
    subgraphs.push_back(one.table);
    subgraphs.back().set(tfl::subgraph::tensors, one.tensors);
    subgraphs.back().set(tfl::subgraph::operators, one.operators);
  }
  OutTable root = root_;
  root.set(tfl::model::operator_codes, codes_);
  root.set(tfl::model::subgraphs, std::move(subgraphs));
  root.set(tfl::model::buffers, buffers_);
  if (!external_.empty()) {
    root.set(tfl::model::external_buffer_groups, files_);
    root.set(tfl::model::external_buffers, external_);
  }
  const TfliteModel none;
  const auto file = encode_tflite(root, none);
  return bytes_of(file->pieces, {});
}

std::string bytes_of(const BytePieces& pieces, std::string_view source) {
  std::string bytes;
  for (const BytePieces::Piece& piece : pieces.pieces()) {
    const std::string_view from = piece.source == BytePieces::kMade ? pieces.made() : source;
    bytes += from.substr(piece.offset, piece.length);
  }
  return bytes;
}

TfliteRead read_bytes(const std::string& bytes, const ShapeBindings& bindings) {
  SourceFile source = SourceFile::from_text("m.tflite", bytes);
  auto loaded = read_tflite(source, bindings);
  if (!loaded) FAIL(loaded.error().front().message);
  return {std::move(source), *std::move(loaded)};
}

std::string fault_of_tflite(std::string_view bytes, const ModelLimits& limits) {
  const SourceFile source = SourceFile::from_text("m.tflite", bytes);
  const auto read = read_tflite(source, {}, limits);
  return read ? std::string() : read.error().front().message;
}

FlatModel small_model() {
  FlatModel model;
  model.begin_subgraph("main");
  const std::int32_t x = model.tensor("x", {1, 4, 4, 2});
  const std::int32_t weight =
      model.tensor("net/weight", {3, 1, 1, 2}, kFloat32, model.buffer(std::string(24, 'w')));
  const std::int32_t conv = model.tensor("net/conv", {1, 4, 4, 3});
  const std::int32_t y = model.tensor("y", {1, 4, 4, 3});
  model.op(schema_operator("CONV_2D"), {x, weight, -1}, {conv});
  model.op(schema_operator("RELU"), {conv}, {y});
  model.set_ends({x}, {y});
  return model;
}

FlatModel model_with_state() {
  const auto add_handle = [](FlatModel& model) {
    const std::int32_t handle = model.tensor("handle", {}, kResource);
    OutTable options(schema_table("VarHandleOptions"));
    options.set(tfl::variable::shared_name, "counter");
    model.op(schema_operator("VAR_HANDLE"), {}, {handle})
        .set(tfl::op::builtin_options, std::move(options));
    return handle;
  };
  FlatModel model;
  model.begin_subgraph("main");
  const std::int32_t x = model.tensor("x", {1, 4});
  OutTable call(schema_table("CallOnceOptions"));
  call.set(tfl::call_once_subgraph, std::int64_t{1});
  model.op(schema_operator("CALL_ONCE"), {}, {}).set(tfl::op::builtin_options, std::move(call));
  const std::int32_t handle = add_handle(model);
  const std::int32_t before = model.tensor("before", {1, 4});
  model.op(schema_operator("READ_VARIABLE"), {handle}, {before});
  const std::int32_t sum = model.tensor("sum", {1, 4});
  model.op(schema_operator("ADD"), {before, x}, {sum});
  model.op(schema_operator("ASSIGN_VARIABLE"), {handle, sum}, {});
  const std::int32_t y = model.tensor("y", {1, 4});
  model.op(schema_operator("TANH"), {sum}, {y});
  model.set_ends({x}, {y});
  model.begin_subgraph("init");
  const std::int32_t its = add_handle(model);
  const std::int32_t zeros =
      model.tensor("zeros", {1, 4}, kFloat32, model.buffer(std::string(16, '\0')));
  model.op(schema_operator("ASSIGN_VARIABLE"), {its, zeros}, {});
  model.set_ends({}, {});
  return model;
}

}  // namespace cleave
