#include "cli/jobs/report_files.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "formats/io/output_folder.h"
#include "formats/report/drawings/html_report.h"
#include "formats/report/drawings/model_explorer.h"
#include "formats/report/drawings/netron.h"

namespace cleave {
namespace {

Loaded<std::string> html_with_progress(const Report& report, const std::string& path) {
  ProgressBar bar(path);
  return html_report(report, bar.observer());
}

ExitCode write_text(const std::string& path, const std::string& text) {
  const auto written = write_file(path, text);
  if (!written) return refuse(written.error(), ExitCode::cannot_write);
  print_info("wrote " + path);
  return ExitCode::done;
}

// True of a path inside the folder, as both are written.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  if (folder.empty()) return false;
  const auto within = path.lexically_normal().lexically_relative(folder.lexically_normal());
  return !within.empty() && *within.begin() != "..";
}

}  // namespace

void ReportFiles::add_to(CLI::App& app) {
  app.add_option("--html", html_, "also write the report as one page for a browser")
      ->type_name("FILE");
  app.add_option("--netron", netron_,
                 "also write an attachment for Netron: open the model there, then this .json file")
      ->type_name("FILE")
      ->check(CLI::Validator(
          [](const std::string& path) {
            return path.ends_with(".json") ? "" : "Netron takes only files that end in .json";
          },
          ""));
  app.add_option("--model-explorer", model_explorer_,
                 "also write the split as a graph and node data for Model Explorer")
      ->type_name("DIR");
}

Status<Diagnostics> ReportFiles::check(const std::string& made) const {
  for (const std::string& file : {html_, netron_}) {
    if (file.empty() || lies_in(file, made)) continue;
    if (auto done = check_may_write(file); !done) return done;
  }
  if (model_explorer_.empty() || lies_in(model_explorer_, made)) return Done{};
  std::error_code error;
  const bool is_there = std::filesystem::is_directory(model_explorer_, error);
  return check_may_write(is_there ? model_explorer_ + "/graph.json" : model_explorer_);
}

ExitCode ReportFiles::write(const Report& report) const {
  for (const auto write_one :
       {&ReportFiles::write_html, &ReportFiles::write_netron, &ReportFiles::write_model_explorer}) {
    const ExitCode code = (this->*write_one)(report);
    if (code != ExitCode::done) return code;
  }
  return ExitCode::done;
}

ExitCode ReportFiles::write_html(const Report& report) const {
  if (html_.empty()) return ExitCode::done;
  const auto page = html_with_progress(report, html_);
  if (!page) return refuse(page.error(), ExitCode::external_failed);
  return write_text(html_, *page);
}

ExitCode ReportFiles::write_netron(const Report& report) const {
  return netron_.empty() ? ExitCode::done : write_text(netron_, netron_attachment(report));
}

// Into the folder, which may be there already; all files or none.
ExitCode ReportFiles::write_model_explorer(const Report& report) const {
  if (model_explorer_.empty()) return ExitCode::done;
  std::error_code ignored;
  auto folder = std::filesystem::exists(model_explorer_, ignored)
                    ? OutputFolder::inside(model_explorer_, true)
                    : OutputFolder::create(model_explorer_, false);
  if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
  const std::vector<NamedText> files = model_explorer_files(report);
  Status<Diagnostics> written = Done{};
  for (const NamedText& file : files) {
    if (written) written = folder->write(file.name, file.text);
  }
  if (written) written = folder->commit();
  if (!written) return refuse(written.error(), ExitCode::cannot_write);
  for (const NamedText& file : files) print_info("wrote " + model_explorer_ + "/" + file.name);
  return ExitCode::done;
}

}  // namespace cleave
