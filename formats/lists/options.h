// The one table of all options of all commands. The command line with its help, configuration files, completions, the
// man page, the JSON of reports, baselines, comparisons, the schema and the library's request_of() are made from it.
//
// To add an option, add a row to the table in option_table.cc. One that decides the split says there what it sets; what
// any other is given is asked for by the command that has it: see Given in cli/options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/base.h"
#include "core/base/quantity.h"
#include "core/cost/cost.h"
#include "core/lists/support.h"
#include "core/split/options.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"
#include "formats/base/model.h"
#include "formats/lists/costs.h"

namespace cleave {

// ---- split request ----
//
// SplitRequest: all that decides a split. Every command and the library fill one; run_split() of
// formats/run/jobs makes the split.
//
//   auto request = request_of({{"min_acc_module_size", 2}, {"keep_qdq", true}, {"place", "cost"},
//                              {"target", "cpu:flops=5GFLOP/s,bandwidth=10GB/s"}});
//   if (!request) return refuse(request.error());

struct ModelRequest {
  std::string path = {};  // "-": standard input
  ShapeBindings bindings = {};
  ModelLimits limits = {};
};

// -s [NAME=]LIST: a list of a target. Targets stand in the order in which their names first appear.
struct ListSource {
  std::string target;  // a lower-case word; "": none was named, and the target is "acc"
  std::string path;
};

// Parses "npu=npu.json" or "npu.json". If the part before "=" is no lower-case word, as in
// "./a=b.json", the whole text is a path.
ListSource list_source_of(std::string_view text);

// What decides which nodes the accelerator takes, or each of several.
struct ListsRequest {
  std::vector<std::string> paths = {};     // of support lists, each perhaps as NAME=PATH
  std::vector<std::string> verdicts = {};  // of files of verdicts
  // Ops or names of nodes, also globs; NAME:OP where NAME is a target that `paths` name.
  std::vector<std::string> deny = {};
  bool all_of = false;               // a node must be accepted by each list, not by any
  std::optional<GraphView> as = {};  // the graph that they are about; nullopt: as each says

  // True when nothing is named that could accept a node.
  bool accepts_nothing() const { return paths.empty() && verdicts.empty(); }
  // The names of the targets; "acc" where none is named.
  std::vector<std::string> targets() const;
};

// That the option names a target that there is not.
Error no_such_target(std::string_view option, std::string_view name,
                     const std::vector<std::string>& targets);

// Refuses a target named "cpu", and too many targets.
Status<> check_targets(const ListsRequest& request);

// A setting for one of several targets: --min-acc-module-size npu=3.
struct TargetSetting {
  std::string target;
  std::string_view name;  // of the option: "--min-acc-module-size"
  std::string value;
};

// --link npu-gpu=16GB/s: a link between two targets, both ways.
struct LinkSpec {
  std::string one, other;
  double bytes_per_second = 0;  // infinite: they share their memory
};

// --phase prompt:T=64,P=0,on=npu: the model is split once more, at these sizes and on these targets.
struct PhaseSpec {
  std::string name;
  std::vector<std::pair<std::string, std::int64_t>> dims = {};
  std::vector<std::string> targets = {};  // "cpu": none; empty: all
};

// --dim P=0..4096: how the numbers grow from one size to the other.
struct DimRange {
  std::string name;
  std::int64_t first = 0, last = 0;  // first < last
};

// --tokens 1024+128: of the prompt, and new ones.
struct TokenCounts {
  std::uint64_t prompt = 1024;
  std::uint64_t more = 128;

