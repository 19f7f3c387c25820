#include "cli/jobs/report_files.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iterator>

#include "cli/options/file_option.h"
#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "formats/base/io/output_file.h"
#include "formats/base/io/output_folder.h"
#include "formats/report/drawings/viewers.h"

namespace cleave {
namespace {

HtmlPage html_with_progress(const Report& report, const std::string& path,
                            const LayoutLimits& limits) {
  ProgressBar bar(path);
  return html_report(report, limits, bar.observer());
}

ExitCode write_text(const std::string& path, const std::string& text, bool force) {
  const auto written = write_file(path, text, force);
  if (!written) return refuse(written.error(), ExitCode::cannot_write);
  print_info("wrote " + path);
  return ExitCode::done;
}

// True for a path inside the folder, comparing the paths as written.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  if (folder.empty()) return false;
  const auto within = path.lexically_normal().lexically_relative(folder.lexically_normal());
  return !within.empty() && *within.begin() != "..";
}

// True for a path directly in the folder.
bool is_child(const std::filesystem::path& path, const std::filesystem::path& folder) {
  if (path.empty() || folder.empty()) return false;
  const auto within = path.lexically_normal().lexically_relative(folder.lexically_normal());
  return std::distance(within.begin(), within.end()) == 1 && within != "." && within != "..";
}

std::string name_of(const std::filesystem::path& path) { return path.filename().string(); }

}  // namespace

void PageFile::add_to(CLI::App& app) {
  add_output_option(app, "--html", path_, "also write the report as one page for a browser");
  add_force_option(app, force_);
}

void PageFile::add_with_drawings(CLI::App& app) {
  add_to(app);
  layout_.add_to(app);
}

Status<Diagnostics> PageFile::check() const {
  return path_.empty() ? Status<Diagnostics>(Done{}) : check_may_write(path_, force_);
}

ExitCode PageFile::write(const HtmlPage& page) const {
  for (const std::string& note : page.notes) print_warning(note);
  return write_text(path_, page.text, force_);
}

std::vector<std::string> PageFile::written() const {
  return path_.empty() ? std::vector<std::string>{} : std::vector<std::string>{path_};
}

void ReportFiles::add_to(CLI::App& app) {
  add_output_option(app, "--html", html_, "also write the report as one page for a browser");
  layout_.add_to(app);
  add_output_option(
      app, "--netron", netron_,
      "also write an attachment for Netron: open the model there, then this .json file")
      ->check(CLI::Validator(
          [](const std::string& path) {
            return path.ends_with(".json") ? "" : "Netron takes only files that end in .json";
          },
          ""));
  CLI::Option* const explorer = add_output_folder_option(
      app, "--model-explorer", model_explorer_,
      "also write node data for Model Explorer: partitions, reasons, FLOPs");
  set_written_names(explorer, model_explorer_file_names());
  add_force_option(app, force_);
}

Status<Diagnostics> ReportFiles::check(const std::string& made) const {
  for (const std::string& file : {html_, netron_}) {
    if (file.empty() || lies_in(file, made)) continue;
    if (auto done = check_may_write(file, force_); !done) return done;
  }
  if (model_explorer_.empty() || lies_in(model_explorer_, made)) return Done{};
  if (!is_folder(model_explorer_)) return check_may_write(model_explorer_, false);
  for (const std::string& name : model_explorer_file_names()) {
    if (auto done = check_may_write(model_explorer_ + "/" + name, force_); !done) return done;
  }
  return Done{};
}

std::vector<std::string> ReportFiles::written() const {
  std::vector<std::string> paths;
  for (const std::string& path : {html_, netron_, model_explorer_}) {
    if (!path.empty()) paths.push_back(path);
  }
  return paths;
}

std::string ReportFiles::page_of(const Report& report) const {
  HtmlPage page = html_with_progress(report, html_, layout_.limits());
  for (const std::string& note : page.notes) print_warning(note);
  return std::move(page.text);
}

ExitCode ReportFiles::write_inside(const Report& report, const OutputFolder& folder) const {
  Status<Diagnostics> written = Done{};
  if (is_child(html_, folder.final_path())) {
    written = folder.write(name_of(html_), page_of(report));
  }
  if (written && is_child(netron_, folder.final_path())) {
    written = folder.write(name_of(netron_), netron_attachment(report));
  }
  return written ? ExitCode::done : refuse(written.error(), ExitCode::cannot_write);
}

ExitCode ReportFiles::write(const Report& report, const std::string& made) const {
  ExitCode code = ExitCode::done;
  if (!html_.empty() && !is_child(html_, made)) {
    code = write_text(html_, page_of(report), force_);
  }
  if (code == ExitCode::done && !netron_.empty() && !is_child(netron_, made)) {
    code = write_text(netron_, netron_attachment(report), force_);
  }
  return code == ExitCode::done ? write_model_explorer(report) : code;
}

// Writes into the folder, which may exist already; all files or none.
ExitCode ReportFiles::write_model_explorer(const Report& report) const {
  if (model_explorer_.empty()) return ExitCode::done;
  auto folder = is_folder(model_explorer_)
                    ? OutputFolder::beside(model_explorer_ + "/partition.json", force_)
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
