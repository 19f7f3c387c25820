#include "formats/base/text/limits.h"

#include "formats/models/model_file.h"
#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
namespace {

TEST_CASE("a limit is set by its name") {
  ModelLimits limits;
  REQUIRE(set_limit(limits, "nodes=5000"));
  CHECK(limits.nodes == 5000);
  REQUIRE(set_limit(limits, "file-bytes=0"));
  CHECK(limits.file_bytes == 0);
  CHECK(limits.values == ModelLimits().values);
  REQUIRE(set_limit(limits, "utf8=lenient"));
  CHECK(limits.names == NameBytes::any);
  REQUIRE(set_limit(limits, "utf8=strict"));
  CHECK(limits.names == NameBytes::utf8);
}

TEST_CASE("bad limits are refused with the valid ones") {
  const auto fault = [](const std::string& text) {
    ModelLimits limits;
    const auto set = set_limit(limits, text);
    REQUIRE(!set);
    CHECK(limits == ModelLimits());
    return set.error();
  };
  CHECK(fault("nodes") == "\"nodes\" is not of the form nodes=5000000");
  CHECK(fault("node=3") == "\"node\" is not a limit: did you mean nodes?");
  CHECK(fault("x=3") ==
        "\"x\" is not a limit: there are nodes, values, attributes, dims, depth, name-bytes, "
        "file-bytes, utf8");
  CHECK(fault("nodes=3k") == "\"3k\" is not a limit of nodes: give a whole number");
  CHECK(fault("utf8=1") == "\"1\" is not strict or lenient");
  CHECK(fault("nodes=") == "\"\" is not a limit of nodes: give a whole number");
  CHECK(fault("depth=1001") == "1001 is above the most that depth can be limited to, 1,000");
}

TEST_CASE("every default is below its maximum") {
  for (const LimitRow& row : limit_rows()) {
    INFO(row.name);
    CHECK(ModelLimits().*row.value <= row.most);
  }
}

TEST_CASE("a model is read again under the limits that it was read under") {
  const TestFolder test;
  const std::string path = test.with_file(
      "m.json", R"({"format": "cleave.graph", "version": 1, "inputs": [], "outputs": [],
                    "nodes": [{"name": "a", "op": "f"}, {"name": "b", "op": "f"}]})");
  const auto model = read_model(path, {}, {.nodes = 2});
  REQUIRE(model);
  CHECK(model->limits.nodes == 2);
  CHECK(read_again(*model, {}).has_value());
  const auto refused = read_model(path, {}, {.nodes = 1});
  REQUIRE(!refused);
  REQUIRE(refused.error().size() == 1);
  CHECK(refused.error().front().message ==
        "the graph has more than 1 nodes; --limit nodes=N sets the most that is read");
  CHECK(refused.error().front().line == 2);
}

}  // namespace
}  // namespace cleave
