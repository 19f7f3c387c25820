// Options from a file, --config, in TOML: a table for each command. Keys may contain underscores, as
// options may.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/text/diagnostic.h"

namespace cleave {

// What a configuration file says, in its order, and where in the file each key is. The key of an option
// is CLI11's: "check.min-coverage" in the table [check].
struct ConfigOptions {
  std::vector<CLI::ConfigItem> items;
  std::map<std::string, std::uint64_t, std::less<>> places;  // offsets
};

// Reads the text of a configuration file. Faults tell lines and columns, but no file.
Loaded<ConfigOptions> parse_config(std::string_view text);

class ConfigFile : public CLI::ConfigTOML {
 public:
  // Throws CLI::ConfigError when faults() says why the file is refused.
  std::vector<CLI::ConfigItem> from_config(std::istream& stream) const override;

  // Of the file that was read last.
  const Diagnostics& faults() const { return faults_; }
  // The message at the place of the key; without a place when the file does not have it.
  Diagnostic fault_at(std::string_view key, const std::string& message) const;

 private:
  // CLI11 reads by a function that is const.
  mutable std::string text_;
  mutable ConfigOptions config_;
  mutable Diagnostics faults_;
};

}  // namespace cleave
