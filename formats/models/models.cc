// Models of every format, known by their content; sizes that are open.
#include "formats/models/models.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/graph/state.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/models/graph_json.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/infer/infer.h"
#include "formats/onnx/read/reader.h"
#include "formats/pt2/pt2.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- model file ----

namespace {

Loaded<LoadedModel> read_graph_json_model(SourceFile source, const ShapeBindings& bindings,
                                          const ModelLimits& limits, const Progress& progress) {
  Loaded<GraphJson> json = read_graph_json(source, bindings, limits, progress);
  if (!json) return std::move(json).error();
  return LoadedModel{.source = std::move(source),
                     .origin = GraphJsonOrigin{json->output_tree},
                     .graph = std::move(json->graph),
                     .warnings = std::move(json->warnings),
                     .notes = std::move(json->notes)};
}

template <class Origin, class Read>
Loaded<LoadedModel> model_of(SourceFile source, Loaded<Read> read) {
  if (!read) return std::move(read).error();
  return LoadedModel{.source = std::move(source),
                     .origin = Origin{std::move(read->model)},
                     .graph = std::move(read->graph),
                     .warnings = std::move(read->warnings),
                     .notes = std::move(read->notes)};
}

Loaded<LoadedModel> onnx_model(SourceFile source, Loaded<OnnxLoaded> onnx) {
  const std::size_t misfits = onnx ? onnx->misfits : 0;
  auto model = model_of<OnnxOrigin>(std::move(source), std::move(onnx));
  if (model) model->misfits = misfits;
  return model;
}

Loaded<LoadedModel> read_onnx_model(SourceFile source, const ShapeBindings& bindings,
                                    const ModelLimits& limits, const Progress& progress) {
  auto onnx = read_onnx(source, bindings, limits, progress);
  return onnx_model(std::move(source), std::move(onnx));
}

Loaded<LoadedModel> read_pt2_model(SourceFile source, const ShapeBindings& bindings,
                                   const ModelLimits& limits, const Progress& progress) {
  auto pt2 = read_pt2(source, bindings, limits, progress);
  return model_of<Pt2Origin>(std::move(source), std::move(pt2));
}

Loaded<LoadedModel> read_tflite_origin(SourceFile source, const ShapeBindings& bindings,
                                       const ModelLimits& limits, const Progress& progress) {
  auto tflite = read_tflite(source, bindings, limits, progress);
  return model_of<TfliteOrigin>(std::move(source), std::move(tflite));
}

// The formats of models. The first row whose probe accepts the file reads it.
struct FormatRow {
  ModelFormat format;
  std::string_view name;
  bool (*probe)(std::string_view bytes);
  Loaded<LoadedModel> (*read)(SourceFile source, const ShapeBindings& bindings,
                              const ModelLimits& limits, const Progress& progress);
};
constexpr std::array<FormatRow, 4> kFormats = {{
    {ModelFormat::graph_json, "json", looks_like_json, read_graph_json_model},
    {ModelFormat::pt2, "pt2", looks_like_pt2, read_pt2_model},
    {ModelFormat::tflite, "tflite", looks_like_tflite, read_tflite_origin},
    {ModelFormat::onnx, "onnx", looks_like_onnx, read_onnx_model},
}};

// Formats often given to cleave by mistake, recognised by the bytes at `offset`.
struct Stranger {
  std::size_t offset;
  std::string_view bytes;
  std::string_view what;
};
using namespace std::string_view_literals;
constexpr std::array<Stranger, 10> kStrangers = {{
    {0, "\x80\x02"sv,
     "it is a pickle, as old PyTorch files are; export the model with scripts/export_fx.py or torch.onnx.export"sv},
    {4, "ORTM"sv,
     "it is in ONNX Runtime's own format (.ort); give the ONNX model that it was made of, or let ONNX Runtime write one: session option session.save_model_format=ONNX, with optimized_model_filepath"sv},
    {8, "TFL3"sv,
     "it is a TensorFlow Lite model with its size in front; remove the first 4 bytes"sv},
    {0, "LITERTLM"sv,
     "it is a LiteRT-LM bundle; take the .tflite models out of it, and give one of them"sv},
    {0, "\x89HDF"sv, "it is an HDF5 file, as Keras writes; convert the model to ONNX first"sv},
    {8, "{\""sv,
     "it is a safetensors file, which holds weights but no graph; export the model to ONNX"sv},
    {0, "\x1F\x8B"sv, "it is compressed with gzip; unpack it first"sv},
    {0, "\x28\xB5\x2F\xFD"sv, "it is compressed with zstd; unpack it first"sv},
    {0, "\xFD\x37zXZ"sv, "it is compressed with xz; unpack it first"sv},
    {0, "version https://git-lfs"sv,
     "it is a Git LFS pointer, not the file itself; run git lfs pull"sv},
}};

// Formats of models and weights that cleave does not read, by the ends of their names: files and folders.
struct OtherFormat {
  std::string_view ending, what;
};
constexpr std::array<OtherFormat, 9> kOtherFormats = {{
    {".mlpackage"sv,
     "it is a Core ML package, which is what Core ML compiles; give the model that it was converted from, and its list with -s coreml"sv},
    {".mlmodel"sv, "it is a Core ML model; give the model that it was converted from"sv},
    {".xml"sv, "it is an OpenVINO model; give the ONNX model that it was made of"sv},
    {".gguf"sv,
     "it is a GGUF file, weights of an LLM without a graph; export the model to ONNX, as with optimum-cli"sv},
    {".pte"sv, "it is an ExecuTorch program, compiled; give what torch.export.save wrote (.pt2)"sv},
    {".aimodel"sv, "it is a compiled model of Apple's; give the model that it was compiled from"sv},
    {".h5"sv, "it is a Keras model; convert it to .tflite, or to ONNX with tf2onnx"sv},
    {".pb"sv, "it is a graph of TensorFlow; convert it to .tflite, or to ONNX with tf2onnx"sv},
    {".safetensors"sv,
     "it is a safetensors file, weights without a graph; export the model to ONNX"sv},
}};

// What the format is called, and what to do; "" when the name does not tell.
std::string_view format_by_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const auto found = std::ranges::find_if(
      kOtherFormats, [&](const OtherFormat& one) { return path.ends_with(one.ending); });
  return found == kOtherFormats.end() ? std::string_view() : found->what;
}

