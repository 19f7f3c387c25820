#include "formats/onnx/index/index.h"

#include <random>

#include "tests/catch2.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

namespace {

OnnxModel indexed(const SourceFile& file) {
  Loaded<OnnxModel> model = index_onnx(file);
  REQUIRE(model);
  return std::move(*model);
}

std::string refusal(std::string_view bytes) {
  Loaded<OnnxModel> model = index_onnx(SourceFile::from_text("m.onnx", bytes));
  REQUIRE(!model);
  REQUIRE(model.error().size() == 1);
  return format_diagnostic(model.error()[0]);
}

std::string field(int number, const std::string& payload) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  std::size_t size = payload.size();
  for (; size >= 128; size /= 128) out += static_cast<char>(size % 128 + 128);
  return out + static_cast<char>(size) + payload;
}

const char* const kSmall = R"(
g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1.5, 2}> {
  t = Add (x, w)
  y = Clip <alpha = 0.5, ks = [1, 2]> (t, , w)
})";

TEST_CASE("a node of the main graph is decoded from its record into the caller's memory") {
  const SourceFile file = onnx_file(kSmall);
  const OnnxModel model = indexed(file);
  const OnnxNodes& nodes = model.graph.nodes;
  REQUIRE(nodes.size() == 2);
  OnnxNode room;
  CHECK(nodes.read(1, room).attributes.size() == 2);
  CHECK(nodes.read(0, room).op_type == "Add");
  CHECK(room.attributes.empty());
  CHECK(room.inputs == std::vector<std::string_view>{"x", "w"});
  const OnnxNode& names = nodes.read_names(1, room);
  CHECK(&names == &room);
  CHECK(names.inputs == std::vector<std::string_view>{"t", "", "w"});
  CHECK(names.attributes.empty());
  CHECK(nodes.record(1).field == names.record.field);
  CHECK(!nodes.has_bodies(1));
}

TEST_CASE("names have one number wherever they are, and nodes alike have one kind") {
  const SourceFile file = onnx_file(R"(
g (float[2] x) => (float[2] y) {
  t = Clip <alpha = 0.5> (x, , x)
  u = Clip <alpha = 0.5> (t, , t)
  v = Clip <alpha = 0.25> (u, , u)
  y = Clip <alpha = 0.5> (v, u)
})");
  const OnnxModel model = indexed(file);
  const OnnxNodes& nodes = model.graph.nodes;
  REQUIRE(nodes.size() == 4);
  CHECK(nodes.inputs(1).size() == 3);
  CHECK(nodes.inputs(1)[0] == nodes.outputs(0)[0]);
  CHECK(nodes.inputs(1)[0] == nodes.inputs(1)[2]);
  CHECK(nodes.inputs(1)[1] == OnnxNames::kEmpty);
  CHECK(nodes.names()->text(nodes.outputs(0)[0]) == "t");
  CHECK(nodes.names()->find("t") == nodes.outputs(0)[0]);
  CHECK(nodes.names()->find("w") == OnnxNames::kNone);
  CHECK(nodes.kind_number(0) == nodes.kind_number(1));
  CHECK(nodes.kind_number(0) != nodes.kind_number(2));  // another attribute
  CHECK(nodes.kind_number(0) != nodes.kind_number(3));  // other inputs
  CHECK(nodes.kind(3).op_type == "Clip");
  CHECK(!nodes.kind(0).has_own_attributes);
}

TEST_CASE("nodes whose attributes hold tensors, or are long, have attributes of their own") {
  const SourceFile file = onnx_file(R"(
g (float[2] x) => (float[2] y) {
  t = Constant <value = float[2] {1.5, 2}> ()
  u = Constant <value = float[2] {1.5, 2}> ()
  y = Sum (x, t, u)
})",
                                    [](onnx::ModelProto& model) {
                                      auto* attribute =
                                          model.mutable_graph()->mutable_node(2)->add_attribute();
                                      attribute->set_name("long");
                                      attribute->set_type(onnx::AttributeProto::STRING);
                                      attribute->set_s(std::string(200, 'x'));
                                    });
  const OnnxModel model = indexed(file);
  const OnnxNodes& nodes = model.graph.nodes;
  for (std::size_t i = 0; i < 3; ++i) CHECK(nodes.kind(i).has_own_attributes);
  OnnxNode room;
  CHECK(nodes.read(1, room).attributes.size() == 1);
  CHECK(nodes.read(2, room).attributes[0].name == "long");
}

TEST_CASE("a node with bodies is stored, so that a body has one address") {
  const SourceFile file = onnx_file(R"(
g (bool c, float[N] x) => (float[N] y) {
  y = If (c) <then_branch = t () => (float[N] a) { a = Relu (x) },
              else_branch = e () => (float[N] b) { b = Neg (x) }>
})");
  const OnnxModel model = indexed(file);
  REQUIRE(model.graph.nodes.size() == 1);
  CHECK(model.graph.nodes.has_bodies(0));
  OnnxNode one, other;
  CHECK(&model.graph.nodes.read(0, one) == &model.graph.nodes.read_names(0, other));
  CHECK(model.graph.nodes.read(0, one).attributes.size() == 2);
}

