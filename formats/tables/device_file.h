// The devices that stages go to, as a user lists them:
//
//   name,memory,speed,link
//   big,24GiB,1,gen4x16
//   small,8GiB,0.5,
//
// CSV or TSV. The first line names the columns that there are, of which only `name` must be; a cell
// left empty takes what the options say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/link.h"
#include "formats/io/source_file.h"
#include "formats/text/diagnostic.h"

namespace cleave {

struct DeviceSpec {
  std::string name;
  std::optional<std::uint64_t> memory;  // bytes
  double speed = 1;                     // above 0
  std::optional<Link> link;             // to its neighbours
};

// The devices in the order in which stages take them; at least one.
Loaded<std::vector<DeviceSpec>> read_devices(const SourceFile& source);

}  // namespace cleave
