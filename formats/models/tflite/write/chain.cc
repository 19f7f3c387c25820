#include "formats/models/tflite/write/chain.h"

#include <algorithm>

#include "formats/base/json/text.h"
#include "formats/models/tflite/fields.h"

namespace cleave {
namespace {

using Layout = JsonText::Layout;

class ChainWriter {
 public:
  ChainWriter(const TfliteModel& model, const TflitePlan& plan, const TfliteChainNames& names)
      : model_(model), graph_(model.subgraph()), plan_(plan), names_(names) {}

  std::string write() {
    json_.begin_object();
    json_.begin_list("order");
    for (const TflitePart& part : plan_.parts) write_part(part);
    json_.end_list();
    write_own("inputs", graph_.inputs);
    write_own("outputs", graph_.outputs);
    write_state();
    write_init();
    write_signature();
    write_open();
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  std::string_view name_of(std::uint32_t tensor) const { return graph_.tensors[tensor].name; }
  std::string_view own_name(std::int64_t tensor) const {
    return name_of(model_.state.read_as[static_cast<std::size_t>(tensor)]);
  }

  void write_values(std::string_view key, const std::vector<std::uint32_t>& tensors) {
    json_.begin_list(key, Layout::one_line);
    for (const std::uint32_t tensor : tensors) json_.text(name_of(tensor));
    json_.end_list();
  }

  void write_part(const TflitePart& part) {
    const std::size_t number = index(part.part);
    json_.begin_object();
    json_.text("name", names_.names[number]);
    json_.text("file", names_.files[number]);
    write_values("inputs", part.inputs);
    write_values("outputs", part.outputs);
    write_values("writes_inputs", {});
    write_values("repeated", {});
    json_.begin_list("variables", Layout::one_line);
    for (const std::uint32_t v : part.variables) json_.text(target_of(v));
    json_.end_list();
    json_.end_object();
  }

  void write_own(std::string_view key, const FlatInts& tensors) {
    json_.begin_list(key, Layout::one_line);
    for (std::uint32_t i = 0; i < tensors.size(); ++i) json_.text(own_name(tensors[i]));
    json_.end_list();
  }

  std::string target_of(std::uint32_t v) const {
    const TfliteVariable& variable = model_.state.variables[v];
    if (variable.container.empty()) return std::string(variable.shared_name);
    return std::string(variable.container) + "/" + std::string(variable.shared_name);
  }

  void write_state() {
    json_.begin_list("state");
    for (const std::uint32_t v : plan_.lifted) {
      if (model_.state.variables[v].read == kNoTflite) continue;
      json_.begin_object(Layout::one_line);
      json_.text("name", model_.state.variables[v].name);
      json_.text("kind", "variable");
      json_.text("target", target_of(v));
      json_.end_object();
    }
    json_.end_list();
    json_.begin_list("mutations");
    for (const std::uint32_t v : plan_.lifted) {
      if (model_.state.variables[v].newest == kNoTflite) continue;
      json_.begin_object(Layout::one_line);
      json_.text("kind", "variable");
      json_.text("target", target_of(v));
      json_.text("value", name_of(model_.state.variables[v].newest));
      json_.end_object();
    }
    json_.end_list();
  }

  void write_init() {
    if (names_.init_file.empty()) return;
    json_.begin_object("init");
    json_.text("file", names_.init_file);
    json_.begin_list("outputs", Layout::one_line);
    for (const std::uint32_t v : names_.init) json_.text(model_.state.variables[v].name);
    json_.end_list();
    json_.end_object();
  }

  void write_signature() {
    if (model_.signature.is_absent()) return;
    json_.begin_object("signature");
    json_.text("key", model_.signature.bytes(tfl::signature::key));
    write_names("inputs", model_.signature.tables(tfl::signature::inputs));
    write_names("outputs", model_.signature.tables(tfl::signature::outputs));
    json_.end_object();
  }

  void write_names(std::string_view key, const FlatTables& maps) {
    json_.begin_list(key);
    for (std::uint32_t i = 0; i < maps.size(); ++i) {
      const std::int64_t tensor = maps[i].integer(tfl::signature::tensor_index);
      if (static_cast<std::uint64_t>(tensor) >= graph_.tensors.size()) continue;
      json_.begin_object(Layout::one_line);
      json_.text("name", maps[i].bytes(tfl::signature::tensor_name));
      json_.text("value", own_name(tensor));
      json_.end_object();
    }
    json_.end_list();
  }

  void write_open() {
    std::vector<std::uint32_t> open;
    for (const TflitePart& part : plan_.parts) {
      for (const std::uint32_t tensor : part.inputs) {
        const FlatInts signature = graph_.tensors[tensor].table.ints(tfl::tensor::signature);
        bool is_open = false;
        for (std::uint32_t i = 0; i < signature.size(); ++i) is_open = is_open || signature[i] < 0;
        if (is_open) open.push_back(tensor);
      }
    }
    std::sort(open.begin(), open.end());
    open.erase(std::unique(open.begin(), open.end()), open.end());
    write_values("open", open);
  }

  const TfliteModel& model_;
  const TfliteSubgraph& graph_;
  const TflitePlan& plan_;
  const TfliteChainNames& names_;
  JsonText json_;
};

}  // namespace

std::string tflite_chain_json(const TfliteModel& model, const TflitePlan& plan,
                              const TfliteChainNames& names) {
  return ChainWriter(model, plan, names).write();
}

}  // namespace cleave
