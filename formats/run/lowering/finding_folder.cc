#include "formats/run/lowering/finding_folder.h"

#include <filesystem>
#include <fstream>

#include "formats/base/text/capped_list.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/markup_text.h"
#include "formats/run/backend/tensor_files.h"
#include "formats/run/lowering/repeat_files.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNames = 20;

Status<Error> write_text(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return Done{};
  return Error{path + ": cannot be written"};
}

std::string op_text(const Graph& graph, NodeId node) {
  const std::string_view domain = graph.domain(node);
  return markdown_text((domain.empty() ? "" : std::string(domain) + "::") +
                       std::string(graph.op(node)));
}

std::string node_lines(const Graph& graph, const std::vector<NodeId>& nodes) {
  const auto line = [&](NodeId node) {
    return "- " + markdown_code(graph.node(node).name) + " (" + op_text(graph, node) + ")\n";
  };
  return capped_list(nodes, kMostNames, line, "- and # more\n", "");
}

bool is_of_values(const LowerFinding& finding) { return finding.values.has_value(); }

std::string_view values_text(ValueVerdict verdict) {
  switch (verdict) {
    case ValueVerdict::culprit:
      return "This node computes wrong values on right inputs:";
    case ValueVerdict::lower_precision:
      return "These nodes are computed in lower precision than the reference's:";
    case ValueVerdict::tie_order:
      return "This node gives equal values in another order:";
    case ValueVerdict::rounding_decides:
      return "Rounding decides an order in these nodes:";
    case ValueVerdict::errors_add_up:
      return "Errors add up in these nodes; none of them is wrong by itself:";
    case ValueVerdict::together:
      return "These nodes compute wrong values together, and no half of them does:";
    case ValueVerdict::unresolved:
      return "These nodes compute wrong values; smaller pieces could not be run:";
  }
  return {};
}

std::string_view kind_text(FindingKind kind) {
  switch (kind) {
    case FindingKind::culprit:
      return "This node fails alone:";
    case FindingKind::together:
      return "These nodes fail only together with others of model.onnx:";
    case FindingKind::remedy:
      return "These nodes fail as they are, and pass when cleave changes what is around them:";
    case FindingKind::flaky:
      return "model.onnx failed, and did not fail when it was tried again.";
    case FindingKind::unexplained:
      return "model.onnx fails as a whole; no part of it was found to blame.";
  }
  return {};
}

std::string readme_text(const FindingFolder& folder) {
  const Finding& finding = folder.finding.finding;
  const Graph& graph = folder.model.graph;
  std::string text = "# " + markdown_text(folder.backend.title(folder.identity)) + ": ";
  const std::string message = first_line(finding.message, 200);
  text += markdown_text(finding.how) + (finding.how.empty() || message.empty() ? "" : ": ") +
          markdown_text(message);
  text += "\n\n";
  const std::string model = fs::path(folder.model.source.path()).filename().string();
  text += "Found by `cleave lower` in " + markdown_code(model) + ", partition " +
          markdown_code(folder.finding.part) +
          ". `model.onnx` is the smallest piece that was seen to " +
          "fail: " + std::to_string(finding.within.size()) +
          (finding.within.size() == 1 ? " node" : " nodes") + ".\n\n";
  text += std::string(is_of_values(folder.finding) ? values_text(*folder.finding.values)
                                                   : kind_text(finding.kind));
  text += "\n\n" + node_lines(graph, finding.nodes) + "\n";
  text +=
      "`sh command.sh` repeats it with the backend that `backend.json` describes: exit status 1, ";
  text += is_of_values(folder.finding) ? "and which outputs differ, as long as they do. "
                                       : "and the compiler's words, as long as it fails. ";
  text += "cleave is not needed for that. `stderr.txt` is all that was said.\n";
  if (!folder.samples.empty()) {
    text +=
        "`test_data_set_0` holds inputs of the piece, and its outputs as the reference computes "
        "them.\n";
  }
  return text;
}

// Writes the values of the first sample as ONNX's test data; leaves out values that are not
// tensors.
Status<Error> write_data(const FindingFolder& folder, const CutPiece& piece) {
  if (folder.samples.empty()) return Done{};
  const fs::path data = fs::path(folder.path) / "test_data_set_0";
  std::error_code error;
  fs::create_directories(data, error);
  const auto copy = [&](const std::vector<ValueId>& values, const std::string& prefix) {
    for (std::size_t i = 0; i < values.size() && !error; ++i) {
      const std::string_view name = folder.model.graph.value(values[i]).name;
      const ReferenceTensor* const tensor = folder.samples.front().find(name);
      if (tensor == nullptr) continue;
      fs::copy_file(tensor->file, data / (prefix + std::to_string(i) + ".pb"), error);
    }
  };
  copy(piece.inputs, "input_");
  copy(piece.outputs, "output_");
  if (error) return Error{data.string() + ": cannot be written: " + error.message()};
  return Done{};
}

}  // namespace

Status<Error> write_finding(const FindingFolder& folder, PieceLowerer& lowerer) {
  std::error_code error;
  fs::create_directories(folder.path, error);
  if (error) return Error{folder.path + ": cannot be made: " + error.message()};
  const Finding& finding = folder.finding.finding;
  const auto& nodes = finding.within.empty() ? finding.nodes : finding.within;
  const bool is_remedy = finding.kind == FindingKind::remedy;
  auto written =
      lowerer.write({.nodes = nodes, .remedies = is_remedy ? Remedies{} : finding.remedies},
                    folder.path + "/model.onnx");
  if (!written) return written.error();
  Status<Error> done = write_data(folder, *written);
  if (done) done = write_text(folder.path + "/stderr.txt", finding.message + "\n");
  if (done) done = write_text(folder.path + "/README.md", readme_text(folder));
  const bool has_data = !folder.samples.empty();
  const bool compares = has_data && is_of_values(folder.finding);
  if (done) {
    done = write_repeat_files(
        {folder.path, folder.backend, folder.backend.title(folder.identity), has_data, compares});
  }
  return done;
}

}  // namespace cleave