TEST_CASE(
    "a node with bodies has all its attributes, in order, also those that nodes before it had") {
  const SourceFile file = onnx_file(R"(
g (bool c, float[N] x) => (float[N] y) {
  z = Neg <k = 1> (x)
  y = If (c) <k = 1, then_branch = t () => (float[N] a) { a = Relu (x) }, k2 = 2,
              else_branch = e () => (float[N] b) { b = Neg (x) }>
})");
  const OnnxModel model = indexed(file);
  OnnxNode room;
  std::string names;
  for (const OnnxAttribute& attribute : model.graph.nodes.read(1, room).attributes) {
    names += std::string(attribute.name) + " ";
  }
  CHECK(names == "k then_branch k2 else_branch ");
}

TEST_CASE("an ONNX file is indexed as views of its bytes") {
  const SourceFile file = onnx_file(kSmall);
  const OnnxModel model = indexed(file);
  CHECK(model.ir_version == 8);
  REQUIRE(model.opsets.size() == 1);
  CHECK(model.opsets[0] == std::pair<std::string_view, std::int64_t>("", 17));
  CHECK(model.graph.name == "g");
  REQUIRE(model.graph.nodes.size() == 2);
  OnnxNode room;
  const OnnxNode& clip = model.graph.nodes.read(1, room);
  CHECK(clip.op_type == "Clip");
  CHECK(clip.inputs == std::vector<std::string_view>{"t", "", "w"});
  CHECK(clip.outputs == std::vector<std::string_view>{"y"});
  REQUIRE(clip.attributes.size() == 2);
  CHECK(clip.attributes[0].name == "alpha");
  CHECK(clip.attributes[0].type == 1);
  CHECK(clip.attributes[1].type == 7);
  REQUIRE(model.graph.initializers.size() == 1);
  CHECK(model.graph.initializers[0].name == "w");
  CHECK(model.graph.initializers[0].dims == std::vector<std::int64_t>{2});
  const std::string_view bytes = file.bytes();
  CHECK(clip.record.field.data() > bytes.data());
  CHECK(clip.record.field.data() + clip.record.field.size() <= bytes.data() + bytes.size());
  CHECK(clip.record.field.substr(2) == clip.record.payload);
}

TEST_CASE("the bytes of a tensor are found in raw_data and in packed float_data") {
  const SourceFile file = onnx_file(kSmall, [](onnx::ModelProto& model) {
    auto* raw = model.mutable_graph()->add_initializer();
    raw->set_name("r");
    raw->set_data_type(7);
    raw->add_dims(1);
    raw->set_raw_data("12345678");
    auto* typed = model.mutable_graph()->add_initializer();
    typed->set_name("i");
    typed->set_data_type(7);
    typed->add_int64_data(5);
  });
  const OnnxModel model = indexed(file);
  REQUIRE(model.graph.initializers.size() == 3);
  const OnnxTensor& packed = model.graph.initializers[0];
  CHECK(packed.has_typed_data);
  CHECK(packed.raw.size() == 8);
  CHECK(model.graph.initializers[1].raw == "12345678");
  CHECK(!model.graph.initializers[1].has_typed_data);
  CHECK(model.graph.initializers[2].has_typed_data);
  CHECK(model.graph.initializers[2].raw.empty());
}

TEST_CASE("external data is recorded with its place") {
  const auto external = [](const char* key, const char* value) {
    return [=](onnx::ModelProto& model) {
      auto* tensor = model.mutable_graph()->mutable_initializer(0);
      tensor->clear_float_data();
      tensor->set_data_location(onnx::TensorProto::EXTERNAL);
      for (const auto& [k, v] : {std::pair{"location", "m.data"}, std::pair{key, value}}) {
        auto* entry = tensor->add_external_data();
        entry->set_key(k);
        entry->set_value(v);
      }
    };
  };
  const SourceFile file = onnx_file(kSmall, external("offset", "4096"));
  const OnnxModel model = indexed(file);
  const OnnxTensor& tensor = model.graph.initializers[0];
  CHECK(tensor.is_external);
  CHECK(tensor.location == "m.data");
  CHECK(tensor.offset == 4096);
  CHECK(tensor.length == 0);
  CHECK(refusal(onnx_file(kSmall, external("length", "4k")).bytes()) ==
        "m.onnx: error: external data with length \"4k\", which is not a number of bytes\n");
}