const Stranger* find_stranger(std::string_view bytes) {
  const auto found = std::ranges::find_if(kStrangers, [&](const Stranger& s) {
    return bytes.size() >= s.offset && bytes.substr(s.offset).starts_with(s.bytes);
  });
  return found == kStrangers.end() ? nullptr : &*found;
}

bool is_text(std::string_view bytes) {
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  };
  return std::ranges::none_of(bytes, is_control) && first_invalid_utf8(bytes) == bytes.npos;
}

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    if (!text.empty()) text += ' ';
    text += kDigits[static_cast<unsigned char>(c) >> 4U];
    text += kDigits[static_cast<unsigned char>(c) & 15U];
  }
  return text;
}

// A guess at what a file that is not a model may be.
std::string description_of(std::string_view path, std::string_view bytes) {
  constexpr std::size_t kShown = 16;
  if (const Stranger* const stranger = find_stranger(bytes)) return std::string(stranger->what);
  if (const std::string_view what = format_by_name(path); !what.empty()) return std::string(what);
  const std::string_view start = bytes.substr(0, kShown);
  if (is_text(start))
    return "it begins with " + escaped_in_quotes(start.substr(0, start.find('\n')));
  return "its first bytes are " + hex_of(start);
}

// Adds the option that raises the limit, if the file is too large.
Diagnostics with_way_out(Diagnostics faults, const ModelLimits& limits) {
  std::string& message = faults.front().message;
  if (message == "has more than " + count_text(limits.file_bytes) + " bytes") {
    message += "; " + limit_hint(&ModelLimits::file_bytes);
  }
  return faults;
}

}  // namespace

namespace {

// Names the signature that was taken where runtimes would take another subgraph by themselves.
void complete_tflite(LoadedModel& model) {
  const TfliteModel& tflite = *model.tflite();
  if (tflite.main != 0) model.bindings.signature = tflite.signature.bytes(tfl::signature::key);
}

// ---- state ----

// Of torch.export: what a program writes of its own. The values of its signature are those of its graph.
std::vector<StatePair> known_state(const Graph& graph, const Pt2Model& model) {
  const auto is_state = [](const Pt2Output& output) {
    return output.kind == Pt2OutputKind::buffer_mutation ||
           output.kind == Pt2OutputKind::user_input_mutation;
  };
  if (std::ranges::none_of(model.program.outputs, is_state)) return {};
  std::unordered_map<std::uint32_t, ValueId> value_of;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    value_of.emplace(model.value_numbers[id_at<ValueId>(i)], id_at<ValueId>(i));
  }
  std::unordered_map<std::string_view, ValueId> inputs;
  const auto find = [&](std::uint32_t number) {
    const auto found = value_of.find(number);
    return found == value_of.end() ? kNone<ValueId> : found->second;
  };
  for (const Pt2Input& input : model.program.inputs) {
    if (input.value == kNoPt2) continue;
    inputs[model.program.values[input.value].name] = find(input.value);
    if (!input.target.empty()) inputs[input.target] = find(input.value);
  }
  std::vector<StatePair> pairs;
  for (const Pt2Output& output : model.program.outputs) {
    const auto input = inputs.find(output.target);
    if (!is_state(output) || output.refs.size() != 1 || input == inputs.end()) continue;
    pairs.push_back({input->second, find(output.refs[0].value)});
  }
  return pairs;
}

// Of TensorFlow Lite: variables, and inputs of a signature that an output has the name of.
std::vector<StatePair> known_state(const TfliteModel& model) {
  std::vector<StatePair> pairs;
  if (model.state.is_value) {
    for (const TfliteVariable& variable : model.state.variables) {
      if (variable.read == kNoTflite || variable.assign == kNoTflite) continue;
      pairs.push_back({model.values[variable.value], model.values[variable.newest]});
    }
  }
  const auto inputs = model.signature.tables(tfl::signature::inputs);
  const auto outputs = model.signature.tables(tfl::signature::outputs);
  std::unordered_map<std::string_view, ValueId> by_name;
  const auto value_of = [&](const FlatTable& map) {
    const auto tensor = static_cast<std::size_t>(map.integer(tfl::signature::tensor_index));
    return tensor < model.values.size() ? model.values[tensor] : kNone<ValueId>;
  };
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    by_name[inputs[i].bytes(tfl::signature::tensor_name)] = value_of(inputs[i]);
  }
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    const auto input = by_name.find(outputs[i].bytes(tfl::signature::tensor_name));
    if (input != by_name.end()) pairs.push_back({input->second, value_of(outputs[i])});
  }
  return pairs;
}

Status<> add_state(LoadedModel& model) {
  std::vector<StatePair> known;
  if (model.pt2() != nullptr) known = known_state(model.graph, *model.pt2());
  if (model.tflite() != nullptr) known = known_state(*model.tflite());
  auto state = find_state(model.graph, model.bindings.state, known);
  if (!state) return std::move(state).error();
  model.graph = model.graph.with_state(*std::move(state));
  const std::string text = state_text(model.graph);
  if (!text.empty()) model.notes.push_back("state: " + text);
  if (model.bindings.state.pairs.empty()) return Done{};
  // --state names all pairs, and those that names alone would give are no longer among them.
  const auto by_names = find_state(model.graph, {}, known);
  std::vector<ValueId> left_out;
  for (const StatePair& pair : by_names ? by_names->pairs : std::vector<StatePair>()) {
    const bool is_taken = std::ranges::any_of(model.graph.state().pairs, [&](const StatePair& own) {
      return own.input == pair.input ||
             (own.output == pair.output && pair.output != kNone<ValueId>);
    });
    if (!is_taken) left_out.push_back(pair.input);
  }
  if (left_out.empty()) return Done{};
  model.notes.push_back(
      "--state names all pairs, so " +
      std::string(left_out.size() == 1 ? "this input is" : "these inputs are") +
      " no state, though the names say so: " + capped_list(left_out, 4, [&](ValueId input) {
        return escaped(model.graph.value(input).name);
      }));
  return Done{};
}

}  // namespace

