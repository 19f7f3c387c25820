#include "formats/lists/tables/device_file.h"

#include <sstream>

#include "tests/catch2.h"

namespace cleave {
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
}  // namespace cleave
