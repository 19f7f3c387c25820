// From a file to a graph: tables, state, constants, nodes; then notes on what may surprise.
#include "formats/models/tflite/reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "formats/base/json/fields.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/bind/shape_bindings.h"
#include "formats/models/tflite/fields.h"
#include "formats/models/tflite/graph_maker.h"
#include "formats/models/tflite/model_reader.h"
#include "formats/models/tflite/state.h"

namespace cleave {
namespace {

constexpr std::size_t kMostNamed = 5;

// Turns shapes from --input-shape into sizes of open dims.
class InputShapes {
 public:
  InputShapes(const TfliteModel& model, const std::string& file) : model_(model), file_(file) {}

  // `bindings` with a dim added for each open one that a shape gives.
  Loaded<ShapeBindings> bind(const ShapeBindings& bindings) const {
    ShapeBindings all = bindings;
    const TfliteSubgraph& graph = model_.subgraph();
    for (const auto& [name, dims] : bindings.inputs) {
      for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
        const TfliteTensor& input = graph.tensors[static_cast<std::uint32_t>(graph.inputs[i])];
        if (input.name != name) continue;
        const std::string fault = bind_input(input, dims, all);
        if (fault.empty()) break;
        return Diagnostics{
            diagnostic_of(file_, "--input-shape gives " + escaped_in_quotes(name) + " " + fault)};
      }
    }
    return all;
  }

 private:
  static std::string bind_input(const TfliteTensor& input, const std::vector<std::int64_t>& dims,
                                ShapeBindings& all) {
    if (dims.size() != input.shape.size()) {
      return std::to_string(dims.size()) + " dims, but it has " +
             std::to_string(input.shape.size());
    }
    const FlatInts open = input.table.ints(tfl::tensor::signature);
    for (std::uint32_t i = 0; i < input.shape.size(); ++i) {
      if (dims[i] < 0 || dims[i] == input.shape[i]) continue;
      if (open.size() != input.shape.size() || open[i] >= 0) {
        return "the size " + std::to_string(dims[i]) + " in dim " + std::to_string(i) +
               ", which the model was converted with as " + std::to_string(input.shape[i]);
      }
      all.dims.emplace_back(i == 0 ? "N" : std::string(input.name) + ":" + std::to_string(i),
                            dims[i]);
    }
    return {};
  }

