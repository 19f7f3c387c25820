// Options from a file, --config, in TOML: a table for each command, and tables [[model]] for the shapes
// of single models. Keys may contain underscores, as options may.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/options.h"
#include "formats/base/faults.h"

namespace cleave {

// The value of a key, as words of a command line.
struct ConfigItem {
  std::string table;  // "check"; "": the key stands before all tables
  std::string name;   // of the option, with dashes: "min-coverage"; "": the table itself begins
  std::vector<std::string> texts = {};
};

inline constexpr std::size_t kMostConfigBytes = 4'000'000;

// What a configuration file says, in its order, and where in the file each key is: "check.min-coverage" is the key in
// the table [check].
struct ConfigOptions {
  std::vector<ConfigItem> items;
  std::map<std::string, std::uint64_t, std::less<>> places;  // offsets
  std::vector<ModelOptions> models;
};

// Reads the text of a configuration file. Faults tell lines and columns, but no file.
Loaded<ConfigOptions> parse_config(std::string_view text);

}  // namespace cleave
