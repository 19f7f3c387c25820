#include "formats/models/pt2/pickle.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch2.h"

namespace cleave {
namespace {

using namespace std::string_literals;

std::string text(const std::string& value) {
  return "X"s + static_cast<char>(value.size()) + "\0\0\0"s + value;
}
std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
// ('storage', torch.FloatStorage, key, 'cpu', 8)
std::string storage(const std::string& key) {
  return "(" + text("storage") + global("torch", "FloatStorage") + text(key) + text("cpu") +
         "K\x08tQ";
}
std::string tensor(const std::string& key) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage(key) +
         "K\x02K\x02K\x03\x86K\x03K\x01\x86\x89" + global("collections", "OrderedDict") + ")RtR";
}
std::string dict_of(const std::string& items) { return "\x80\x02}(" + items + "u."; }

std::string fault_of(const std::string& pickle) {
  const auto read = read_pickled_tensors(pickle);
  return read ? "" : read.error();
}

TEST_CASE("a dict of tensors gives the position of each") {
  const auto read =
      read_pickled_tensors(dict_of(text("w") + tensor("0") + text("v") + tensor("0")));
  REQUIRE(read);
  REQUIRE(read->size() == 2);
  CHECK((*read)[0].name == "w");
  CHECK((*read)[0].storage == "0");
  CHECK((*read)[0].scalar_type == 7);
  CHECK((*read)[0].offset == 2);
  CHECK((*read)[0].sizes == std::vector<std::int64_t>{2, 3});
  CHECK((*read)[0].strides == std::vector<std::int64_t>{3, 1});
  CHECK_FALSE((*read)[0].is_parameter);
  CHECK((*read)[1].storage == "0");
}

TEST_CASE("a pickled parameter is a tensor that may require a gradient") {
  const std::string parameter = global("torch._utils", "_rebuild_parameter") + "(" + tensor("1") +
                                "\x88" + global("collections", "OrderedDict") + ")RtR";
  const auto read = read_pickled_tensors(dict_of(text("w") + parameter));
  REQUIRE(read);
  CHECK((*read)[0].is_parameter);
  CHECK((*read)[0].requires_grad);
}

std::string bytes_of(std::int64_t number, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xFFU);
  }
  return bytes;
}

// A tensor of that class of storage, with its offset, sizes and strides as pickled.
std::string made_tensor(const std::string& type, const std::string& offset,
                        const std::string& sizes, const std::string& strides) {
  return global("torch._utils", "_rebuild_tensor_v2") + "((" + text("storage") +
         global("torch", type) + text("0") + text("cpu") + "K\x08tQ" + offset + sizes + strides +
         "\x89" + global("collections", "OrderedDict") + ")RtR";
}

std::int64_t offset_read(const std::string& pickled) {
  const auto read = read_pickled_tensors(
      dict_of(text("w") + made_tensor("FloatStorage", pickled, "K\x02\x85", "K\x01\x85")));
  REQUIRE(read);
  return read->at(0).offset;
}

TEST_CASE("integers of each width are read with their sign") {
  for (const std::int64_t number : {0, 1, 127, 128, 255}) {
    CHECK(offset_read("K" + bytes_of(number, 1)) == number);
  }
  for (const std::int64_t number : {0, 255, 256, 32768, 65535}) {
    CHECK(offset_read("M" + bytes_of(number, 2)) == number);
  }
  for (const std::int64_t number :
       std::initializer_list<std::int64_t>{0, 65536, -1, INT32_MAX, INT32_MIN}) {
    CHECK(offset_read("J" + bytes_of(number, 4)) == number);
  }
  CHECK(offset_read("\x8a"s + '\0') == 0);
  for (std::size_t size = 1; size <= 8; ++size) {
    const std::int64_t top = static_cast<std::int64_t>((std::uint64_t{1} << (8 * size - 1)) - 1);
    for (const std::int64_t number :
         {std::int64_t{0}, std::int64_t{5}, std::int64_t{-1}, top, -top - 1}) {
      CAPTURE(size, number);
      CHECK(offset_read("\x8a"s + static_cast<char>(size) + bytes_of(number, size)) == number);
    }
  }
  CHECK(!fault_of(dict_of(text("w") + made_tensor("FloatStorage", "\x8a\x09" + bytes_of(1, 9),
                                                  "K\x02\x85", "K\x01\x85")))
             .empty());
}

