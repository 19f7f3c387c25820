// The output of `partition` and `stage`: prints the report, and writes the partitions or stages if
// asked to.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/jobs/report_files.h"
#include "cli/terminal/exit_code.h"
#include "formats/report/stages/stages_report.h"
#include "formats/run/jobs/write_models.h"

namespace CLI {
class App;
}

namespace cleave {

// -o, --html, --force, --weights, --annotate, --bundle, --lift-state, --json
class StagesOutput {
 public:
  void add_to(CLI::App& app);

  bool is_json() const { return json_; }

  // The folder to write; nullopt when none was asked for. The error says also where the page cannot be
  // written.
  Loaded<std::optional<OutputFolder>> create_folder() const;

  // Writes the models, manifest.json, report.txt and stages.dot into the folder, if there is one;
  // prints the report. The models have the shapes that the model declares, not those that a profile
  // saw.
  ExitCode write(StagesReport& report, const ModelPieces& pieces,
                 std::optional<OutputFolder>& folder) const;

  struct Texts {
    std::string json, text, drawing;
    std::vector<std::pair<std::string, std::string>> more = {};  // other files: name, content
    std::function<HtmlPage(const LayoutLimits&)> page;           // made if it was asked for
  };
  // The same when there are no models to write.
  ExitCode write(const Texts& texts, std::optional<OutputFolder>& folder) const;

 private:
  std::string path_;
  bool json_ = false;
  PageFile page_;
  OnnxWriteOptions onnx_;
  PartFiles part_files_ = PartFiles::one_a_part;
  TfliteLift tflite_lift_ = TfliteLift::shared;
};

}  // namespace cleave
