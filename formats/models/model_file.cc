#include "formats/models/model_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/number_text.h"
#include "formats/base/json/cursor.h"
#include "formats/base/text/limits.h"
#include "formats/base/text/utf8.h"
#include "formats/models/format_options.h"
#include "formats/models/graph_json/graph_json.h"
#include "formats/models/onnx/index/compiled_nodes.h"
#include "formats/models/onnx/index/index.h"
#include "formats/models/onnx/infer/schema.h"
#include "formats/models/onnx/read/reader.h"
#include "formats/models/onnx/view/runtime_view.h"
#include "formats/models/pt2/model.h"
#include "formats/models/pt2/reader.h"
#include "formats/models/tflite/fields.h"
#include "formats/models/tflite/model_reader.h"
#include "formats/models/tflite/reader.h"

namespace cleave {
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

Loaded<LoadedModel> onnx_model(SourceFile source, Loaded<OnnxLoaded> onnx) {
  if (!onnx) return std::move(onnx).error();
  return LoadedModel{.source = std::move(source),
                     .origin = OnnxOrigin{std::move(onnx->model)},
                     .graph = std::move(onnx->graph),
                     .warnings = std::move(onnx->warnings),
                     .notes = std::move(onnx->notes),
                     .misfits = onnx->misfits};
}

Loaded<LoadedModel> read_onnx_model(SourceFile source, const ShapeBindings& bindings,
                                    const ModelLimits& limits, const Progress& progress) {
  auto onnx = read_onnx(source, bindings, limits, progress);
  return onnx_model(std::move(source), std::move(onnx));
}

Loaded<LoadedModel> read_pt2_model(SourceFile source, const ShapeBindings& bindings,
                                   const ModelLimits& limits, const Progress& progress) {
  Loaded<Pt2Loaded> pt2 = read_pt2(source, bindings, limits, progress);
  if (!pt2) return std::move(pt2).error();
  return LoadedModel{.source = std::move(source),
                     .origin = Pt2Origin{std::move(pt2->model)},
                     .graph = std::move(pt2->graph),
                     .warnings = std::move(pt2->warnings),
                     .notes = std::move(pt2->notes)};
}

Loaded<LoadedModel> read_tflite_origin(SourceFile source, const ShapeBindings& bindings,
                                       const ModelLimits& limits, const Progress& progress) {
  Loaded<TfliteLoaded> tflite = read_tflite(source, bindings, limits, progress);
  if (!tflite) return std::move(tflite).error();
  return LoadedModel{.source = std::move(source),
                     .origin = TfliteOrigin{std::move(tflite->model)},
                     .graph = std::move(tflite->graph),
                     .warnings = std::move(tflite->warnings),
                     .notes = std::move(tflite->notes)};
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
constexpr std::array<Stranger, 9> kStrangers = {{
    {0, "\x80\x02"sv,
     "it is a pickle, as old PyTorch files are; export the model with scripts/export_fx.py or "
     "torch.onnx.export"sv},
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

const Stranger* find_stranger(std::string_view bytes) {
  const auto found = std::find_if(kStrangers.begin(), kStrangers.end(), [&](const Stranger& s) {
    return bytes.size() >= s.offset && bytes.substr(s.offset).starts_with(s.bytes);
  });
  return found == kStrangers.end() ? nullptr : &*found;
}

bool is_text(std::string_view bytes) {
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  };
  return std::none_of(bytes.begin(), bytes.end(), is_control) &&
         first_invalid_utf8(bytes) == bytes.npos;
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
std::string description_of(std::string_view bytes) {
  constexpr std::size_t kShown = 16;
  if (const Stranger* const stranger = find_stranger(bytes)) return std::string(stranger->what);
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

}  // namespace

Loaded<LoadedModel> read_model(const std::string& path, const ShapeBindings& bindings,
                               const ModelLimits& limits, const Progress& progress) {
  Loaded<SourceFile> source = SourceFile::open(path, limits.file_bytes);
  if (!source) return with_way_out(std::move(source).error(), limits);
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
      Loaded<LoadedModel> model = row.read(std::move(*source), bindings, limits, progress);
      if (model) model->bindings = bindings;
      if (model) model->limits = limits;
      if (model && row.format == ModelFormat::tflite) complete_tflite(*model);
      return model;
    }
  }
  return Diagnostics{diagnostic_of(
      source->path(),
      "not a model cleave can read (native graph JSON, ONNX, torch.export, TensorFlow "
      "Lite); " +
          description_of(bytes))};
}

std::optional<LoadedModel> read_again(const LoadedModel& model, const ShapeBindings& bindings) {
  auto again = read_model(model.source.path_again(), bindings, model.limits);
  if (!again) return std::nullopt;
  return *std::move(again);
}

Loaded<LoadedModel> read_inlined(const LoadedModel& model, const ShapeBindings& bindings) {
  Loaded<SourceFile> source = SourceFile::open(model.source.path_again(), model.limits.file_bytes);
  if (!source) return std::move(source).error();
  auto onnx = read_onnx(*source, bindings, model.limits, {}, OnnxCalls::inlined);
  auto read = onnx_model(*std::move(source), std::move(onnx));
  if (read) read->bindings = bindings;
  if (read) read->limits = model.limits;
  return read;
}

std::string_view model_format_name(ModelFormat format) {
  const auto row = std::find_if(kFormats.begin(), kFormats.end(),
                                [&](const FormatRow& known) { return known.format == format; });
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

}  // namespace cleave
