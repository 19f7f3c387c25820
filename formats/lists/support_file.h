// Files of support lists and of verdicts, to rules and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"

namespace cleave {

// ---- support reader ----
//
// Shared by the readers of the three formats of support lists: positions of rules, names of types,
// and the readers' entry points.

// Line and column of offsets that do not decrease. All calls together walk over the text once.
class PlaceCounter {
 public:
  explicit PlaceCounter(std::string_view text) : text_(text) {}
  // Writes the position into a rule or a pattern.
  template <class Placed>
  void mark(Placed& placed, std::size_t offset) {
    go_to(offset);
    placed.line = line_;
    placed.column = column_;
  }

 private:
  void go_to(std::size_t offset);

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t column_ = 1;
};

// Adds the dtype, or the type of non-tensors, to the set. Otherwise returns a message about what is
// wrong with the name, with the likely intended name if there is one.
Status<std::string> add_type(TypeSet& types, std::string_view name);

// Sets the rule's op, and its domain where the text names one: `Gelu`, `com.microsoft::Gelu`. A fault
// where a part is missing, or where the rule has another domain already.
void set_op(std::string_view text, std::size_t at, TextFaults& faults, Rule& rule);
void set_domain(std::string_view domain, std::size_t at, TextFaults& faults, Rule& rule);

// ---- support rule ----
//
// Reads a rule of a native support list, and the list's defaults for all allow rules.

enum class Verdict : std::uint8_t { allow, deny };

// A bit for each field that "defaults" may give: set when the rule states it itself.
using StatedFields = std::uint32_t;

// Reads the rule at the cursor, the bare name of an op or an object, into `rule`.
StatedFields read_rule(JsonWalk& json, Verdict verdict, Rule& rule);

// Reads "defaults": the fields opset, inputs, input_shape and max_rank.
void read_defaults(JsonWalk& json, Rule& defaults);

// Gives the rule the defaults of the fields that it does not state.
void apply_defaults(const Rule& defaults, StatedFields stated, Rule& rule);

// Adds the type that is named at the cursor.
void read_type(JsonWalk& json, TypeSet& types);

// Reads a pattern of a native support list.
//
//   {"name": "conv relu", "ops": ["Conv", {"op": "Relu"}], "edges": [[0, 1]]}

// Reads the pattern at the cursor; returns the fields that each of its ops states.
std::vector<StatedFields> read_pattern(JsonWalk& json, PlaceCounter& places, Pattern& pattern);

// ---- rule json ----
//
// Rules and patterns of support lists as native JSON.

// Writes an allow rule as a value on one line, which read_rule() can read. The
// rule must not ask for an operator's schema version: native lists cannot express that.
void write_allow_rule(JsonText& json, const Rule& rule);

// Writes a deny rule in the same way.
void write_deny_rule(JsonText& json, const Rule& rule);

// Writes a pattern, with its ops as allow rules, one a line.
void write_pattern(JsonText& json, const Pattern& pattern);

// ---- support file ----
//
// Support lists in three formats, recognised by content: native JSON, plain text, ONNX Runtime's
// required-operators config.

// The most lists at once: a reason stores the number of its list in this type.
inline constexpr std::size_t kMostSupportLists =
    std::size_t{std::numeric_limits<decltype(Reason::list)>::max()} + 1;

struct LoadedSupport {
  SupportList list;
  std::vector<Diagnostic> warnings;
};

// Reads one list. On error: every fault with its line and column, at most 20. `bad_types`, for lint: gets the
// faults where all are types that there are not, and the list is read, with any type in their place.
Loaded<LoadedSupport> read_support_file(const std::string& path, Diagnostics* bad_types = nullptr);
// Parses a text as if read from `path`.
Loaded<LoadedSupport> parse_support(const std::string& path, std::string_view bytes,
                                    Diagnostics* bad_types = nullptr);

// ---- known lists ----
//
// Where support lists are found by name: $CLEAVE_LISTS (folders, with ":" between them), then those
// that come with the program: share/cleave/lists where it is installed.

// The paths of the *.json files in these folders, sorted by name within each folder.
std::vector<std::string> known_lists();

// "lists/coreml.json" -> "coreml"
std::string known_list_name(const std::string& path);

// Reads the file of that name, or the known list if there is no such file. The error names a known
// list that is spelt nearly so, or begins so.
Loaded<LoadedSupport> read_list(const std::string& name, Diagnostics* bad_types = nullptr);

// ---- list target ----
//
// The numbers of the accelerator that a support list states:
//
//   "target": {"launch": "100us", "flops": "4TFLOP/s", "bandwidth": "50GB/s", "link": "gen4x4"}

// The numbers in the list's text; nullopt when it states none, or is not JSON. Linear in the text.
std::optional<TargetSpec> list_target(const SupportList& list);

// The numbers of a target with these lists: those of the first that states any. Linear in their texts.
std::optional<TargetSpec> first_list_target(std::span<const SupportList> lists);

// The object as the list has it, for a list that is made from this one; "" when it states none.
std::string list_target_text(const SupportList& list);

// ---- verdict file ----
//
// Verdict files: whether the accelerator runs each of some nodes. They win over all rules.
//
//   {"conv1": true, "relu": {"supported": false, "why": "crashes"}}       JSON
//   {"conv1": "NPU", "relu": "CPU"}                                       devices
//   node,supported,why                                                    CSV or TSV
//   conv1,true,
//   relu,no,crashes
//
// Yes is true, yes or 1; no is false, no or 0. Devices are as OpenVINO's query_model and ONNX
// Runtime's assignment name them: all but the CPU mean yes. A native support list may have such an object, too,
// as "verdicts".

// For which of several targets a verdict file is read: a device then means the target of that name,
// compared without case, and no for the others.
struct VerdictTarget {
  std::span<const std::string> names = {};  // of all targets; fewer than two: any device means yes
  std::size_t which = 0;
};

// The verdicts as a list with the role `verdicts`: a rule for each node, by its exact name, or by a glob with a device. Its
// text is a native list, which reports keep. Refuses a node that is given twice, and, of several
// targets, a device that is none of them. Linear.
Loaded<SupportList> read_verdict_file(const std::string& path, const VerdictTarget& target = {});
// The same from a text, as if read from `path`.
Loaded<SupportList> parse_verdicts(const std::string& path, std::string_view bytes,
                                   const VerdictTarget& target = {});

// Verdicts whose names are outputs of the graph, and of no node, become verdicts on the nodes that make
// these: OpenVINO calls such a node by its output. One on the node itself is kept instead. Globs become verdicts on the
// nodes that they fit; of several the last in the file decides. Returns the names of those that later ones overrule.
// Linear, but for each glob once.
std::vector<std::string> settle_verdicts(const Graph& graph, SupportList& list);

// Reads the object at the cursor into the list, whose role becomes `verdicts`.
void read_verdicts(JsonWalk& json, PlaceCounter& places, SupportList& list,
                   const VerdictTarget& target = {});

// What a user denies on the command line: ops and nodes, as an overlay on all lists.

// Each text names an op ("Conv", "com.microsoft::Gelu") or a node, or with * and ? several of both.
// The list's path is "--deny"; its text is a native list, which reports keep.
SupportList list_of_denials(const std::vector<std::string>& texts);

bool is_list_of_denials(const SupportList& list);

// The texts that name no op and no node of the graph, in the order given. Linear in the nodes,
// times the texts.
std::vector<std::string> idle_denials(const Graph& graph, const SupportList& list);

}  // namespace cleave
