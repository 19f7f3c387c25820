// Options from a file, --config: CLI11's TOML reader, with keys that may contain underscores, as
// options may; and the line of a key, for errors.
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

// The offset of the line that sets `key`, in CLI11's notation: "check.min-coverage" for section
// [check]. `text.npos` if there is none.
std::uint64_t offset_of_key(std::string_view text, std::string_view key);

}  // namespace cleave
