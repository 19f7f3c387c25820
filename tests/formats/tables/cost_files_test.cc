#include "formats/tables/cost_files.h"

#include <sstream>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

constexpr const char* kModel = R"(
  input x
  param w
  const c = Cast(w)
  conv1 = Conv(x, w)
  relu = Relu(conv1, c)
  pool = Pool(relu)
)";

// "name time" of each node that has one, then the warnings; or the faults.
std::string times(std::string_view text) {
  const Graph graph = graph_from_text(kModel);
  const auto read = read_node_times(SourceFile::from_text("t.csv", text), graph);
  std::ostringstream result;
  if (read) {
    for (const NodeId node : graph.nodes()) {
      const double time = read->microseconds[node];
      if (time >= 0) result << graph.node(node).name << " " << time << "\n";
    }
  }
  for (const Diagnostic& diagnostic : read ? read->warnings : read.error()) {
    result << diagnostic.line << ": " << diagnostic.message << "\n";
    for (const std::string& note : diagnostic.notes) result << "  " << note << "\n";
  }
  return result.str();
}

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

TEST_CASE("times are read from CSV and TSV, with or without a first line") {
  CHECK(times("node,time_us\nconv1,120.5\n\n\"relu\" , 0\r\n") == "conv1 120.5\nrelu 0\n");
  CHECK(times("pool\t3e2\nc\t7") == "pool 300\n");
}

TEST_CASE("a time of a node that the model lacks is warned of") {
  CHECK(times("conv1,1\nrelo,2\n") ==
        "conv1 1\n"
        "2: the model has no node \"relo\": its time is not read\n"
        "  did you mean \"relu\"?\n");
}

TEST_CASE("times that make no sense are refused") {
  CHECK(times("conv1,-1\nrelu,soon\npool,inf\n") ==
        "1: the time of \"conv1\" is \"-1\": give microseconds as a number that is not below 0\n"
        "2: the time of \"relu\" is \"soon\": give microseconds as a number that is not below 0\n"
        "3: the time of \"pool\" is \"inf\": give microseconds as a number that is not below 0\n");
  CHECK(times("conv1,1\nconv1,2\nrelu\n\"pool,3\n") ==
        "2: \"conv1\" is given twice\n"
        "3: expected a node and its time in microseconds, found 1 cell\n"
        "4: the quote is not closed\n"
        "4: expected a node and its time in microseconds, found 1 cell\n");
  CHECK(times("other,1\n") == "0: has the time of no node of the model\n");
  CHECK(times("") == "0: has the time of no node of the model\n");
  CHECK(times("conv1,\xff") == "1: the file must be text in UTF-8, and this is not\n");
}

TEST_CASE("devices are read by the columns that the first line names") {
  CHECK(devices("name,memory,speed,link\nbig,24GiB,2,gen4x16\nsmall,,,\n") ==
        "big 25769803776 2 gen4x16\n"
        "small - 1 -\n");
  CHECK(devices("speed\tname\n0.5\ta\n0.5\tb\n") == "a - 0.5 -\nb - 0.5 -\n");
}

TEST_CASE("devices that make no sense are refused") {
  const char* const heading =
      "1: the first line must name the columns: name, and some of memory, speed, link\n";
  CHECK(devices("big,24GiB\n") == heading);
  CHECK(devices("memory\n1GiB\n") == heading);
  CHECK(devices("name,name\n") == heading);
  CHECK(devices("name\n") == "0: has no devices\n");
  CHECK(
      devices("name,memory,speed,link\na,much,0,slow\n,1GiB,1,gen1x1\nb,1GiB\n") ==
      "2: \"much\" is no memory: give bytes, as 24GiB\n"
      "2: \"0\" is no speed: give how fast it is, where 1 is as the options say\n"
      "2: \"slow\" is no bandwidth: give a number with a unit (100GiB/s) or a link's name (gen1x1 "
      "to gen6x16)\n"
      "3: the device has no name\n"
      "4: expected 4 cells as the first line has, found 2\n");
  CHECK(devices("name,link\na,16\na,16GB/s\n") ==
        "2: \"16\" has no unit: write 16GB/s or 16GiB/s, or a link's name (gen1x1 to gen6x16)\n"
        "3: two devices are named \"a\": give each its own name\n");
}

}  // namespace
}  // namespace cleave
