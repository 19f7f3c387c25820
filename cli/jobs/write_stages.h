// What `partition` and `stage` do with a result: print the report, and write the pieces when asked.
#pragma once

#include <optional>
#include <string>

#include "cli/terminal/exit_code.h"
#include "formats/jobs/write_models.h"
#include "formats/report/stages/stages_report.h"

namespace CLI {
class App;
}

namespace cleave {

// -o, --force, --weights, --annotate, --bundle, --json
class StagesOutput {
 public:
  void add_to(CLI::App& app);

  bool is_json() const { return json_; }

  // The folder to write; nothing when none was asked for.
  Loaded<std::optional<OutputFolder>> create_folder() const;

  // Writes the models, manifest.json, report.txt and stages.dot into the folder, when there is one;
  // prints the report.
  ExitCode write(StagesReport& report, const ModelPieces& pieces,
                 std::optional<OutputFolder>& folder) const;

  struct Texts {
    std::string json, text, drawing;
  };
  // The same where there are no models to write.
  ExitCode write(const Texts& texts, std::optional<OutputFolder>& folder) const;

 private:
  std::string path_;
  bool force_ = false;
  bool json_ = false;
  OnnxWriteOptions onnx_;
  Pt2Files pt2_files_ = Pt2Files::one_a_part;
};

}  // namespace cleave