  // Runs for new tokens: the run of the prompt makes the first of them.
  std::uint64_t runs_after_prompt() const { return more > 0 ? more - 1 : 0; }
};

struct SplitRequest {
  ModelRequest model = {};
  ListsRequest lists = {};
  SplitOptions options = {};
  std::optional<Link> link = {};          // --pcie-bw: of targets that `targets` give no link
  std::vector<TargetSpec> targets = {};   // --target: they win over the numbers in lists
  std::vector<CostSource> costs = {};     // --costs; not read where the caller has read them
  std::vector<std::string> require = {};  // nodes, globs or ops that PlaceBy::cost leaves
  std::vector<TargetSetting> target_settings = {};
  std::vector<LinkSpec> links = {};
  bool overlap = false;  // the report has the time in which parts of different devices overlap
  std::vector<PhaseSpec> phases = {};  // in the order in which they run; empty: one split
  TokenCounts tokens = {};             // of phases
  std::optional<DimRange> range = {};  // run_growth() alone takes it
};

// The split of each phase as a request of its own, with what all have in common. The error names a target that
// there is not, or a name that two phases have.
Result<std::vector<SplitRequest>> phase_requests(const SplitRequest& request);

// The files of --costs: NAME=FILE is of the target NAME where the lists name one.
std::vector<CostSource> costs_of(const SplitRequest& request);

// The last --target with a link for the target: one that names it before one for all (acc:link=). Null: none.
const TargetSpec* link_spec_of(const SplitRequest& request, std::string_view target);

// Warnings about options of the request that do nothing beside others: --pcie-bw beside a link= of --target, and
// energy= of a single target. They are the same for every model.
Diagnostics idle_request_warnings(const SplitRequest& request);

// ---- commands ----

// A set of commands, of one bit each: see `of`.
using Commands = std::uint32_t;

namespace of {
constexpr Commands inspect = 1U << 0U, preview = 1U << 1U, explain = 1U << 2U, draw = 1U << 3U,
                   help = 1U << 4U, split = 1U << 5U, stage = 1U << 6U, convert = 1U << 7U,
                   check = 1U << 8U, diff = 1U << 9U, advise = 1U << 10U, lists = 1U << 11U,
                   probe = 1U << 12U, tune = 1U << 13U, lower = 1U << 14U, reduce = 1U << 15U,
                   cut = 1U << 16U, backend = 1U << 17U, run = 1U << 18U, verify = 1U << 19U;
constexpr Commands program = 1U << 20U;  // options before any command
constexpr Commands to = 1U << 21U;       // what follows "to" in `cleave diff`
}  // namespace of

struct CommandRow {
  Commands command;
  std::string_view name;
  std::string_view help;      // one line
  std::string_view group;     // its heading in help: what the user wants to do
  std::string_view examples;  // for help: two commands, a line each
};
// All commands, in the order of help, also those that this program is built without.
std::span<const CommandRow> command_rows();
std::string_view name_of(Commands command);
inline constexpr std::string_view kProgramHelp =
    "Splits machine-learning model graphs between an accelerator and the CPU.";

// ---- option ----

// A value as it is in JSON. null: no limit.
using SettingValue = std::variant<std::nullptr_t, bool, std::int64_t, std::string>;

// A setting of SplitOptions: reports state it. Its field in JSON is called as the option, with _ for -.
struct SplitSetting {
  std::string_view refusal = {};  // what is wrong with a refused value: "is not a ..."
  bool is_count = false;          // in JSON a number
  bool is_compared = true;        // false: it does not affect the split
  bool is_for_targets = false;    // also takes NAME=VALUE, for one of several targets
  SettingValue (*get)(const SplitOptions&) = nullptr;         // null: the option is no such setting
  bool (*set)(SplitOptions&, const SettingValue&) = nullptr;  // false: refuses the value
};

// Headings of help, in this order.
enum class OptionGroup : std::uint8_t { model, list, split, devices, output, compilers, terminal };
std::string_view group_title(OptionGroup group);

// What a value must be, where the option sets nothing of a request, which would say so.
enum class ValueForm : std::uint8_t { text, count, number, share, time, bytes };

enum class Repeat : std::uint8_t {
  never,
  often,   // --deny a --deny b
  spread,  // check MODEL MODEL
};

// What an option does with the file that it names.
enum class FileRole : std::uint8_t {
  none,           // it names no file
  input,          // read
  output,         // written
  report,         // written; "-" is standard output
  output_folder,  // a folder that is made, or that files are written into
};

struct OptionMore {
  FileRole role = FileRole::none;
  Repeat repeat = Repeat::never;
  ValueForm form = ValueForm::text;
  double least = 0, most = 1e18;     // of a number
  std::string_view by_default = {};  // as help shows it
  std::string_view needs = {};       // another option that must be given, in commands that have it
  std::string_view excludes = {};    // options that must not be given, too: "--json,--html"
  Commands required = 0;             // by these commands
  std::string_view unless = {};      // it is not, where one of these is given: "--map,--learn"
  Commands shelf = 0;                // a command: without it there is no such option
  bool may_be_bare = false;          // given without a value, it has the value ""
  bool ends = false;                 // its answer is printed, and no command runs
  std::string_view beside = {};      // a file of this ending is written beside the one named
  std::uint8_t rank = 0;             // of the dozen that most use, the first is 1; 0: none of them
  std::span<const std::string_view> words = {};  // of a setting; other options name theirs as {a,b}
  SplitSetting setting = {};
  Status<> (*put)(SplitRequest&, const std::string&) = nullptr;  // what else of a request it sets
};

struct Option {
  OptionGroup group;
  std::string_view names;  // "-o,--output"; of an argument "MODEL"
  std::string_view
      value;  // for help: "FILE"; "{a,b}": one of these words; "": it is a flag, or a setting's words
  Commands in;            // the commands that have it
  std::string_view help;  // at most two lines of 100 columns
  OptionMore more = {};