namespace {

// The input of ids or embeddings, of which the second size is how many tokens a run takes; kNone where there is none.
ValueId input_of_tokens(const Graph& graph) {
  for (const std::string_view word : {"input_ids", "inputs_embeds", "ids", "tokens", "embeds"}) {
    for (const ValueId input : graph.inputs()) {
      const std::string_view name = graph.value(input).name;
      const bool is_other = name.find("position") != name.npos || name.find("type") != name.npos;
      if (name.find(word) != name.npos && !is_other) return input;
    }
  }
  return kNone<ValueId>;
}

// ---- sizes that follow ----
//
// A state grows from [B,4,P,32] to [B,4,S,32], and a mask has the size S, too. S is not free: the operators make it of P
// and of the number of new tokens.

struct StateSize {
  std::string name;
  std::string state;  // the output in which it shows
  std::string past;   // what the size of its input is, "" for a number
  std::uint32_t axis = 0;
  bool is_of_input = false;
};

ValueId output_named(const Graph& graph, std::string_view name) {
  const auto outputs = graph.outputs();
  const auto found = std::ranges::find_if(
      outputs, [&](ValueId output) { return graph.value(output).name == name; });
  return found == outputs.end() ? kNone<ValueId> : *found;
}

bool is_mask(std::string_view input) { return input.find("mask") != input.npos; }

// `open`: the model as its file declares it; `bound`: with the sizes that are given.
std::vector<StateSize> state_sizes(const Graph& open, const Graph& bound) {
  std::set<std::string_view> others, of_masks;  // names of sizes
  std::vector<ValueId> masks;
  std::unordered_map<std::string_view, ValueId> inputs;
  for (const ValueId input : open.inputs()) {
    const bool of_mask = is_mask(open.value(input).name);
    const Shape shape = open.shape(input);
    inputs.emplace(open.value(input).name, input);
    if (of_mask && shape.size() == 2) masks.push_back(input);
    for (const Dim dim : shape) {
      if (dim.is_symbol()) (of_mask ? of_masks : others).insert(open.text(dim.name()));
    }
  }
  std::vector<StateSize> sizes;
  const auto name_of = [&](ValueId value, std::size_t axis) {
    const Shape shape = open.shape(value);
    const bool is_named = axis < shape.size() && shape[axis].is_symbol();
    return std::string(is_named ? open.text(shape[axis].name()) : "");
  };
  const auto add = [&](std::string name, std::string_view state, const std::string& past,
                       std::uint32_t axis) {
    if (name.empty()) return;
    // Sizes that some input other than a mask has are free: they are given, and do not follow.
    if (others.contains(name) || std::ranges::count(sizes, name, &StateSize::name) > 0) return;
    const bool is_of_input = of_masks.contains(name);
    sizes.push_back({std::move(name), std::string(state), past, axis, is_of_input});
  };
  // A size that contradicts the others hides in the bound graph that a state grows, and a file may not declare it.
  for (const Graph* const graph : {&open, &bound}) {
    for (const StatePair& pair : graph->state().pairs) {
      if (pair.kind != StateKind::grows || !is_written(*graph, pair)) continue;
      const std::string_view state = graph->value(pair.output).name;
      const ValueId declared = output_named(open, state);
      const auto input = inputs.find(graph->value(pair.input).name);
      if (declared == kNone<ValueId> || input == inputs.end()) continue;
      const std::string past = name_of(input->second, pair.axis);
      add(name_of(declared, pair.axis), state, past, pair.axis);
      for (const ValueId mask : masks) add(name_of(mask, 1), state, past, pair.axis);
    }
  }
  return sizes;
}

// Whether state_sizes() may have a size that is given, or that an input asks for: a mask has a name for one, or a name is
// given that no other input has. Costs no inference, as most models with state have neither.
bool may_follow(const OnnxModel& onnx, const ShapeBindings& given) {
  std::set<std::string> free;
  for (const OnnxValueInfo& input : onnx.graph.inputs) {
    for (const OnnxDim& dim : parse_onnx_type(input.type).dims) {
      if (dim.name.empty()) continue;
      if (is_mask(input.name)) return true;
      free.insert(dim.name);
    }
  }
  return std::ranges::any_of(given.dims,
                             [&](const auto& dim) { return !free.contains(dim.first); });
}

// The sizes that --dim and --input-shape give to names.
std::vector<std::pair<std::string, std::int64_t>> given_sizes(const ShapeBindings& bindings,
                                                              const Graph& open) {
  auto given = bindings.dims;
  for (const auto& [name, shape] : bindings.inputs) {
    for (const ValueId input : open.inputs()) {
      const Shape declared = open.shape(input);
      if (open.value(input).name != name || declared.size() != shape.size()) continue;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] < 0 || !declared[axis].is_symbol()) continue;
        const std::string_view symbol = open.text(declared[axis].name());
        const bool is_again =
            std::ranges::count(given, symbol, &std::pair<std::string, std::int64_t>::first) > 0;
        if (!is_again) given.emplace_back(symbol, shape[axis]);
      }
    }
  }
  return given;
}

// The past or the tokens, whichever of the two is open, that make a state as long as is stated; nullopt where both or none
// are open. As each makes it longer by one, a second size tells the first.
std::optional<std::pair<std::string, std::int64_t>> solved_size(
    GraphAgain& again, ShapeBindings bindings, const StateSize& size, std::int64_t stated,
    const std::set<std::string>& is_open, const std::string& tokens) {
  const bool has_past = is_open.contains(size.past);
  if (has_past == is_open.contains(tokens)) return std::nullopt;
  const std::string& name = has_past ? size.past : tokens;
  bindings.dims.emplace_back(name, 1);
  const auto tried = again.with(bindings);
  const ValueId output = tried ? output_named(tried->graph, size.state) : kNone<ValueId>;
  if (output == kNone<ValueId> || size.axis >= tried->graph.shape(output).size()) {
    return std::nullopt;
  }
  const Dim made = tried->graph.shape(output)[size.axis];
  if (!made.is_fixed()) return std::nullopt;
  return std::pair(name, stated - made.size() + 1);
}

