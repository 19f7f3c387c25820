#include "formats/models/pt2/pickle.h"

#include <string>

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