TEST_CASE("sparse tensors, bodies, functions and metadata are indexed") {
  const SourceFile file = SourceFile::from_text(
      "m.onnx", onnx_bytes(R"(
<ir_version: 10, opset_import: ["" : 17, "local" : 1]>
g (bool c, float[2] x) => (float[2] z) {
  y = If (c) <then_branch = t () => (float[2] a) { a = Relu (x) },
              else_branch = e () => (float[2] b) { b = Neg (x) }>
  z = local.f <q = 1> (y)
}
<domain: "local", opset_import: ["" : 17]>
f <q> (p) => (r) { r = Softmax <axis : int = @q> (p) })",
                           [](onnx::ModelProto& model) {
                             auto* sparse = model.mutable_graph()->add_sparse_initializer();
                             sparse->mutable_values()->set_name("s");
                             sparse->mutable_values()->set_data_type(1);
                             sparse->mutable_values()->add_dims(1);
                             sparse->mutable_values()->add_float_data(1);
                             sparse->add_dims(3);
                             sparse->add_dims(4);
                             model.add_metadata_props()->set_key("k");
                           }));
  const OnnxModel model = indexed(file);
  OnnxNode room;
  const OnnxNode& node = model.graph.nodes.read(0, room);
  REQUIRE(node.attributes.size() == 2);
  REQUIRE(node.attributes[0].graphs.size() == 1);
  CHECK(node.attributes[0].graphs[0].name == "t");
  CHECK(node.attributes[0].graphs[0].nodes[0].op_type == "Relu");
  REQUIRE(model.functions.size() == 1);
  CHECK(model.functions[0].name == "f");
  CHECK(model.functions[0].domain == "local");
  CHECK(model.functions[0].inputs == std::vector<std::string_view>{"p"});
  REQUIRE(model.functions[0].nodes.size() == 1);
  CHECK(model.functions[0].nodes[0].attributes[0].reference == "q");
  REQUIRE(model.graph.initializers.size() == 1);
  CHECK(model.graph.initializers[0].is_sparse);
  CHECK(model.graph.initializers[0].name == "s");
  CHECK(model.graph.initializers[0].dims == std::vector<std::int64_t>{3, 4});
  CHECK(model.metadata_props.size() == 1);
}

TEST_CASE("lists of numbers are read packed and unpacked") {
  std::string packed = field(1, {'\x02', '\x03'});  // dims, packed
  std::string unpacked = "\x08\x02\x08\x03";
  for (const std::string& dims : {packed, unpacked}) {
    const std::string graph = field(7, field(5, dims + field(8, "w")));
    const OnnxModel model = indexed(SourceFile::from_text("m.onnx", graph));
    CHECK(model.graph.initializers[0].dims == std::vector<std::int64_t>{2, 3});
  }
}

TEST_CASE("fields that the format does not name are kept where writers need them") {
  const std::string bytes = field(7, field(2, "g") + field(15, "")) +
                            "\xFA\x07\x03"
                            "abc";
  const SourceFile file = SourceFile::from_text("m.onnx", bytes);
  const OnnxModel model = indexed(file);
  REQUIRE(model.other_fields.size() == 1);
  CHECK(model.other_fields[0].payload == "abc");
}

TEST_CASE("files that are cut off are refused with the position") {
  const std::string bytes(onnx_file(kSmall).bytes());
  CHECK(refusal(bytes.substr(0, 60)) ==
        "m.onnx: error: truncated or damaged: the model ends early at byte 2\n");
  CHECK(refusal("\x08") == "m.onnx: error: truncated or damaged: the model ends early at byte 0\n");
  CHECK(refusal(field(7, field(1,
                               "\x0A\x09"
                               "abc"))) ==
        "m.onnx: error: truncated or damaged: a node ends early at byte 4\n");
  CHECK(refusal(field(7, "\x0B")) ==
        "m.onnx: error: truncated or damaged: a graph has bytes that are not protobuf at byte 2\n");
}

TEST_CASE("files without a graph, or with two, are refused") {
  CHECK(refusal("") ==
        "m.onnx: error: no graph in it: not an ONNX model, or cut off before its graph\n");
  CHECK(refusal(field(7, "") + field(7, "")) ==
        "m.onnx: error: two graphs, where a model has one\n");
}

TEST_CASE("files that nest bodies too deeply are refused") {
  std::string graph;
  for (int i = 0; i < 40; ++i) graph = field(1, field(5, field(6, graph)));
  CHECK(refusal(field(7, graph)) ==
        "m.onnx: error: nested deeper than 100 messages, the most that protobuf reads\n");
}

TEST_CASE("an ONNX file is recognised by its first fields") {
  CHECK(looks_like_onnx(onnx_file(kSmall).bytes()));
  CHECK(looks_like_onnx(std::string(onnx_file(kSmall).bytes().substr(0, 40))));
  CHECK(looks_like_onnx(field(2, "pytorch") + field(7, "")));
  for (const char* text :
       {"", "{\"format\": 1}", "\n", "Conv\nRelu\n", "# a list", "B\x01 plain", "\x1F\x8B\x08"}) {
    CHECK(!looks_like_onnx(text));
  }
}

TEST_CASE("damaged bytes are read or refused without a crash") {
  const std::string whole(onnx_file(kSmall).bytes());
  std::mt19937 random(7);  // NOLINT: the same bytes in every run
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = whole.substr(0, random() % (whole.size() + 1));
    for (std::size_t n = random() % 4; n > 0 && !bytes.empty(); --n) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const SourceFile file = SourceFile::from_text("m.onnx", bytes);
    looks_like_onnx(file.bytes());
    const Loaded<OnnxModel> model = index_onnx(file);
    if (!model) CHECK(model.error().size() == 1);
  }
}

}  // namespace

}  // namespace cleave