// A size of 0 that is given to an input other than a state, which has none before the first step: there is nothing to
// run. Where a state has none, others may have its size, as a mask of it.
std::optional<Diagnostic> size_of_nothing(const LoadedModel& model) {
  const ShapeBindings& given = model.bindings;
  const auto has_zero = [](const auto& shape) { return contains(shape.second, 0); };
  const bool is_given =
      std::ranges::any_of(given.dims, [](const auto& dim) { return dim.second == 0; }) ||
      std::ranges::any_of(given.inputs, has_zero);
  if (!is_given || given.state.is_off) return std::nullopt;
  const Graph& graph = model.graph;
  const auto is_zero = [](Dim dim) { return dim.is_fixed() && dim.size() == 0; };
  std::set<ValueId> states;
  for (const StatePair& pair : graph.state().pairs) {
    const Shape shape = graph.shape(pair.input);
    const bool grows = pair.kind == StateKind::grows && pair.axis < shape.size();
    if (grows && is_zero(shape[pair.axis])) return std::nullopt;
    states.insert(pair.input);
  }
  for (const ValueId input : graph.inputs()) {
    if (states.contains(input) || std::ranges::none_of(graph.shape(input), is_zero)) continue;
    return diagnostic_of(model.source.path(), "there is nothing to run: a size of input " +
                                                  escaped_in_quotes(graph.value(input).name) +
                                                  " is 0, and must be 1 or more");
  }
  return std::nullopt;
}

// The bindings, and the sizes that follow from them. Refuses one that contradicts the others, and no tokens at all.
// Infers the model again where a size may follow: as its file declares it and, where one that follows is given, with the
// others bound.
Loaded<ShapeBindings> settled_sizes(const LoadedModel& model) {
  const ShapeBindings& own = model.bindings;
  const bool has_state = !model.graph.state().pairs.empty();
  if (const ValueId ids = input_of_tokens(model.graph);
      has_state && tokens_of_run(model.graph) == 0) {
    return Diagnostics{
        diagnostic_of(model.source.path(), "a run takes no tokens: the second size of input " +
                                               escaped_in_quotes(model.graph.value(ids).name) +
                                               " is 0, and must be 1 or more")};
  }
  if (auto fault = size_of_nothing(model)) return Diagnostics{*std::move(fault)};
  if (!has_state) return own;
  if (model.onnx() == nullptr || (own.dims.empty() && own.inputs.empty())) return own;
  if (!may_follow(*model.onnx(), own)) return own;
  GraphAgain again(model);
  ShapeBindings bindings = own;
  bindings.dims.clear();
  bindings.inputs.clear();
  // What the file declares is enough for names.
  if (own.inference == ShapeInference::full) bindings.inference = ShapeInference::file;
  const auto open = again.with(bindings);
  if (!open) return own;
  const std::vector<StateSize> sizes = state_sizes(open->graph, model.graph);
  const auto given = given_sizes(own, open->graph);
  const auto follows = [&](const std::string& name) {
    return std::ranges::find(sizes, name, &StateSize::name) != sizes.end();
  };
  bindings.inference = own.inference;
  std::string others;
  for (const auto& [name, size] : given) {
    if (follows(name)) continue;
    bindings.dims.emplace_back(name, size);
    others += (others.empty() ? "" : ", ") + escaped(name) + "=" + std::to_string(size);
  }
  std::optional<GraphAgain::Bound> without;
  if (std::ranges::any_of(given, [&](const auto& one) { return follows(one.first); })) {
    without = again.with(bindings);
    if (!without) return own;
  }
  const Graph& graph = without ? without->graph : model.graph;
  std::set<std::string> names_open;
  for (const ValueId input : open->graph.inputs()) {
    for (const Dim dim : open->graph.shape(input)) {
      if (dim.is_symbol()) names_open.emplace(open->graph.text(dim.name()));
    }
  }
  for (const auto& one : given) names_open.erase(one.first);
  const ValueId ids = input_of_tokens(open->graph);
  const Shape of_ids = ids == kNone<ValueId> ? Shape() : open->graph.shape(ids);
  const bool has_tokens = of_ids.size() > 1 && of_ids[1].is_symbol();
  const std::string tokens(has_tokens ? open->graph.text(of_ids[1].name()) : "");
  ShapeBindings settled = own;
  for (const StateSize& size : sizes) {
    const ValueId output = output_named(graph, size.state);
    if (output == kNone<ValueId> || size.axis >= graph.shape(output).size()) continue;
    const Dim made = graph.shape(output)[size.axis];
    const auto stated =
        std::ranges::find(given, size.name, &std::pair<std::string, std::int64_t>::first);
    if (!made.is_fixed() && stated != given.end()) {
      const auto other = solved_size(again, bindings, size, stated->second, names_open, tokens);
      if (!other) continue;
      if (other->second < (other->first == tokens ? 1 : 0)) {
        return Diagnostics{diagnostic_of(
            model.source.path(), escaped(size.name) + "=" + std::to_string(stated->second) +
                                     " is too small for " + others + ": " + escaped(other->first) +
                                     " would be " + std::to_string(other->second))};
      }
      names_open.erase(other->first);
      settled.dims.push_back(*other);
      continue;
    }
    if (!made.is_fixed()) continue;
    if (stated == given.end()) {
      // A size of outputs alone is not given: binding it is for inputs, and shape inference finds it anyway.
      if (size.is_of_input) settled.dims.emplace_back(size.name, made.size());
      continue;
    }
    // A mask may be longer than the state, of a model that cuts it.
    if (stated->second == made.size() || model.misfits <= without->misfits) continue;
    Diagnostic fault =
        diagnostic_of(model.source.path(),
                      escaped(size.name) + "=" + std::to_string(stated->second) + " contradicts " +
                          others + ", which make state " + escaped_in_quotes(size.state) + " " +
                          std::to_string(made.size()) + " long");
    fault.notes.push_back("leave " + escaped(size.name) + " out: it follows from the others");
    return Diagnostics{std::move(fault)};
  }
  return settled;
}