  const TfliteModel& model_;
  const std::string& file_;
};

// "sizes are open: bytes and FLOPs are counted as converted, N = 1; ... --dim N=SIZE sets them ..."
std::string traced_note(const std::map<std::string, std::int64_t, std::less<>>& traced) {
  if (traced.empty()) return {};
  const std::string sizes = capped_list(traced, kMostNamed, [](const auto& symbol_and_size) {
    return escaped(symbol_and_size.first) + " = " + std::to_string(symbol_and_size.second);
  });
  const std::string options = capped_list(
      traced, kMostNamed,
      [](const auto& symbol_and_size) {
        return "--dim " + escaped(symbol_and_size.first) + "=SIZE";
      },
      "", " ");
  return "sizes are open: bytes and FLOPs are counted as converted, " + sizes +
         ", and lists that want known sizes refuse them; " + options +
         " sets them, also in the files that are written";
}

// Names of tensors that were empty or repeated.
std::string names_note(const TfliteSubgraph& graph) {
  std::size_t made = 0;
  for (const TfliteTensor& tensor : graph.tensors) {
    made += tensor.name != tensor.table.bytes(tfl::tensor::name);
  }
  if (made == 0) return {};
  return counted(made, "tensor has", "tensors have") +
         " no name of its own: an empty name is t<number>, a repeated one gets #<number>";
}

std::string state_note(const TfliteState& state) {
  if (state.variables.empty()) return {};
  const std::size_t count = state.variables.size();
  return "the model keeps " + counted(count, "variable") +
         " from call to call, which are inputs and outputs here, behind its own";
}

std::string signatures_note(const TfliteModel& model) {
  std::vector<std::string_view> others = signature_keys(model);
  if (others.size() < 2) return {};
  const std::string_view own = model.signature.bytes(tfl::signature::key);
  others.erase(std::find(others.begin(), others.end(), own));
  return "this is signature " + escaped_in_quotes(own) +
         "; --signature reads another: " + key_list(others);
}

// A runtime calls a signature by its key, and takes the first one.
void warn_of_keys(const TfliteModel& model, const std::string& file, Diagnostics& warnings) {
  std::set<std::string_view> seen;
  for (const std::string_view key : signature_keys(model)) {
    if (seen.insert(key).second) continue;
    Diagnostic warning = diagnostic_of(
        file, "several signatures are " + escaped_in_quotes(key) + ": the first one counts");
    warning.severity = Severity::warning;
    warnings.push_back(std::move(warning));
    return;
  }
}

// Subgraphs that no signature and no operator names.
std::string unused_note(const TfliteModel& model) {
  std::vector<std::uint8_t> is_used(model.subgraphs.size(), 0);
  is_used[model.main] = 1;
  const FlatTables signatures = model.walk.root.tables(tfl::model::signature_defs);
  for (std::uint32_t i = 0; i < signatures.size(); ++i) {
    is_used[static_cast<std::size_t>(signatures[i].integer(tfl::signature::subgraph_index))] = 1;
  }
  for (const TfliteSubgraph& graph : model.subgraphs) {
    for (const TfliteOperator& op : graph.operators) {
      for (const TfliteBody& body : bodies_of(op))
        is_used[static_cast<std::size_t>(body.subgraph)] = 1;
    }
  }
  const auto unused = static_cast<std::size_t>(std::count(is_used.begin(), is_used.end(), 0));
  if (unused == 0) return {};
  return counted(unused, "subgraph is", "subgraphs are") + " named by no signature and no operator";
}

// Operators that other tools made: compiled parts, and calls of TensorFlow's own kernels.
std::string custom_note(const TfliteModel& model) {
  constexpr std::pair<std::string_view, std::string_view> kCompiled[] = {
      {"ethos-u", "Ethos-U"}, {"edgetpu-custom-op", "the Edge TPU"}, {"DISPATCH_OP", "an NPU"}};
  std::size_t compiled = 0, flex = 0;
  std::string_view target;
  for (const TfliteOperator& op : model.subgraph().operators) {
    const TfliteCode& code = model.code_of(op);
    if (!code.is_custom) continue;
    flex += code.name.starts_with("Flex");
    for (const auto& [name, device] : kCompiled) {
      if (code.name != name) continue;
      ++compiled;
      target = device;
    }
  }
  if (compiled > 0) {
    return counted(compiled, "operator is", "operators are") + " compiled for " +
           std::string(target) + " already: split the model that was compiled";
  }
  if (flex == 0) return {};
  return counted(flex, "operator needs", "operators need") +
         " the Flex delegate, which has TensorFlow's own kernels";
}

// LiteRT refuses axes that are none of the tensor's. The writer leaves out those of single scales.
void warn_of_axes(const TfliteModel& model, const std::string& file, Diagnostics& warnings) {
  std::size_t count = 0;
  std::uint32_t most_scales = 0;
  const TfliteTensor* first = nullptr;
  for (const TfliteTensor& tensor : model.subgraph().tensors) {
    const std::uint32_t scales = scales_of_no_axis(tensor);
    if (scales == 0) continue;
    most_scales = std::max(most_scales, scales);
    if (++count == 1) first = &tensor;
  }
  if (count == 0) return;
  Diagnostic warning = diagnostic_of(
      file, counted(count, "tensor is", "tensors are") + " quantised along an axis that " +
                (count == 1 ? "it does" : "they do") + " not have, the first is " +
                escaped_in_quotes(first->name) + ": LiteRT 2.3 and later refuse such a model" +
                (most_scales == 1 ? ", but take its partitions, which are written without" : ""));
  warning.severity = Severity::warning;
  warnings.push_back(std::move(warning));
}

}  // namespace

Loaded<TfliteLoaded> read_tflite(const SourceFile& source, const ShapeBindings& bindings,
                                 const ModelLimits& limits, const Progress& progress) {
  auto read = read_tflite_model(source, limits, bindings.signature);
  if (!read) return std::move(read).error();
  std::unique_ptr<TfliteModel, DeleteTfliteModel> model(new TfliteModel(*std::move(read)));
  find_tflite_state(*model);
  model->is_constant = tflite_constants(*model, model->main);
  auto bound = InputShapes(*model, source.path()).bind(bindings);
  if (!bound) return std::move(bound).error();
  ShapeBinder binder(*bound);
  auto made = make_tflite_graph(*model, binder, progress);
  JsonFaults faults(source);
  binder.report_faults(faults);
  if (!faults.empty()) return faults.errors();
  if (!made) return faults_of(source, made.error());
  TfliteLoaded loaded{std::move(model), std::move(made->graph), {}, {}};
  warn_of_keys(*loaded.model, source.path(), loaded.warnings);
  warn_of_axes(*loaded.model, source.path(), loaded.warnings);
  for (const std::string& note : {signatures_note(*loaded.model), state_note(loaded.model->state),
                                  names_note(loaded.model->subgraph()), traced_note(made->traced),
                                  custom_note(*loaded.model), unused_note(*loaded.model)}) {
    if (!note.empty()) loaded.notes.push_back(note);
  }
  return loaded;
}

void DeleteTfliteModel::operator()(TfliteModel* model) const noexcept { delete model; }

}  // namespace cleave
