// Advice as a report: what `cleave advise` prints.
#pragma once

#include <string>
#include <vector>

#include "core/lists/support.h"
#include "core/measures/advice.h"
#include "core/measures/measures.h"
#include "formats/base/fields.h"
#include "formats/base/model.h"

namespace cleave {

struct AdviceReport {
  const std::vector<LoadedModel>& models;
  const std::vector<SupportList>& lists;
  const SplitOptions& split;
  const Link& link;
  const AdviceOptions& options;
  const Advice& advice;
  const SettingsSweep& sweep;            // of several targets empty
  const OptionTrials* trials = nullptr;  // null: none was tried
  std::string at_sizes =
      {};  // of open dims, at which bytes and FLOPs are counted: "N=1"; "": none is open
  std::string size_options = {};  // that give these: "--dim N=1"
  std::string inputs = {};        // that decide which branches run: "--set-input sr=VALUE"

  // The one of several targets that it is for, whose lists `lists` are; "": there is one.
  std::string target() const {
    const AdvisedTarget& one = options.target;
    return one.targets.empty() ? "" : one.targets[one.which].name;
  }
};

// The report as text, at most 100 columns: the best order first, then each gap by itself, then
// settings. No colour.
std::string advice_text(const AdviceReport& report);

// The same as a page for a browser, with every gap that was tried.
std::string advice_page(const AdviceReport& report);

// cleave.advice version 1, every gap and setting. A remedy is given as a rule for a support list.
std::string advice_json(const AdviceReport& report);
Document advice_document();

}  // namespace cleave
