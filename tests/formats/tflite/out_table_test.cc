#include "formats/tflite/tflite.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "formats/tflite/internal.h"
#include "tests/catch2.h"
#include "tests/formats/tflite/flat_model.h"

namespace cleave {

namespace {

ShapeBindings of_signature(const std::string& signature) {
  return {.dims = {}, .inputs = {}, .signature = signature};
}

// Each node a partition of its own: p0, p1, ...
Partition one_each(const Graph& graph) {
  PerNode<PartId> part_of(graph.node_count());
  std::vector<std::string> names;
  for (const NodeId node : graph.nodes()) {
    part_of[node] = PartId{index(node)};
    names.push_back("p" + std::to_string(index(node)));
  }
  return make_partition(std::move(part_of), std::move(names), {});
}

std::vector<std::string> names_of(const TfliteModel& model,
                                  const std::vector<std::uint32_t>& tensors) {
  std::vector<std::string> names;
  for (const std::uint32_t tensor : tensors)
    names.emplace_back(model.subgraph().tensors[tensor].name);
  return names;
}

TEST_CASE("tflite: a copy of a model has the same contents, weights at multiples of 16") {
  const TfliteRead read = read_bytes(small_model().bytes());
  OutTable copy(read.model().walk.root);
  const auto file = encode_tflite(copy, read.model());
  REQUIRE(file);
  const TfliteRead again = read_bytes(bytes_of(file->pieces, read.source.bytes()));
  CHECK(again.loaded.graph.node_count() == 2);
  const TfliteBytes& weight = again.model().buffers[1];
  CHECK(weight.size == 24);
  CHECK(weight.offset % 16 == 0);
  CHECK(again.source.bytes().substr(weight.offset, weight.size) == std::string(24, 'w'));
}

TEST_CASE("tflite: a partition has only what it needs") {
  const TfliteRead read = read_bytes(small_model().bytes());
  const auto plan = plan_tflite_split(read.model(), read.loaded.graph, one_each(read.loaded.graph),
                                      TfliteLift::shared);
  REQUIRE(plan);
  CHECK(names_of(read.model(), plan->parts[0].inputs) == std::vector<std::string>{"x"});
  CHECK(names_of(read.model(), plan->parts[0].outputs) == std::vector<std::string>{"net/conv"});
  const auto file =
      encode_tflite(tflite_part(read.model(), plan->parts[1], "p1", "test"), read.model());
  REQUIRE(file);
  const TfliteRead part = read_bytes(bytes_of(file->pieces, read.source.bytes()));
  CHECK(part.model().subgraph().tensors.size() == 2);
  CHECK(part.model().buffers.size() == 1);
  CHECK(part.model().codes.size() == 1);
  CHECK(part.loaded.graph.op(NodeId{0}) == "RELU");
}

TEST_CASE("tflite: a variable of one partition stays there, one of several goes to the caller") {
  const TfliteRead read = read_bytes(model_with_state().bytes());
  const Graph& graph = read.loaded.graph;
  const auto native = plan_tflite_split(read.model(), graph, one_each(graph), TfliteLift::shared);
  REQUIRE(native);
  CHECK(native->lifted.empty());
  REQUIRE(native->parts[0].variables.size() == 1);
  const auto file =
      encode_tflite(tflite_part(read.model(), native->parts[0], "p0", "test"), read.model());
  REQUIRE(file);
  const TfliteRead part = read_bytes(bytes_of(file->pieces, read.source.bytes()));
  CHECK(part.model().state.variables.size() == 1);
  CHECK(part.model().subgraph().operators.size() == 5);

  const auto lifted = plan_tflite_split(read.model(), graph, one_each(graph), TfliteLift::all);
  REQUIRE(lifted);
  CHECK(lifted->lifted.size() == 1);
  CHECK(names_of(read.model(), lifted->parts[0].inputs) == std::vector<std::string>{"x", "before"});
  const auto init = encode_tflite(tflite_init(read.model(), {0}, "test"), read.model());
  REQUIRE(init);
  const TfliteRead first = read_bytes(bytes_of(init->pieces, read.source.bytes()));
  CHECK(first.model().subgraph().operators.empty());
  CHECK(first.loaded.graph.value(first.loaded.graph.outputs()[0]).name == "before");
}

TEST_CASE("tflite: the root calls each partition as a composite and keeps the state") {
  const TfliteRead read = read_bytes(model_with_state().bytes());
  const Graph& graph = read.loaded.graph;
  const auto plan = plan_tflite_split(read.model(), graph, one_each(graph), TfliteLift::all);
  REQUIRE(plan);
  const auto file =
      encode_tflite(tflite_root(read.model(), *plan, {"p0", "p1"}, "test"), read.model());
  REQUIRE(file);
  const TfliteRead root = read_bytes(bytes_of(file->pieces, read.source.bytes()));
  REQUIRE(root.loaded.graph.node_count() == 2);
  CHECK(root.loaded.graph.op(NodeId{0}) == "STABLEHLO_COMPOSITE");
  CHECK(root.loaded.graph.body_nodes(NodeId{0}).size() == 1);
  CHECK(root.model().state.variables.size() == 1);
}

TEST_CASE("tflite: a partition that asks for a shape is no composite of the root") {
  FlatModel model;
  model.begin_subgraph("main");
  const std::int32_t x = model.tensor("x", {1, 4});
  const std::int32_t sizes = model.tensor("sizes", {2}, kInt32);
  const std::int32_t y = model.tensor("y", {1, 4});
  model.op(schema_operator("SHAPE"), {x}, {sizes});
  model.op(schema_operator("RESHAPE"), {x, sizes}, {y});
  model.set_ends({x}, {y});
  const TfliteRead read = read_bytes(model.bytes());
  const Graph& graph = read.loaded.graph;
  const auto plan = plan_tflite_split(read.model(), graph, one_each(graph), TfliteLift::all);
  REQUIRE(plan);
  CHECK(!can_be_composite(read.model(), plan->parts[0]));
  CHECK(can_be_composite(read.model(), plan->parts[1]));
}

// x -> ADD, which keeps "a" -> sum -> MUL, which keeps "b" -> y; both are set up by one subgraph.
FlatModel model_with_two_variables() {
  FlatModel model;
  const auto handle = [&](std::string_view name) {
    const std::int32_t made = model.tensor(std::string(name) + "_handle", {}, kResource);
    OutTable options(schema_table("VarHandleOptions"));
    options.set(tfl::variable::shared_name, name);
    model.op(schema_operator("VAR_HANDLE"), {}, {made})
        .set(tfl::op::builtin_options, std::move(options));
    return made;
  };
  model.begin_subgraph("main");
  std::int32_t last = model.tensor("x", {1, 4});
  const std::int32_t x = last;
  OutTable call(schema_table("CallOnceOptions"));
  call.set(tfl::call_once_subgraph, std::int64_t{1});
  model.op(schema_operator("CALL_ONCE"), {}, {}).set(tfl::op::builtin_options, std::move(call));
  for (const std::string& name : {std::string("a"), std::string("b")}) {
    const std::int32_t its = handle(name);
    const std::int32_t before = model.tensor(name + "_before", {1, 4});
    model.op(schema_operator("READ_VARIABLE"), {its}, {before});
    const std::int32_t after = model.tensor(name == "a" ? "sum" : "y", {1, 4});
    model.op(name == "a" ? schema_operator("ADD") : schema_operator("MUL"), {before, last},
             {after});
    model.op(schema_operator("ASSIGN_VARIABLE"), {its, after}, {});
    last = after;
  }
  model.set_ends({x}, {last});
  model.begin_subgraph("init");
  for (const std::string& name : {std::string("a"), std::string("b")}) {
    const std::int32_t its = handle(name);
    const std::int32_t zeros =
        model.tensor(name + "_zeros", {1, 4}, kFloat32, model.buffer(std::string(16, '\0')));
    model.op(schema_operator("ASSIGN_VARIABLE"), {its, zeros}, {});
  }
  model.set_ends({}, {});
  return model;
}

TEST_CASE("tflite: a bundle has a signature for each partition, which keeps its own variables") {
  const TfliteRead read = read_bytes(model_with_two_variables().bytes());
  const Graph& graph = read.loaded.graph;
  const auto plan = plan_tflite_split(read.model(), graph, one_each(graph), TfliteLift::shared);
  REQUIRE(plan);
  REQUIRE(plan->lifted.empty());
  const auto file =
      encode_tflite(tflite_bundle(read.model(), *plan, {"p0", "p1"}, {}, "test"), read.model());
  REQUIRE(file);
  const std::string bytes = bytes_of(file->pieces, read.source.bytes());
  for (const auto& [key, op, variable] :
       {std::tuple{"p0", "ADD", "a"}, std::tuple{"p1", "MUL", "b"}}) {
    const TfliteRead part = read_bytes(bytes, of_signature(key));
    REQUIRE(part.loaded.graph.node_count() == 1);
    CHECK(part.loaded.graph.op(NodeId{0}) == op);
    REQUIRE(part.model().state.variables.size() == 1);
    CHECK(part.model().state.variables[0].shared_name == variable);
    // Its own subgraph sets it up: the handle, and what is written to it.
    const TfliteOperator& call =
        part.model().subgraph().operators[part.model().state.variables[0].init_call];
    const auto init = static_cast<std::size_t>(bodies_of(call).front().subgraph);
    CHECK(part.model().subgraphs[init].operators.size() == 2);
  }
}

TEST_CASE("tflite: a bundle has the first values of variables that the caller keeps") {
  const TfliteRead read = read_bytes(model_with_state().bytes());
  const Graph& graph = read.loaded.graph;
  const auto plan = plan_tflite_split(read.model(), graph, one_each(graph), TfliteLift::all);
  REQUIRE(plan);
  const TfliteInit init{.variables = {0}, .file = "bundle.tflite", .signature = "first"};
  const auto file =
      encode_tflite(tflite_bundle(read.model(), *plan, {"p0", "p1"}, init, "test"), read.model());
  REQUIRE(file);
  const std::string bytes = bytes_of(file->pieces, read.source.bytes());
  const TfliteRead first = read_bytes(bytes, of_signature("first"));
  CHECK(first.model().subgraph().operators.empty());
  CHECK(first.loaded.graph.value(first.loaded.graph.outputs()[0]).name == "before");
  CHECK(read_bytes(bytes).loaded.graph.op(NodeId{0}) == "ADD");
  CHECK(read_bytes(bytes, of_signature("p1")).loaded.graph.op(NodeId{0}) == "TANH");
  const SourceFile source = SourceFile::from_text("m.tflite", bytes);
  const auto other = read_tflite_model(source, ModelLimits{}, "nope");
  REQUIRE(!other);
  CHECK(other.error().front().message ==
        "has no signature \"nope\"; it has \"p0\", \"p1\", \"first\"");
}

TEST_CASE("tflite: a name that a tensor and a signature have is stored once") {
  const TfliteRead read = read_bytes(small_model().bytes());
  const auto plan = plan_tflite_split(read.model(), read.loaded.graph, one_each(read.loaded.graph),
                                      TfliteLift::shared);
  REQUIRE(plan);
  const auto file =
      encode_tflite(tflite_part(read.model(), plan->parts[1], "p1", "test"), read.model());
  REQUIRE(file);
  const std::string bytes = bytes_of(file->pieces, read.source.bytes());
  const std::size_t at = bytes.find("net/conv");
  REQUIRE(at != bytes.npos);
  CHECK(bytes.find("net/conv", at + 1) == bytes.npos);
}

TEST_CASE("tflite: an axis that a tensor does not have is not written for a single scale") {
  FlatModel model = small_model();
  OutTable quantization(schema_table("QuantizationParameters"));
  quantization.set(tfl::quantization::scale, std::string_view("\0\0\0\x3f", 4));  // 0.5
  quantization.set(tfl::quantization::zero_point, std::string_view("\0\0\0\0\0\0\0\0", 8));
  quantization.set(tfl::quantization::dimension, std::int64_t{7});
  model.tensor_table(0).set(tfl::tensor::quantization, std::move(quantization));
  const TfliteRead read = read_bytes(model.bytes());
  CHECK(scales_of_no_axis(read.model().subgraph().tensors[0]) == 1);
  REQUIRE(read.loaded.warnings.size() == 1);
  CHECK(read.loaded.warnings[0].message ==
        "1 tensor is quantised along an axis that it does not have, the first is \"x\": LiteRT 2.3 "
        "and later refuse such a model, but take its partitions, which are written without");
  const auto plan = plan_tflite_split(read.model(), read.loaded.graph, one_each(read.loaded.graph),
                                      TfliteLift::shared);
  REQUIRE(plan);
  const auto file =
      encode_tflite(tflite_part(read.model(), plan->parts[0], "p0", "test"), read.model());
  REQUIRE(file);
  const TfliteRead part = read_bytes(bytes_of(file->pieces, read.source.bytes()));
  CHECK(part.loaded.warnings.empty());
  const FlatTable written =
      part.model().subgraph().tensors[0].table.table(tfl::tensor::quantization);
  CHECK(written.numbers<float>(tfl::quantization::scale)[0] == 0.5F);
}

TEST_CASE("tflite: a table with fields of a newer schema is not written") {
  const SourceFile source = SourceFile::from_text("m.tflite", small_model().bytes());
  TfliteModel model = *read_tflite_model(source, ModelLimits{});
  const FlatTable op = model.walk.root.tables(tfl::model::operator_codes)[0];
  model.walk.unknown.push_back({op.at(), op.type(), 14});
  const auto file = encode_tflite(OutTable(model.walk.root), model);
  REQUIRE(!file);
  CHECK(file.error().message ==
        "field 14 of OperatorCode is newer than this cleave, so that no partition can have it");
}

// ---- any table of the schema, with any values ----

using Random = std::mt19937;

std::size_t any_below(Random& random, std::size_t bound) { return random() % bound; }

std::int64_t random_number(Random& random, const SchemaField& field) {
  if (field.kind == SchemaKind::boolean) return static_cast<std::int64_t>(any_below(random, 2));
  const int bits = 8 * field.width;
  const std::int64_t top = bits == 64 ? INT64_MAX : (std::int64_t{1} << (bits - 1)) - 1;
  const std::int64_t most = field.is_signed || bits == 64 ? top : 2 * top + 1;
  const std::int64_t least = field.is_signed ? -top - 1 : 0;
  const std::int64_t some[] = {0, 1, 2, 7, most, least, most / 3};
  return some[any_below(random, std::size(some))];
}

// A table with random fields, and tables in it up to the depth.
OutTable random_table(Random& random, SchemaTableId type, int depth) {
  OutTable table(type);
  const SchemaTable& schema = kSchemaTables[type];
  for (SchemaFieldId f = schema.first; f < schema.first + schema.count; ++f) {
    const SchemaField& field = kSchemaFields[f];
    const bool is_table = field.kind == SchemaKind::table || field.kind == SchemaKind::variant;
    if (f == tfl::buffer::offset || f == tfl::buffer::size) continue;  // the writer's own
    if (any_below(random, 3) == 0 || (is_table && depth == 0)) continue;
    if (field.kind == SchemaKind::variant) {
      const SchemaUnion& members = kSchemaUnions[field.type];
      const auto member = kSchemaMembers[members.first + any_below(random, members.count)];
      table.set(f, random_table(random, member, depth - 1));
    } else if (field.kind == SchemaKind::table && field.is_vector) {
      std::vector<OutTable> items;
      for (std::size_t i = any_below(random, 4); i > 0; --i) {
        items.push_back(random_table(random, field.type, depth - 1));
      }
      table.set(f, std::move(items));
    } else if (field.kind == SchemaKind::table) {
      table.set(f, random_table(random, field.type, depth - 1));
    } else if (field.kind == SchemaKind::string || field.is_vector) {
      const std::size_t width = field.kind == SchemaKind::string ? 1 : field.width;
      std::string bytes;
      for (std::size_t i = width * any_below(random, 20); i > 0; --i) {
        bytes += static_cast<char>('a' + any_below(random, 3));
      }
      table.set(f, std::string_view(bytes));
    } else {
      table.set(f, random_number(random, field));
    }
  }
  return table;
}

// What a table holds: of tables that are made, and of those that are read.
std::string contents(const OutTable& table) {
  std::string text(kSchemaTables[table.type()].name);
  const SchemaTable& schema = kSchemaTables[table.type()];
  for (SchemaFieldId f = schema.first; f < schema.first + schema.count; ++f) {
    const OutTable::Value* const value = table.find(f);
    text += ' ';
    if (value == nullptr) {
      if (kSchemaFields[f].kind < SchemaKind::string && !kSchemaFields[f].is_vector) {
        text += std::to_string(static_cast<std::int64_t>(kSchemaFields[f].default_value));
      }
    } else if (const auto* const number = std::get_if<std::int64_t>(value)) {
      text += std::to_string(*number);
    } else if (const auto* const bytes = std::get_if<std::string>(value)) {
      text += '"' + *bytes + '"';
    } else {
      for (const OutTable& inner : std::get<std::vector<OutTable>>(*value)) {
        text += '(' + contents(inner) + ')';
      }
    }
  }
  return text;
}

// The number as the bytes have it; reals are made from the bits of numbers.
std::int64_t number_in(const FlatTable& table, SchemaFieldId f) {
  const SchemaField& field = kSchemaFields[f];
  if (field.kind != SchemaKind::real || !table.has(f)) return table.integer(f);
  if (field.width == 8) return load_flat<std::int64_t>(table.file(), table.place_of(f));
  const auto bits = load_flat<std::int32_t>(table.file(), table.place_of(f));
  const auto real = std::bit_cast<float>(bits);
  if (!std::isnan(real)) CHECK(table.real(f) == double{real});
  return bits;
}

std::string contents(const FlatTable& table) {
  std::string text(kSchemaTables[table.type()].name);
  const SchemaTable& schema = kSchemaTables[table.type()];
  for (SchemaFieldId f = schema.first; f < schema.first + schema.count; ++f) {
    const SchemaField& field = kSchemaFields[f];
    const bool is_string = field.kind == SchemaKind::string;
    text += ' ';
    if (field.kind < SchemaKind::string && !field.is_vector) {
      text += std::to_string(number_in(table, f));
      if (table.has(f)) CHECK(table.place_of(f) % field.width == 0);
    } else if (field.kind == SchemaKind::table && field.is_vector) {
      const FlatTables tables = table.tables(f);
      for (std::uint32_t i = 0; i < tables.size(); ++i) text += '(' + contents(tables[i]) + ')';
    } else if (!is_string && !field.is_vector) {
      if (table.has(f)) text += '(' + contents(table.table(f)) + ')';
    } else if (table.has(f)) {
      const std::uint64_t at = table.target_of(f) + 4;
      const std::size_t count = load_flat<std::uint32_t>(table.file(), at - 4);
      const std::size_t width = is_string ? 1 : field.width;
      CHECK(at % (is_string ? 4 : field.width == 1 ? 16 : std::max<std::size_t>(4, width)) == 0);
      if (is_string) CHECK(table.bytes(f).size() == count);
      text += '"' + std::string(table.file().substr(at, width * count)) + '"';
    }
  }
  return text;
}

TEST_CASE("tflite: any table of the schema is read as it was written, and so is a copy of it") {
  Random random(7);
  for (SchemaTableId type = 0; type < std::size(kSchemaTables); ++type) {
    for (int i = 0; i < 6; ++i) {
      const OutTable made = random_table(random, type, 2);
      const auto file = encode_tflite(made, TfliteModel{});
      REQUIRE(file);
      CHECK_FALSE(file->is_outside);
      const std::string bytes = bytes_of(file->pieces, {});
      CHECK(bytes.size() % 16 == 0);
      TfliteModel model;
      auto walk = walk_flatbuffer(bytes, type);
      if (!walk) FAIL(walk.error());
      CHECK(walk->unknown.empty());
      CHECK(walk->end <= bytes.size());
      CHECK(contents(walk->root) == contents(made));
      model.walk = *std::move(walk);
      const auto copy = encode_tflite(OutTable(model.walk.root), model);
      REQUIRE(copy);
      const std::string again = bytes_of(copy->pieces, bytes);
      const auto second = walk_flatbuffer(again, type);
      if (!second) FAIL(second.error());
      CHECK(contents(second->root) == contents(made));
      // Every second field is left out of another copy.
      OutTable half(model.walk.root);
      OutTable expected(type);
      const SchemaTable& schema = kSchemaTables[type];
      for (SchemaFieldId f = schema.first; f < schema.first + schema.count; ++f) {
        if (f % 2 == 0) half.drop(f);
        const OutTable::Value* const value = made.find(f);
        if (f % 2 == 0 || value == nullptr) continue;
        std::visit(
            [&](const auto& kept) {
              using Kept = std::decay_t<decltype(kept)>;
              if constexpr (std::is_same_v<Kept, std::string>) {
                expected.set(f, std::string_view(kept));
              } else if constexpr (std::is_same_v<Kept, std::int64_t> ||
                                   std::is_same_v<Kept, std::vector<OutTable>>) {
                expected.set(f, kept);
              }
            },
            *value);
      }
      const auto partial = encode_tflite(half, model);
      REQUIRE(partial);
      const std::string rest = bytes_of(partial->pieces, bytes);
      const auto third = walk_flatbuffer(rest, type);
      if (!third) FAIL(third.error());
      CHECK(contents(third->root) == contents(expected));
    }
  }
}

std::size_t times_in(const std::string& bytes, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = bytes.find(text); at != bytes.npos; at = bytes.find(text, at + 1)) ++count;
  return count;
}

TEST_CASE("tflite: strings of up to 59 bytes are stored once for up to three tables") {
  for (std::size_t tables = 1; tables <= 7; ++tables) {
    CAPTURE(tables);
    FlatModel model;
    model.begin_subgraph("main");
    for (std::size_t i = 0; i < tables; ++i) model.tensor("shared_name", {1});
    CHECK(times_in(model.bytes(), "shared_name") == (tables + 2) / 3);
  }
  for (const auto& [length, count] :
       {std::pair<std::size_t, std::size_t>{58, 1}, {59, 1}, {60, 3}}) {
    FlatModel model;
    model.begin_subgraph("main");
    const std::string name = "<" + std::string(length - 2, 'n') + ">";
    for (int i = 0; i < 3; ++i) model.tensor(name, {1});
    CHECK(times_in(model.bytes(), name) == count);
  }
}

TEST_CASE("tflite: vectors of 4096 bytes and more are copied from the file, not held in memory") {
  const auto copied = [](std::size_t size) {
    FlatModel model;
    model.begin_subgraph("main");
    const std::int32_t x = model.tensor("x", {1}), y = model.tensor("y", {1});
    model.op(schema_operator("CUSTOM"), {x}, {y})
        .set(schema_field("Operator", "custom_options"), std::string_view(std::string(size, 'o')));
    model.set_ends({x}, {y});
    const TfliteRead read = read_bytes(model.bytes());
    const auto file = encode_tflite(OutTable(read.model().walk.root), read.model());
    REQUIRE(file);
    CHECK(times_in(bytes_of(file->pieces, read.source.bytes()), std::string(size, 'o')) == 1);
    std::uint64_t from_file = 0;
    for (const BytePieces::Piece& piece : file->pieces.pieces()) {
      if (piece.source != BytePieces::kMade) from_file += piece.length;
    }
    return from_file;
  };
  CHECK(copied(4095) == 0);
  CHECK(copied(4096) == 4096);
}

TEST_CASE("tflite: weights lie behind the tables where a flatbuffer would pass 2 GiB") {
  const auto encoded = [](std::uint64_t size) {
    OutTable buffer(schema_table("Buffer"));
    buffer.set(tfl::buffer::data, TfliteBytes{5, size});
    OutTable small(schema_table("Buffer"));
    small.set(tfl::buffer::data, TfliteBytes{5, 3});
    OutTable root(schema_table("Model"));
    std::vector<OutTable> buffers;
    buffers.push_back(std::move(buffer));
    buffers.push_back(std::move(small));
    root.set(tfl::model::buffers, std::move(buffers));
    auto file = encode_tflite(root, TfliteModel{});
    REQUIRE(file);
    return *std::move(file);
  };
  // The last byte of the second weights' end, without the blanks behind it.
  const auto end_of = [](const OutFile& file) {
    std::uint64_t at = 0, end = 0;
    for (const BytePieces::Piece& piece : file.pieces.pieces()) {
      at += piece.length;
      if (piece.source != BytePieces::kMade) end = at;
    }
    return end;
  };
  const std::uint64_t most = 0x7fffffff;
  const std::uint64_t beside = end_of(encoded(16)) - 16;
  const std::uint64_t fits = (most - beside) / 16 * 16;
  CHECK_FALSE(encoded(fits).is_outside);
  CHECK(end_of(encoded(fits)) <= most);
  CHECK(encoded(fits + 16).is_outside);
  const OutFile outside = encoded(fits + 16);
  const std::string tables(outside.pieces.made());
  const auto walk = walk_flatbuffer(tables, schema_table("Model"));
  REQUIRE(walk);
  const FlatTables buffers = walk->root.tables(tfl::model::buffers);
  REQUIRE(buffers.size() == 2);
  CHECK_FALSE(buffers[0].has(tfl::buffer::data));
  CHECK(buffers[0].integer(tfl::buffer::size) == static_cast<std::int64_t>(fits + 16));
  CHECK(buffers[0].integer(tfl::buffer::offset) % 16 == 0);
  CHECK(buffers[1].integer(tfl::buffer::size) == 3);
  CHECK(buffers[1].integer(tfl::buffer::offset) ==
        (buffers[0].integer(tfl::buffer::offset) + static_cast<std::int64_t>(fits) + 16 + 15) / 16 *
            16);
  CHECK(outside.pieces.size() % 16 == 0);
}

}  // namespace

}  // namespace cleave