// With state, and no size that is not in the bindings.
Loaded<LoadedModel> read_bound(const FormatRow& row, SourceFile source,
                               const ShapeBindings& bindings, const ModelLimits& limits,
                               const Progress& progress) {
  Loaded<LoadedModel> model = row.read(std::move(source), bindings, limits, progress);
  if (!model) return model;
  model->bindings = bindings;
  model->limits = limits;
  if (row.format == ModelFormat::tflite) complete_tflite(*model);
  if (auto added = add_state(*model); !added) {
    Diagnostic fault = diagnostic_of(model->source.path(), added.error().message);
    fault.notes = added.error().notes;
    return Diagnostics{std::move(fault)};
  }
  return model;
}

}  // namespace

std::optional<std::uint64_t> tokens_of_run(const Graph& graph) {
  const ValueId input = input_of_tokens(graph);
  if (input == kNone<ValueId>) return std::nullopt;
  const auto shape = graph.shape(input);
  if (shape.size() < 2 || !shape[1].is_fixed()) return std::nullopt;
  return static_cast<std::uint64_t>(shape[1].size());
}

std::string state_text(const Graph& graph) {
  struct Sum {
    std::size_t count = 0;
    std::optional<std::uint64_t> bytes = 0;
  };
  std::map<std::pair<StateKind, std::uint32_t>, Sum> sums;  // by kind and axis
  for (const StatePair& pair : graph.state().pairs) {
    auto& [count, bytes] = sums[{pair.kind, pair.axis}];
    const auto own = state_bytes(graph, pair);
    bytes = bytes && own ? std::optional(saturating_add(*bytes, *own)) : std::nullopt;
    ++count;
  }
  std::vector<std::string> kinds;
  for (const auto& [kind, sum] : sums) {
    const bool has_axis = kind.first == StateKind::grows || kind.first == StateKind::appended;
    kinds.push_back(counted(sum.count, "pair") + ", " + std::string(state_kind_name(kind.first)) +
                    (has_axis ? " on axis " + std::to_string(kind.second) : "") + ", " +
                    (sum.bytes ? bytes_text(*sum.bytes) : "? bytes"));
  }
  std::string text = joined(kinds, "; ");
  const auto& open = graph.state().open;
  const auto name = [&](ValueId value) { return escaped(graph.value(value).name); };
  const auto open_text = [&](const OpenState& one) {
    return name(one.input) + " (" + capped_list(one.candidates, 4, name) + ")";
  };
  if (open.empty()) return text;
  const bool is_by_sizes = open.front().is_by_sizes;
  text += (text.empty() ? "" : "; ") +
          (is_by_sizes ? std::string("names of outputs say nothing; type and sizes leave ")
                       : counted(open.size(), "input") + " might be state of several outputs: ");
  if (!is_by_sizes) return text + capped_list(open, 4, open_text) + ": --state IN=OUT says which";
  return text + capped_list(
                    open, open.size(),
                    [&](const OpenState& one) {
                      return "--state " + name(one.input) + "=" + name(one.candidates.front());
                    },
                    "", " ");
}

namespace {

// `is_settled`: no size is to be looked for that follows from the bindings, or contradicts them.
Loaded<LoadedModel> read_file(const std::string& path, const ShapeBindings& bindings,
                              const ModelLimits& limits, const Progress& progress,
                              bool is_settled) {
  Loaded<SourceFile> source = SourceFile::open(path, limits.file_bytes);
  if (!source) {
    Diagnostics faults = with_way_out(std::move(source).error(), limits);
    std::error_code error;
    const std::string_view what = format_by_name(path);
    if (!what.empty() && std::filesystem::is_directory(path, error)) {
      faults.front().message = "not a model cleave can read; " + std::string(what);
    }
    return faults;
  }
  const std::string_view bytes = source->bytes();
  if (bytes.empty()) return Diagnostics{diagnostic_of(source->path(), "is empty, not a model")};
  if (find_stranger(bytes) == nullptr) {
    for (const FormatRow& row : kFormats) {
      if (!row.probe(bytes)) continue;
      for (const auto& [option, is_given] :
           {std::pair("--set-input", !bindings.values.empty()),
            std::pair("--signature", !bindings.signature.empty())}) {
        const std::string misfit = is_given ? option_misfit(option, row.format) : "";
        if (!misfit.empty()) return Diagnostics{diagnostic_of(source->path(), misfit)};
      }
      auto model = read_bound(row, *std::move(source), bindings, limits, progress);
      if (!model || is_settled) return model;
      const auto settled = settled_sizes(*model);
      if (!settled) return settled.error();
      if (settled->dims.size() == bindings.dims.size()) return model;
      // The file is read anew, as the graph of the first reading refers to it.
      SourceFile file = std::move(model->source);
      return read_bound(row, std::move(file), *settled, limits, progress);
    }
  }
  return Diagnostics{diagnostic_of(
      source->path(),
      "not a model cleave can read (native graph JSON, ONNX, torch.export, TensorFlow Lite); " +
          description_of(source->path(), bytes))};
}

}  // namespace

Loaded<LoadedModel> read_model(const std::string& path, const ShapeBindings& bindings,
                               const ModelLimits& limits, const Progress& progress) {
  return read_file(path, bindings, limits, progress, false);
}

std::optional<LoadedModel> read_again(const LoadedModel& model, const ShapeBindings& bindings) {
  // Bindings of cleave's own are often tried ones, which need not fit together.
  auto again = read_file(model.source.path_again(), bindings, model.limits, {}, true);
  if (!again) return std::nullopt;
  return *std::move(again);
}

