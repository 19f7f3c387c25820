// What `lint-support` finds: faults of one support list, told by the rules themselves, by ONNX's
// registry of operators, and by models held against it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/support_lint.h"
#include "formats/text/diagnostic.h"

namespace cleave {

struct LintFinding {
  LintKind kind;
  Severity severity;       // error: the rule cannot mean what it says; warning; note
  std::uint32_t line = 0;  // in the list; 0: the list as a whole
  std::uint32_t column = 0;
  std::string message;
  std::string note;  // what to do, or why; empty: nothing to say
};

struct Lint {
  std::string list;                   // path
  std::vector<std::string> models;    // paths
  bool is_onnx = false;               // names were held against ONNX's
  std::vector<LintFinding> findings;  // in the order of lines; those without one last

  std::size_t count(Severity severity) const;
};

struct LintRequest {
  bool has_onnx_model = false;
  std::vector<std::string> models;
};

// `use`: what models made of the list; null when there are none. Names of operators are held
// against ONNX's when a model is ONNX, when the list speaks of opsets, or when half of the plain
// names in it are ONNX's.
Lint lint_support(const SupportList& list, const RuleUse* use, const LintRequest& request);

// `npu.json:7:5: warning: message [shadowed]` and notes, then a line that counts. For people.
std::string lint_text(const Lint& lint);

// "error", "warning", "note"
std::string_view severity_name(Severity severity);

// cleave.lint version 1.
std::string lint_json(const Lint& lint);

}  // namespace cleave
