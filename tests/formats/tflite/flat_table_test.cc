#include "formats/tflite/tflite.h"

#include <cstring>

#include "tests/catch2.h"
#include "tests/formats/tflite/flat_model.h"

namespace cleave {

namespace {

std::string fault_of_walk(std::string_view bytes) {
  const auto walk = walk_flatbuffer(bytes, schema_table("Model"));
  return walk ? std::string() : walk.error();
}

// A file of one table, Model, whose vtable has these slots behind its two sizes.
std::string with_vtable(std::vector<std::uint16_t> vtable, std::string table) {
  std::string bytes(8, '\0');
  bytes.append(reinterpret_cast<const char*>(vtable.data()), 2 * vtable.size());
  bytes.resize((bytes.size() + 3) / 4 * 4, '\0');
  const auto at = static_cast<std::uint32_t>(bytes.size());
  const std::int32_t back = static_cast<std::int32_t>(at) - 8;
  std::memcpy(bytes.data(), &at, sizeof at);
  std::memcpy(bytes.data() + 4, "TFL3", 4);
  bytes.append(reinterpret_cast<const char*>(&back), sizeof back);
  return bytes + table;
}

TEST_CASE("tflite: each end of a file that is cut off is refused") {
  const std::string whole = small_model().bytes();
  REQUIRE(fault_of_walk(whole).empty());
  std::size_t refused = 0;
  for (std::size_t size = 8; size < whole.size(); size += 4) {
    const auto walk =
        walk_flatbuffer(std::string_view(whole).substr(0, size), schema_table("Model"));
    refused += walk ? 0U : 1U;
    if (walk) CHECK(walk->end <= size);
  }
  CHECK(refused > 10);
}

TEST_CASE("tflite: changed bytes give a graph or a fault") {
  const std::string whole = model_with_state().bytes();
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\1', '\x7f', '\xff'}) {
      std::string changed = whole;
      changed[at] = value;
      refused += fault_of_tflite(changed).empty() ? 0U : 1U;
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("tflite: a root beyond the file is refused") {
  std::string bytes = small_model().bytes();
  const std::uint32_t far = 0x7ffffff0;
  std::memcpy(bytes.data(), &far, sizeof far);
  CHECK(fault_of_walk(bytes).starts_with("Model lies beyond the file's end (at byte "));
}

TEST_CASE("tflite: a vtable that is too small is refused") {
  CHECK(fault_of_walk(with_vtable({2, 4}, "")) == "the vtable of Model is malformed (at byte 8)");
  CHECK(fault_of_walk(with_vtable({6, 4, 9}, "")) ==
        "Model.version lies outside its table (at byte 25)");
}

TEST_CASE("tflite: a vtable has whole slots, and fields that lie within their table") {
  const std::string four(4, '\3');
  const std::string outside = "Model.version lies outside its table (at byte ";
  CHECK(fault_of_walk(with_vtable({4, 4}, "")).empty());
  CHECK(fault_of_walk(with_vtable({6, 8, 4}, four)).empty());
  CHECK(fault_of_walk(with_vtable({6, 9, 5}, four + "5")).empty());
  CHECK(fault_of_walk(with_vtable({6, 8, 0}, four)).empty());
  CHECK(fault_of_walk(with_vtable({6, 8, 5}, four)).starts_with(outside));
  CHECK(fault_of_walk(with_vtable({6, 8, 3}, four)).starts_with(outside));
  CHECK(fault_of_walk(with_vtable({6, 7, 4}, four)).starts_with(outside));
  for (const std::vector<std::uint16_t>& vtable :
       {std::vector<std::uint16_t>{3, 4}, {5, 8, 4}, {7, 8, 4}, {4, 3}, {6, 0, 4}}) {
    CHECK(fault_of_walk(with_vtable(vtable, four)) ==
          "the vtable of Model is malformed (at byte 8)");
  }
  CHECK(fault_of_walk(with_vtable({6, 9, 4}, four)) ==
        "Model lies beyond the file's end (at byte 16)");
  // Strings end with a zero byte, within the file.
  const auto with_text = [](const std::string& text) {  // slot 3 of Model: its description
    return with_vtable({12, 8, 0, 0, 0, 4}, std::string("\4\0\0\0", 4) + text);
  };
  CHECK(fault_of_walk(with_text(std::string("\2\0\0\0ab\0", 7))).empty());
  CHECK(fault_of_walk(with_text(std::string("\0\0\0\0\0", 5))).empty());
  CHECK(fault_of_walk(with_text(std::string("\2\0\0\0abc", 7)))
            .starts_with("Model.description does not end with a zero byte"));
  CHECK(fault_of_walk(with_text(std::string("\2\0\0\0ab", 6)))
            .starts_with("Model.description lies beyond the file's end"));
  CHECK(fault_of_walk(with_text(std::string("\2\0\0", 3)))
            .starts_with("Model.description lies beyond the file's end"));
}

TEST_CASE("tflite: a vtable may lie behind its table, and none before the file") {
  const auto with_back = [](std::int32_t back) {
    std::string bytes = with_vtable({4, 4}, std::string("\4\0\4\0", 4));
    std::memcpy(bytes.data() + 12, &back, sizeof back);
    return fault_of_walk(bytes);
  };
  CHECK(with_back(4).empty());
  CHECK(with_back(-4).empty());  // behind
  CHECK(with_back(13) == "the vtable of Model lies before the file (at byte 12)");
  CHECK(with_back(12) != "the vtable of Model lies before the file (at byte 12)");
  CHECK(with_back(-5).starts_with("the vtable of Model lies beyond the file's end"));
}

TEST_CASE("tflite: a file that describes far more than it holds is refused") {
  FlatModel model;
  model.begin_subgraph("main");
  for (int i = 0; i < 299; ++i) model.tensor("t", {1});
  model.tensor(std::string(4000, 'n'), {1});
  std::string bytes = model.bytes();
  const auto walk = walk_flatbuffer(bytes, schema_table("Model"));
  REQUIRE(walk);
  const auto tensors_field = schema_field("SubGraph", "tensors");
  const FlatTable subgraph = walk->root.tables(schema_field("Model", "subgraphs"))[0];
  const std::uint64_t vector = subgraph.target_of(tensors_field);
  const std::uint64_t last = subgraph.tables(tensors_field)[299].at();
  for (std::uint64_t i = 0; i < 300; ++i) {  // all tensors are the last one
    const std::uint64_t place = vector + 4 + 4 * i;
    const auto offset = static_cast<std::uint32_t>(last - place);
    std::memcpy(bytes.data() + place, &offset, sizeof offset);
  }
  CHECK(fault_of_walk(bytes).starts_with("the same bytes are used again and again"));
}

TEST_CASE("tflite: fields of a newer schema are counted, and read past") {
  // Slot 40 of Model does not exist.
  std::vector<std::uint16_t> vtable(2 + 41, 0);
  vtable[0] = static_cast<std::uint16_t>(2 * vtable.size());
  vtable[1] = 8;
  vtable[2 + 40] = 4;
  const auto walk =
      walk_flatbuffer(with_vtable(vtable, std::string(4, '\0')), schema_table("Model"));
  REQUIRE(walk);
  REQUIRE(walk->unknown.size() == 1);
  CHECK(walk->unknown[0].slot == 40);
}

}  // namespace

}  // namespace cleave
