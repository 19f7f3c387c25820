#include "formats/run/jobs/check_job.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "formats/base/files.h"
#include "formats/base/process.h"
#include "formats/models/models.h"
#include "formats/report/words/report.h"

namespace cleave {

std::vector<CheckColumn> check_columns(const ListsRequest& lists, bool combined) {
  std::vector<CheckColumn> columns;
  if (combined || lists.targets().size() > 1 || lists.paths.empty()) {
    columns.push_back({{}, lists.paths});
  } else {
    for (const std::string& path : lists.paths) columns.push_back({{}, {path}});
  }
  for (CheckColumn& column : columns) {
    for (const std::string& file : column.paths.empty() ? lists.verdicts : column.paths) {
      column.name += (column.name.empty() ? "" : " + ") + file;
    }
  }
  return columns;
}

Loaded<std::vector<std::string>> models_of(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      found.push_back(path);
      continue;
    }
    const auto below = paths_below(path);
    if (!below) return below.error();
    std::vector<std::string> inside;
    // Folders that cleave wrote: what they hold are parts of models.
    std::set<fs::path> parts;
    const fs::path root = (fs::path(path) / "x").lexically_normal().parent_path();
    for (const fs::path one : *below) {
      if (one.filename() != kManifestName) continue;
      const fs::path folder = one.parent_path();
      if (folder.lexically_normal() != root && listed_files(folder)) parts.insert(folder);
    }
    for (const fs::path one : *below) {
      const std::string kind = one.extension().string();
      const bool is_model = kind == ".onnx" || kind == ".pt2" || kind == ".tflite";
      bool is_part = false;
      for (fs::path at = one; is_model && !is_part && at.has_relative_path();) {
        at = at.parent_path();
        is_part = parts.contains(at);
      }
      if (is_model && !is_part && fs::is_regular_file(one, error))
        inside.push_back(one.lexically_normal().string());
    }
    if (inside.empty()) {
      return Diagnostics{diagnostic_of(
          path, "this folder has no .onnx, .pt2 or .tflite file" +
                    std::string(parts.empty() ? "" : " but those that cleave wrote"))};
    }
    std::ranges::sort(inside);
    for (const std::string& model : inside) record_input(model);
    found.insert(found.end(), inside.begin(), inside.end());
  }
  return found;
}

namespace {

void hold(const CheckModels& all, const std::string& model, const std::string& list,
          const Report& report, CheckedModel& checked) {
  const EarlierResult* before = nullptr;
  if (all.baseline != nullptr) {
    before = all.baseline->find(model, list);
    if (before == nullptr) {
      checked.not_in_baseline.push_back(list);
      return;
    }
  }
  CheckRun run = check_report(report, all.gates, before);
  run.model = model;
  run.list = list;
  checked.runs.push_back(std::move(run));
  if (all.makes_baseline) checked.items.push_back({model, list, report_json(report)});
}

CheckedModel check_model(const CheckModels& all, const ModelRequest& asked) {
  CheckedModel checked;
  const auto fail = [&](Fault fault) {
    checked.fault = std::move(fault);
    return std::move(checked);
  };
  auto model = read_model(asked.path, asked.bindings, asked.limits);
  if (!model) return fail(input_fault(model.error()));
  checked.messages = model->warnings;
  if (all.models.size() == 1) {
    append(checked.messages, idle_option_warnings(*model));
  }
  const auto costs = read_costs_and_shapes(costs_of(all.split), *model);
  if (!costs) return fail(input_fault(costs.error()));
  checked.messages.insert(checked.messages.end(), costs->warnings.begin(), costs->warnings.end());
  for (const CheckColumn& column : all.columns) {
    SplitRequest request = all.split;
    request.model = asked;
    request.lists.paths = column.paths;
    request.require = all.gates.require;
    const auto job = run_split(request, {},
                               {.model = &*model,
                                .costs = &*costs,
                                .lists = &column.lists,
                                .are_requirements_told = true});
    if (!job) return fail(job.error());
    const Diagnostics& warnings = job->warnings();
    checked.messages.insert(checked.messages.end(), warnings.begin(), warnings.end());
    append(checked.messages, limit_warnings(*job));
    hold(all, asked.path, column.name, job->report(), checked);
  }
  return checked;
}

}  // namespace

std::vector<CheckedModel> check_models(const CheckModels& request, const Progress& progress) {
  const std::size_t count = request.models.size();
  std::vector<CheckedModel> all(count);
  std::mutex mutex;
  std::size_t done = 0;
  do_each(count, [&](std::size_t i) {
    all[i] = check_model(request, request.models[i]);
    const std::lock_guard lock(mutex);
    tell(progress, {"checking", "models", ++done, count});
    return true;
  });
  return all;
}

}  // namespace cleave