std::optional<GraphAgain::Bound> GraphAgain::with(const ShapeBindings& bindings) {
  if (model_.onnx() == nullptr) {
    auto again = read_again(model_, bindings);
    if (!again) return std::nullopt;
    const auto kept = std::make_shared<LoadedModel>(*std::move(again));
    return Bound{std::move(kept->graph), kept->misfits, kept};
  }
  if (index_ == nullptr) {
    auto index = index_onnx(model_.source, model_.limits);
    if (!index) return std::nullopt;
    index_ = std::make_shared<const OnnxModel>(*std::move(index));
  }
  auto again = read_onnx_again(model_.source, *index_, bindings);
  if (!again) return std::nullopt;
  const auto kept = std::make_shared<OnnxLoaded>(*std::move(again));
  if (auto state = find_state(kept->graph, bindings.state)) {
    kept->graph = kept->graph.with_state(*std::move(state));
  }
  return Bound{std::move(kept->graph), kept->misfits, kept};
}

Loaded<LoadedModel> read_inlined(const LoadedModel& model, const ShapeBindings& bindings) {
  Loaded<SourceFile> source = SourceFile::open(model.source.path_again(), model.limits.file_bytes);
  if (!source) return std::move(source).error();
  auto onnx = read_onnx(*source, bindings, model.limits, {}, OnnxCalls::inlined);
  auto read = onnx_model(*std::move(source), std::move(onnx));
  if (read) read->bindings = bindings;
  if (read) read->limits = model.limits;
  if (read) (void)add_state(*read);  // the model had none that is refused
  return read;
}

std::string_view model_format_name(ModelFormat format) {
  const auto row = std::ranges::find(kFormats, format, &FormatRow::format);
  return row->name;
}

OpFacts op_facts(const LoadedModel& model) {
  switch (model.format()) {
    case ModelFormat::onnx: {
      OpFacts facts = onnx_op_facts();
      facts.elements = [onnx = model.onnx()](const Graph& graph, ValueId parameter) {
        return onnx_constant_elements(*onnx, graph, parameter);
      };
      facts.quantization = [onnx = model.onnx()](const Graph& graph, ValueId tensor) {
        return onnx_quantization(*onnx, graph, tensor);
      };
      facts.whole = nodes_of_contexts(*model.onnx(), model.graph);
      add_runtime_view(facts, model.onnx());
      return facts;
    }
    case ModelFormat::pt2:
      return torch_op_facts(*model.pt2());
    case ModelFormat::tflite:
      return tflite_op_facts(*model.tflite());
    default:
      return {};
  }
}

namespace {

// The text of the field "target" of a parameter in native JSON; "" if it has none.
std::string target_in(std::string_view declaration) {
  JsonCursor cursor(declaration);
  if (cursor.type() != JsonType::object) return {};
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    if (key->text == "target" && cursor.type() == JsonType::string) {
      return unescaped(cursor.take_string());
    }
    cursor.skip();
  }
  return {};
}

std::string target_in(const Pt2Model& model, ValueId parameter) {
  const std::uint32_t input = model.program.values[model.value_numbers[parameter]].input;
  return input == kNoPt2 ? std::string() : std::string(model.program.inputs[input].target);
}

}  // namespace

std::string parameter_path(const LoadedModel& model, ValueId parameter) {
  std::string path;
  if (const Pt2Model* const program = model.pt2()) {
    path = target_in(*program, parameter);
  } else if (model.format() == ModelFormat::graph_json) {
    const SourceSpan span = model.graph.declaration(parameter);
    if (span.length > 0) path = target_in(model.source.bytes().substr(span.offset, span.length));
  }
  return path.empty() ? std::string(model.graph.value(parameter).name) : path;
}

// ---- open shapes ----

namespace {

// What classifiers of pictures are trained with, since ImageNet. It is an assumption, and reports
// say so.
constexpr std::int64_t kImageSize = 224;

bool has_unnamed_dim(const Graph& graph, ValueId value) {
  const Shape shape = graph.shape(value);
  return std::ranges::any_of(shape, [](Dim dim) { return dim.is_unknown(); });
}

// Assumed sizes. A symbol has the same size everywhere: that of its first use.
class Assumption {
 public:
  // `as_traced`: sizes as traced, where there are such.
  Assumption(const Graph& graph, bool as_traced) : graph_(graph), as_traced_(as_traced) {}

  std::optional<Sizes> shape_of(ValueId input) {
    if (!graph_.has_rank(input)) return std::nullopt;
    Sizes sizes;
    const Shape shape = graph_.shape(input);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool is_of_image = shape.size() == 4 && axis > 0;
      const Dim dim = shape[axis];
      const std::int64_t size = as_traced_ && dim.counted_size() >= 0 ? dim.counted_size()
                                : is_of_image                         ? kImageSize
                                                                      : 1;
      if (dim.is_fixed()) {
        sizes.push_back(dim.size());
      } else if (dim.is_symbol()) {
        sizes.push_back(symbols_.emplace(graph_.text(dim.name()), size).first->second);
      } else {
        sizes.push_back(size);
      }
    }
    return sizes;
  }

 private:
  const Graph& graph_;
  bool as_traced_;
  std::map<std::string_view, std::int64_t> symbols_;
};

Sizes sizes_of(Shape shape) {
  Sizes sizes;
  for (const Dim dim : shape) sizes.push_back(dim.size());
  return sizes;
}

}  // namespace

bool has_open_shapes(const Graph& graph, std::span<const NodeId> nodes) {
  const auto is_open_node = [&](NodeId node) {
    for (const Operand& operand : graph.operands(node)) {
      if (is_open(graph, operand.value)) return true;
    }
    const auto outputs = graph.outputs(node);
    return std::ranges::any_of(outputs, [&](ValueId output) { return is_open(graph, output); });
  };
  return std::ranges::any_of(nodes, is_open_node);
}

std::vector<ValueId> open_inputs(const Graph& graph) {
  std::vector<ValueId> open;
  for (const ValueId input : graph.inputs()) {
    if (is_open(graph, input)) open.push_back(input);
  }
  return open;
}