TEST_CASE("storages have torch's numbers of element types, and so do the types of untyped ones") {
  const auto type_of = [](const std::string& tensor) {
    const auto read = read_pickled_tensors(dict_of(text("w") + tensor));
    return read ? read->at(0).scalar_type : -1;
  };
  const auto storage_type = [&](const std::string& name) {
    return type_of(made_tensor(name + "Storage", "K\x01", "K\x02\x85", "K\x01\x85"));
  };
  const std::vector<std::pair<std::string, int>> storages = {
      {"Byte", 1},          {"Char", 2},           {"Short", 3}, {"Int", 4},
      {"Long", 5},          {"Half", 6},           {"Float", 7}, {"Double", 8},
      {"ComplexFloat", 10}, {"ComplexDouble", 11}, {"Bool", 12}, {"BFloat16", 13}};
  for (const auto& [name, number] : storages) CHECK(storage_type(name) == number);
  const auto dtype = [&](const std::string& name) {
    return type_of(global("torch._utils", "_rebuild_tensor_v3") + "((" + text("storage") +
                   global("torch.storage", "UntypedStorage") + text("0") + text("cpu") +
                   "K\x08tQK\x01K\x02\x85K\x01\x85\x89" + global("collections", "OrderedDict") +
                   ")R" + global("torch", name) + "tR");
  };
  CHECK(dtype("int64") == 5);
  CHECK(dtype("uint16") == 28);
  CHECK(dtype("uint64") == 35);
  CHECK(dtype("float32") == 7);
}

TEST_CASE("a tensor has as many strides as sizes, and at most 64") {
  const auto fault = [](std::size_t sizes, std::size_t strides) {
    const auto list = [](std::size_t count) {
      std::string items = "(";
      for (std::size_t i = 0; i < count; ++i) items += "K\x01";
      return items + "t";
    };
    return fault_of(
        dict_of(text("w") + made_tensor("FloatStorage", "K\x01", list(sizes), list(strides))));
  };
  CHECK(fault(0, 0).empty());
  CHECK(fault(64, 64).empty());
  CHECK(!fault(65, 65).empty());
  CHECK(!fault(2, 3).empty());
}

TEST_CASE("values that are kept are recalled by short and by long keys, until they are replaced") {
  const std::string name = text("w");
  const auto names = [](const std::string& items) {
    const auto read = read_pickled_tensors(dict_of(items));
    std::string all;
    if (read) {
      for (const PickledTensor& one : *read) all += one.name + " ";
    }
    return read ? all : read.error();
  };
  // A tensor that is kept is another name's value, too.
  CHECK(names(name + tensor("0") + "q\x05" + text("v") + "h\x05") == "w v ");
  CHECK(names(name + tensor("0") + "r" + bytes_of(70000, 4) + text("v") + "j" +
              bytes_of(70000, 4)) == "w v ");
  CHECK(names(name + tensor("0") + "r" + bytes_of(70000, 4) + text("v") + "j" + bytes_of(70001, 4))
            .starts_with("is a damaged pickle"));
}

TEST_CASE("a dict may be filled item by item, and list by list") {
  const std::string item = "\x80\x02}" + text("w") + tensor("0") + "s.";
  REQUIRE(read_pickled_tensors(item));
  CHECK(read_pickled_tensors(item)->at(0).name == "w");
  // ["s", ("storage", ...)]: a list that is appended to is no dict of tensors.
  CHECK(fault_of("\x80\x02]" + text("w") + "a.") == "holds no dict of tensors");
  CHECK(fault_of("\x80\x02](" + text("w") + text("v") + "e.") == "holds no dict of tensors");
  CHECK(fault_of("\x80\x02](" + text("w") + text("v") + "u.").starts_with("is a damaged pickle"));
  CHECK(fault_of("\x80\x02}(" + text("w") + "u.").starts_with("is a damaged pickle"));
  CHECK(fault_of("\x80\x02}(K\x01" + tensor("0") + "u.") ==
        "holds a dict whose keys are not names");
}

TEST_CASE("other functions and classes are refused by name and never called") {
  CHECK(fault_of("\x80\x02" + global("os", "system") + text("true") + "\x85R.") ==
        "holds \"os.system\", a Python object that only Python can make");
  CHECK(fault_of(dict_of(text("w") + "K\x01")) == "holds \"w\", which is not a plain tensor");
  CHECK(fault_of("\x80\x02K\x01.") == "holds no dict of tensors");
  CHECK(fault_of(dict_of(text("w") + tensor("0") + text("w") + tensor("0"))) ==
        "holds \"w\" twice");
}

TEST_CASE("a pickle that is cut off anywhere is refused") {
  const std::string pickle = dict_of(text("w") + tensor("0"));
  for (std::size_t size = 0; size < pickle.size(); ++size) {
    INFO(size);
    CHECK(!fault_of(pickle.substr(0, size)).empty());
  }
}

TEST_CASE("a pickle that pops an empty stack is refused") {
  for (const std::string& pickle : {"0."s, "R."s, "Q."s, "u."s, "e."s, "s."s, "t."s, "h\x05."s,
                                    "\x87."s, "q\0."s, "(."s, "}(K\x01u."s, "b."s}) {
    CHECK(!fault_of("\x80\x02"s + pickle).empty());
  }
}

}  // namespace
}  // namespace cleave
