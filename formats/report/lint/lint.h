// Reports of faults of support lists, and of what lists have.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/lists/lint.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/fields.h"

namespace cleave {

// ---- list text ----
//
// A support list in words, `cleave lists show NAME`, and one to start from, `cleave lists new MODEL`.

// Where the list is from, its limits, then each op with its conditions and what is accepted on trust,
// denials last. At most 100 columns.
std::string list_text(const SupportList& list);

// The text of a native list with one rule for each op of the models, with the types that the op has
// there. Rules are in the order of first use; `why` says how many nodes of how many models each is
// for. Linear in the nodes.
std::string list_skeleton(std::span<const Graph* const> graphs, const std::string& name);

// ---- lint ----
//
// The findings of `lists lint`: faults of one support list, found in the rules themselves, with
// ONNX's registry of operators, and with models.

struct LintFinding {
  LintKind kind;
  Severity severity;       // error: the rule cannot be meant this way; warning; note
  std::uint32_t line = 0;  // in the list; 0: the list as a whole
  std::uint32_t column = 0;
  std::string message;
  std::string note;  // what to do, or why; may be empty
};

struct Lint {
  std::string list;                   // path
  std::vector<std::string> models;    // paths
  bool is_onnx = false;               // names were compared with ONNX's
  std::vector<LintFinding> findings;  // in the order of lines; those without one are last

  std::size_t count(Severity severity) const;
};

struct LintRequest {
  Diagnostics warnings = {};  // of reading the list, which become findings
  bool has_onnx_model = false;
  std::vector<std::string> models;
};

// `use` is the result of matching models with the list; null when there are none. Names of
// operators are compared with ONNX's when a model is ONNX, when the list has opsets, or when half
// of the plain names in it are ONNX's.
Lint lint_support(const SupportList& list, const RuleUse* use, const LintRequest& request);

// `npu.json:7:5: warning: message [shadowed]` and notes, then a summary line. For people.
std::string lint_text(const Lint& lint);

// cleave.lint version 1.
std::string lint_json(const Lint& lint);
Document lint_document();

}  // namespace cleave