std::set<std::string_view> computed_dims(const Graph& graph) {
  std::set<std::string_view> names, computed;
  for (const ValueId input : graph.inputs()) {
    if (!graph.has_rank(input)) continue;
    for (const Dim dim : graph.shape(input)) {
      if (dim.is_symbol()) names.insert(graph.text(dim.name()));
    }
  }
  for (const std::string_view name : names) {
    const auto expression = SizeExpression::parse(name);
    if (!expression) continue;
    const auto of = expression->names();
    const auto is_given = [&](std::string_view one) { return names.contains(one); };
    if (std::ranges::any_of(of, is_given)) computed.insert(name);
  }
  return computed;
}

ShapeBindings sizes_of_inputs(const Graph& graph,
                              const std::function<std::optional<Sizes>(ValueId)>& shape_of) {
  ShapeBindings sizes;
  const std::set<std::string_view> computed = computed_dims(graph);
  for (const ValueId input : open_inputs(graph)) {
    auto known = shape_of(input);
    if (!known) continue;
    const Shape shape = graph.shape(input);
    if (!graph.has_rank(input) || has_unnamed_dim(graph, input)) {
      for (std::size_t axis = 0; axis < shape.size() && axis < known->size(); ++axis) {
        const bool follows =
            shape[axis].is_symbol() && computed.contains(graph.text(shape[axis].name()));
        if (follows) (*known)[axis] = -1;
      }
      sizes.inputs.emplace_back(graph.value(input).name, *known);
      continue;
    }
    for (std::size_t axis = 0; axis < shape.size() && axis < known->size(); ++axis) {
      if (!shape[axis].is_symbol()) continue;
      const std::string_view name = graph.text(shape[axis].name());
      if (computed.contains(name)) continue;
      const auto is_same = [name](const auto& dim) { return dim.first == name; };
      if (std::ranges::none_of(sizes.dims, is_same)) {
        sizes.dims.emplace_back(name, (*known)[axis]);
      }
    }
  }
  return sizes;
}

ShapeBindings with_sizes(ShapeBindings bindings, const ShapeBindings& sizes) {
  bindings.dims.insert(bindings.dims.end(), sizes.dims.begin(), sizes.dims.end());
  for (const auto& input : sizes.inputs) {
    std::erase_if(bindings.inputs, [&](const auto& old) { return old.first == input.first; });
    bindings.inputs.push_back(input);
  }
  return bindings;
}

std::vector<std::string> size_options(const ShapeBindings& sizes) {
  std::vector<std::string> options;
  for (const auto& [name, size] : sizes.dims) {
    options.insert(options.end(), {"--dim", name + "=" + std::to_string(size)});
  }
  for (const auto& [name, dims] : sizes.inputs) {
    std::string text = name + "=";
    for (std::size_t i = 0; i < dims.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
    }
    options.insert(options.end(), {"--input-shape", text});
  }
  return options;
}

std::vector<ValueId> deciding_inputs(const Graph& graph, NodeId node) {
  // As when shapes are inferred: a condition that can be set is near an input, and the limit ends a
  // walk through paths that part and meet again.
  constexpr std::size_t kMostSteps = 64;
  const auto is_single = [&](ValueId value) {
    if (!graph.value(value).is_tensor() || !graph.has_rank(value)) return false;
    const Shape shape = graph.shape(value);
    return std::ranges::all_of(shape, [](Dim dim) { return dim.is_fixed() && dim.size() == 1; });
  };
  const auto operands = graph.operands(node);
  if (graph.op(node) != "If" || operands.empty()) return {};
  std::vector<ValueId> inputs, values = {operands.begin()->value};
  for (std::size_t step = 0; step < values.size(); ++step) {
    const Value& value = graph.value(values[step]);
    if (step == kMostSteps) return {};
    if (value.kind == ValueKind::input) {
      if (!is_single(values[step])) return {};
      if (!contains(inputs, values[step])) {
        inputs.push_back(values[step]);
      }
    } else if (value.kind == ValueKind::node_output) {
      for (const Operand& operand : graph.operands(value.producer)) {
        values.push_back(operand.value);
      }
    }
  }
  return inputs;
}

std::vector<ValueId> deciding_inputs(const Graph& graph) {
  std::vector<ValueId> inputs;
  for (const NodeId node : graph.nodes()) {
    for (const ValueId input : deciding_inputs(graph, node)) {
      if (!contains(inputs, input)) inputs.push_back(input);
    }
  }
  return inputs;
}