  bool is_argument() const { return !names.starts_with('-'); }
  bool is_flag() const { return value.empty() && more.words.empty() && !is_argument(); }
  bool is_setting() const { return more.setting.get != nullptr; }
  // Whether it sets something of a SplitRequest.
  bool is_of_request() const { return is_setting() || more.put != nullptr; }
  std::string_view name() const;  // "--output", "MODEL"
  std::string key()
      const;  // of JSON, TOML, the library and Python: "output", "min_acc_module_size"
  std::vector<std::string_view> words() const;
  std::string value_text() const;  // for help: "FILE", "{a,b}"
};

// All options, in the order of help.
std::span<const Option> option_table();
// What --limit limits besides a model's size: its rows have a name, a form and the commands that do such work.
std::span<const Option> work_limits();
// The option that the command has by this name ("--output", "MODEL"); null: none.
const Option* find_option(std::string_view name, Commands in);
// The option of that key that sets something of a SplitRequest; null: none.
const Option* find_request_option(std::string_view key);

// "a", "b" of "a,b"
std::vector<std::string_view> split_names(std::string_view list);

// ---- use of the table ----

// What is wrong with a value that set() refuses: "is not flops, time or nodes".
std::string refusal_of(const Option& option);

// "yes", "3", "fewest"; "unlimited" for null.
std::string setting_text(const SettingValue& value);

// What differs between two settings of a split: `start: cpu, was acc`.
std::vector<std::string> changed_settings(const SplitOptions& before, const SplitOptions& now,
                                          bool has_several_targets);

// The fields of "settings" in reports.
void write_settings(JsonText& json, const SplitOptions& options);

// The schema of "settings" for formats/report/schema/report.schema.json: this table, and the given shapes
// of the model.
std::string settings_schema();

// "reference", "cpu", "acc", "fewest"
std::string_view start_side_name(StartSide side);
// "flops", "time", "nodes", "latency"
std::string_view keep_by_name(KeepBy by);

// Sets what the option is given. An option that is repeatable adds. Settings that hold for each target also take
// NAME=VALUE for one. The error does not name the option.
Status<> set_in_request(SplitRequest& request, const Option& option, const SettingValue& value);

// A request without a model and lists, of the keys of options. Also refuses a name that is given twice, unless it adds.
using NamedValues = std::vector<std::pair<std::string, SettingValue>>;
Result<SplitRequest, Fault> request_of(const NamedValues& values);

}  // namespace cleave
