#include "formats/models/graph_json/items.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("An attribute that names a device is set to the new device") {
  CHECK(with_device(R"({"name": "a", "attributes": {"device": "cpu", "k": [1, {"x": 2}]}})",
                    "cuda:1") ==
        R"({"name": "a", "attributes": {"k": [1, {"x": 2}], "device": "cuda:1"}})");
}

TEST_CASE("A keyword that reads a device becomes an attribute") {
  CHECK(
      with_device(R"({"name": "a", "kwargs": {"device": "d", "out": "o"}, "attributes": {"k": 1}})",
                  "cuda:1") ==
      R"({"name": "a", "kwargs": {"out": "o"}, "attributes": {"k": 1, "device": "cuda:1"}})");
  CHECK(with_device(R"({"name": "a", "kwargs": {"device": "d"}})", "x\"y") ==
        R"({"name": "a", "kwargs": {}, "attributes": {"device": "x\"y"}})");
}

TEST_CASE("A node that names no device is unchanged") {
  for (const char* node : {R"({"name": "device", "attributes": {"devices": 1}})",
                           R"({"name":"a",  "op": "device"})", R"({"name": "a"})"}) {
    CHECK(with_device(node, "cuda:1") == node);
  }
}

}  // namespace

}  // namespace cleave