namespace {

// Sizes of the open dims of one kind of model.
struct LikelySizes {
  std::int64_t height, width, other;
};
// Sides of pictures, and any other dim. 224 is what classifiers take; 48 and 32 high are lines of
// text for recognition; 640 is usual for detection, and 16,000 are a second of sound at 16 kHz. The
// set with the fewest misfits, then the fewest open shapes, is proposed, so one that fits nothing
// costs a reading of the model. The order decides a tie: the commonest come first.
constexpr std::array<LikelySizes, 8> kLikely = {{{224, 224, 128},
                                                 {320, 320, 512},
                                                 {48, 320, 16},
                                                 {32, 320, 256},
                                                 {640, 640, 16'000},
                                                 {256, 256, 1},
                                                 {64, 256, 80},
                                                 {96, 96, 1'600}}};

// A picture is [batch, channels, height, width]; a state [layers, batch, size].
std::int64_t likely_size(Shape shape, std::size_t axis, const LikelySizes& sizes) {
  const bool is_state = shape.size() == 3 && axis == 1 && shape[0].is_fixed();
  if (axis == 0 || is_state) return 1;
  const bool is_picture = shape.size() == 4 && axis > 1 &&
                          (!shape[1].is_fixed() || shape[1].size() == 1 || shape[1].size() == 3);
  if (!is_picture) return sizes.other;
  return axis == 2 ? sizes.height : sizes.width;
}

std::size_t count_open(const Graph& graph) {
  std::size_t count = 0;
  for (const NodeId node : graph.nodes()) {
    for (const ValueId output : graph.outputs(node)) {
      if (graph.value(output).is_tensor() && is_open(graph, output)) ++count;
    }
  }
  return count;
}

}  // namespace

std::optional<Fitting> fitting_sizes(const LoadedModel& model, GraphAgain& again) {
  const Graph& graph = model.graph;
  std::optional<Fitting> best;
  std::pair<std::size_t, std::size_t> least;
  for (const LikelySizes& likely : kLikely) {
    std::unordered_map<std::string, Sizes> shapes;
    std::map<std::string_view, std::int64_t> symbols;
    const auto shape_of = [&](ValueId input) -> std::optional<Sizes> {
      if (!graph.has_rank(input)) return std::nullopt;
      const Shape shape = graph.shape(input);
      Sizes sizes;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const Dim dim = shape[axis];
        const std::int64_t size = likely_size(shape, axis, likely);
        sizes.push_back(dim.is_fixed() ? dim.size()
                        : dim.is_symbol()
                            ? symbols.emplace(graph.text(dim.name()), size).first->second
                            : size);
      }
      shapes.emplace(graph.value(input).name, sizes);
      return sizes;
    };
    const ShapeBindings sizes = sizes_of_inputs(graph, shape_of);
    if (shapes.empty()) return std::nullopt;
    auto bound = again.with(with_sizes(model.bindings, sizes));
    if (!bound) continue;
    const std::pair now(bound->misfits, count_open(bound->graph));
    if (best && now >= least) continue;
    best = Fitting{std::move(shapes), *std::move(bound)};
    least = now;
    if (now == std::pair<std::size_t, std::size_t>()) break;
  }
  return best;
}

std::vector<std::string> sizes_within(const LoadedModel& model) {
  if (model.onnx() == nullptr || model.bindings.dims.empty()) return {};
  std::set<std::string> of_inputs;
  for (const OnnxValueInfo& input : model.onnx()->graph.inputs) {
    for (const OnnxDim& dim : parse_onnx_type(input.type).dims) of_inputs.emplace(dim.name);
  }
  std::vector<std::string> within;
  for (const auto& [name, size] : model.bindings.dims) {
    if (!of_inputs.contains(name)) within.push_back(name + "=" + std::to_string(size));
  }
  return within;
}

std::optional<AssumedShapes> assume_shapes(const LoadedModel& model) {
  AssumedShapes assumed;
  std::optional<LoadedModel> bound;
  for (const bool as_traced : {false, true}) {
    Assumption assumption(model.graph, as_traced);
    assumed.sizes =
        sizes_of_inputs(model.graph, [&](ValueId input) { return assumption.shape_of(input); });
    if (size_options(assumed.sizes).empty()) return std::nullopt;
    bound = read_again(model, with_sizes(model.bindings, assumed.sizes));
    if (bound) break;
  }
  if (!bound) return std::nullopt;
  const Graph& graph = bound->graph;
  for (std::size_t i = 0; i < graph.value_count(); ++i) {
    const auto value = static_cast<ValueId>(i);
    if (is_open(graph, value)) continue;
    assumed.shapes.emplace(graph.value(value).name, sizes_of(graph.shape(value)));
  }
  return assumed;
}

// ---- format options ----

namespace {

struct FormatOption {
  std::string_view option;
  bool onnx, pt2, tflite;
  std::string_view why = {};  // ", ..."; may be empty

  bool is_for(ModelFormat format) const {
    return (format == ModelFormat::onnx && onnx) || (format == ModelFormat::pt2 && pt2) ||
           (format == ModelFormat::tflite && tflite);
  }
};

constexpr std::array<FormatOption, 12> kOptions = {{
    {"--annotate", true, false, false, ", whose nodes ONNX Runtime can place"},
    {"--as", true, false, false, ", which ONNX Runtime changes before it asks a provider"},
    {"--bundle", false, true, true, ", of which one file can hold several"},
    {"--capture", true, true, false, ", whose partitions it runs"},
    {"--fold write", true, false, false},
    {"--fold", true, true, true},
    {"--infer", true, false, false, ", whose shapes are inferred"},
    {"--lift-state", false, false, true, ", whose partitions keep variables"},
    {"--opset", true, false, false},
    {"--phase", true, false, false, ", of which several splits can share one file of weights"},
    {"--set-input", true, false, false, ", whose shapes are inferred"},
    {"--signature", false, true, true, ", which may have several"},
}};

// "TensorFlow Lite and torch.export"
std::string formats_of(const FormatOption& row) {
  std::string text;
  const auto add = [&](bool is_one, std::string_view name) {
    if (!is_one) return;
    text += (text.empty() ? "" : " and ");
    text += name;
  };
  add(row.onnx, "ONNX");
  add(row.tflite, "TensorFlow Lite");
  add(row.pt2, "torch.export");
  return text;
}

}  // namespace

std::string option_misfit(std::string_view given, ModelFormat format) {
  const std::string_view option = given.substr(0, given.find(' '));
  const auto* const row = std::ranges::find_if(kOptions, [&](const FormatOption& known) {
    return known.option == given || known.option == option;
  });
  if (row == kOptions.end() || row->is_for(format)) return {};
  return std::string(given) + " is for " + formats_of(*row) + " models" + std::string(row->why);
}

Diagnostics idle_option_warnings(const LoadedModel& model) {
  Diagnostics warnings;
  const auto warn = [&](const std::string& given) {
    const std::string misfit = option_misfit(given, model.format());
    if (misfit.empty()) return;
    warnings.push_back(diagnostic_of(model.source.path(), misfit + ": it does nothing here"));
    warnings.back().severity = Severity::warning;
  };
  const ShapeBindings plain;
  const ShapeBindings& bindings = model.bindings;
  if (bindings.folding != plain.folding) {
    warn("--fold " + std::string(folding_name(bindings.folding)));
  }
  if (bindings.inference != plain.inference) {
    warn("--infer " + std::string(shape_inference_name(bindings.inference)));
  }
  return warnings;
}

}  // namespace cleave
