#include <sstream>

#include "formats/lists/tables.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/base/test_folder.h"

namespace cleave {

// ---- device file test ----

namespace {

std::string devices(std::string_view text) {
  const auto read = read_devices(SourceFile::from_text("d.csv", text));
  std::ostringstream result;
  if (!read) {
    for (const Diagnostic& fault : read.error()) {
      result << fault.line << ": " << fault.message << "\n";
    }
    return result.str();
  }
  for (const DeviceSpec& device : *read) {
    result << device.name << " " << (device.memory ? std::to_string(*device.memory) : "-") << " "
           << device.speed << " " << (device.link ? device.link->name : "-") << "\n";
  }
  return result.str();
}

TEST_CASE("devices are read by the columns that the first line names") {
  CHECK(devices("name,memory,speed,link\nbig,24GiB,2,gen4x16\nsmall,,,\n") ==
        "big 25769803776 2 gen4x16\n"
        "small - 1 -\n");
  CHECK(devices("speed\tname\n0.5\ta\n0.5\tb\n") == "a - 0.5 -\nb - 0.5 -\n");
}

TEST_CASE("devices with impossible numbers are refused") {
  const char* const heading =
      "1: the first line must name the columns: name, and some of target, memory, speed, link\n";
  CHECK(devices("big,24GiB\n") == heading);
  CHECK(devices("memory\n1GiB\n") == heading);
  CHECK(devices("name,name\n") == heading);
  CHECK(devices("name\n") == "0: has no devices\n");
  CHECK(devices("name,memory,speed,link\na,much,0,slow\n,1GiB,1,gen1x1\nb,1GiB\n") ==
        "2: \"much\" is not a memory: give bytes, such as 24GiB\n2: \"0\" is not a speed: give a "
        "factor, where 1 is the speed that the options give\n2: \"slow\" is not a bandwidth: give "
        "a number with a unit (100GiB/s) or a link's name (gen1x1 to gen6x16)\n3: the device has "
        "no name\n4: expected 4 cells as the first line has, found 2\n");
  CHECK(devices("name,link\na,16\na,16GB/s\n") ==
        "2: \"16\" has no unit: write 16GB/s or 16GiB/s, or a link's name (gen1x1 to gen6x16)\n"
        "3: two devices are named \"a\": give each its own name\n");
}

}  // namespace

// ---- node list test ----

namespace {

// The names of the nodes; else the faults as "line:column: message", followed by notes.
std::string listed(std::string_view text) {
  const TestFolder folder;
  const Graph graph = graph_from_text(R"(
    input x
    param w
    const k = Cast(w)
    conv1 = f(x)
    relu1 = g(conv1, k)
    conv2 = f(relu1)
    output conv2)");
  const auto nodes = read_node_list(folder.with_file("nodes", text), graph);
  if (nodes) return names_of(graph, *nodes);
  std::string out;
  for (const Diagnostic& fault : nodes.error()) {
    out += std::to_string(fault.line) + ":" + std::to_string(fault.column) + ": " + fault.message;
    for (const std::string& note : fault.notes) out += "; " + note;
    out += "\n";
  }
  return out;
}

TEST_CASE("A list is lines or JSON; nodes come in model order, each once") {
  CHECK(listed("conv2\nconv1\n") == "conv1 conv2");
  CHECK(listed("\r\nconv2\r\n\nconv2") == "conv2");
  CHECK(listed("[\"relu1\", \"conv1\"]") == "conv1 relu1");
}

TEST_CASE("Constants in a list have no effect") { CHECK(listed("k\nconv1\n") == "conv1"); }

TEST_CASE("An unknown name is reported with its place and the nearest name") {
  CHECK(listed("conv1\nrelu\n") ==
        "2:1: the model has no node \"relu\"; did you mean \"relu1\"?\n");
  CHECK(listed("[\"conv1\", \"conv3\"]") ==
        "1:11: the model has no node \"conv3\"; did you mean \"conv1\"?\n");
}

TEST_CASE("A list without nodes, of other things, or not of text is refused") {
  CHECK(listed("") == "1:1: names no node of the model\n");
  CHECK(listed("k\n") == "1:1: names no node of the model\n");
  CHECK(listed("[3]") == "1:2: a node's name must be a string, not a number\n");
  CHECK(listed("\xff\n") == "1:1: a node list is text in UTF-8, and this is not\n");
}

}  // namespace

}  // namespace cleave
