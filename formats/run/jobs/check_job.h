// The job of `check`: models by lists, held against gates and a baseline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/base.h"
#include "formats/base/faults.h"
#include "formats/report/check/check.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {

// Lists that are taken as one: a column of the matrix of models and lists.
struct CheckColumn {
  std::string name;                // of its files: "npu.json + gpu.json"
  std::vector<std::string> paths;  // as ListsRequest has them
  ListsRead lists = {};
};

// Not yet read. `combined`: all lists are one column, as those of several targets are.
std::vector<CheckColumn> check_columns(const ListsRequest& lists, bool combined);

// The models that paths name: files as they are, and in place of a folder all .onnx, .pt2 and .tflite files in it,
// by name. Error: the folder has none, or cannot be looked through.
Loaded<std::vector<std::string>> models_of(const std::vector<std::string>& paths);

struct CheckModels {
  std::vector<ModelRequest> models;
  std::vector<CheckColumn> columns;
  SplitRequest split;                  // what holds for each
  CheckRequest gates;                  // of which `require` holds for each split
  const Baseline* baseline = nullptr;  // null: none
  bool makes_baseline = false;
};

// What became of one model: plain data, so that no more models are held than are worked on.
struct CheckedModel {
  Diagnostics messages = {};
  std::vector<CheckRun> runs = {};
  std::vector<BaselineItem> items = {};           // if a baseline is made
  std::vector<std::string> not_in_baseline = {};  // columns
  std::optional<Fault> fault = {};
};

// Checks models side by side; results come in the order given.
std::vector<CheckedModel> check_models(const CheckModels& request, const Progress& progress = {});

}  // namespace cleave
