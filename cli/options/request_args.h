// The options of a SplitRequest, the same on all commands that split; and those of the model alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/run/jobs/split_request.h"

namespace CLI {
class App;
}

namespace cleave {

// What the options set must outlive the app.

// MODEL, and the options below. What tables [[model]] of --config say of the model is added when all
// is parsed.
void add_model_options(CLI::App& app, ModelRequest& model);
// Adds what `--dim`, `--input-shape` or `--set-input` is given, such as "N=8". The error does not name
// the option.
Status<> add_binding(ShapeBindings& bindings, std::string_view option, const std::string& text);
// --dim, --input-shape, --set-input, --infer, --fold, --signature, --limit
void add_binding_options(CLI::App& app, ModelRequest& model);
// --costs
void add_costs_option(CLI::App& app, std::vector<CostSource>& costs);

enum class Lists : bool { optional, required };
// Whether a command splits for several targets; where it does not, it refuses them.
enum class Targets : bool { one, several };
// -s/--support, --deny, --verdicts, all repeatable; --all-of, --as. Where they are required, a file of
// verdicts will do.
void add_list_options(CLI::App& app, ListsRequest& lists, Lists need = Lists::required,
                      Targets targets = Targets::one);

// The settings of the split, --target, --pcie-bw; --require where the command has no gate of that
// name.
void add_setting_options(CLI::App& app, SplitRequest& request);
// What is wrong with the name of a node or op; "" if nothing is.
std::string names_no_node(const std::string& text);
void add_require_option(CLI::App& app, std::vector<std::string>& require);

// All of the above: what a command takes that splits one model.
void add_split_options(CLI::App& app, SplitRequest& request, Lists need = Lists::required,
                       Targets targets = Targets::one);

}  // namespace cleave
