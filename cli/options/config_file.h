// Options from a file, --config: CLI11's reading of TOML, with keys that may be written with
// underscores, as options may; and where a key stands, for errors.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

class ConfigFile : public CLI::ConfigTOML {
 public:
  std::vector<CLI::ConfigItem> from_config(std::istream& text) const override;
};

// The byte at which the line begins that sets `key`, as CLI11 names it: "check.min-coverage" of
// section [check]. `text.npos`: no line does.
std::uint64_t offset_of_key(std::string_view text, std::string_view key);

}  // namespace cleave
