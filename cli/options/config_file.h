// Options from a file, --config, in TOML: a table for each command, and tables [[model]] for the shapes
// of single models. Keys may contain underscores, as options may.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "formats/base/faults.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {

// A table [[model]]: what --dim, --input-shape and --set-input are for the models of its "path".
struct ModelOptions {
  std::string path;  // as the command line names the model, or a glob
  ShapeBindings bindings;
};

// What a configuration file says, in its order, and where in the file each key is. The key of an option
// is CLI11's: "check.min-coverage" in the table [check].
struct ConfigOptions {
  std::vector<CLI::ConfigItem> items;
  std::map<std::string, std::uint64_t, std::less<>> places;  // offsets
  std::vector<ModelOptions> models;
};

// Reads the text of a configuration file. Faults tell lines and columns, but no file.
Loaded<ConfigOptions> parse_config(std::string_view text);

class ConfigFile : public CLI::ConfigTOML {
 public:
  // Throws CLI::ConfigError when faults() says why the file is refused.
  std::vector<CLI::ConfigItem> from_config(std::istream& stream) const override;

  // The faults of the file that from_config() read last.
  const Diagnostics& faults() const { return faults_; }
  const std::vector<ModelOptions>& models() const { return config_.models; }
  // The message at the place of the key; without a place when the file does not have it.
  Diagnostic fault_at(std::string_view key, const std::string& message) const;

 private:
  // CLI11 reads by a function that is const.
  mutable std::string text_;
  mutable ConfigOptions config_;
  mutable Diagnostics faults_;
};

// The configuration file of the command's program; null: none was read.
const ConfigFile* config_of(const CLI::App& command);

// Paths in tables [[model]] of the configuration file that are no globs, and name no file.
std::vector<std::string> missing_models(const CLI::App& app);

// Adds what the tables [[model]] of the configuration file say of the model; they win over the command's
// own bindings of the same names.
void bind_by_config(const CLI::App& command, ModelRequest& model);

}  // namespace cleave
