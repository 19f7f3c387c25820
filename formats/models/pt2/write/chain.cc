#include "formats/models/pt2/write/chain.h"

#include "formats/base/json/text.h"

namespace cleave {
namespace {

using Layout = JsonText::Layout;

class ChainWriter {
 public:
  ChainWriter(const Pt2Model& model, const Pt2ChainNames& names)
      : program_(model.program), effects_(model.effects), names_(names) {}

  std::string write(const Pt2Plan& plan) {
    json_.begin_object();
    json_.begin_list("order");
    for (const Pt2Part& part : plan.parts) write_part(part);
    json_.end_list();
    write_inputs();
    write_outputs();
    write_state(plan);
    write_mutations(plan);
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  void write_values(std::string_view key, const std::vector<std::uint32_t>& values) {
    json_.begin_list(key, Layout::one_line);
    for (const std::uint32_t value : values) json_.text(program_.values[value].name);
    json_.end_list();
  }

  void write_part(const Pt2Part& part) {
    const std::size_t number = index(part.part);
    json_.begin_object();
    json_.text("name", names_.names[number]);
    json_.text("file", names_.files[number]);
    if (!names_.models.empty()) json_.text("model", names_.models[number]);
    write_values("inputs", part.inputs);
    write_values("outputs", part.outputs);
    write_values("writes_inputs", part.written_inputs);
    json_.begin_list("repeated", Layout::one_line);
    for (const std::uint32_t node : part.repeated) json_.text(program_.nodes[node].name);
    json_.end_list();
    json_.end_object();
  }

  void write_inputs() {
    json_.begin_list("inputs", Layout::one_line);
    for (const Pt2Input& input : program_.inputs) {
      if (is_lifted(input.kind)) continue;
      if (input.value == kNoPt2) {
        json_.null();
      } else {
        json_.text(program_.values[input.value].name);
      }
    }
    json_.end_list();
  }

  void write_outputs() {
    json_.begin_list("outputs");
    for (const Pt2Output& output : program_.outputs) {
      if (output.kind != Pt2OutputKind::user_output && output.kind != Pt2OutputKind::loss_output) {
        continue;
      }
      if (output.refs.empty()) {
        json_.document(program_.text_of(output.argument));
      } else {
        json_.text(program_.values[effects_.newest[output.refs.front().value]].name);
      }
    }
    json_.end_list();
  }

  void write_state(const Pt2Plan& plan) {
    json_.begin_list("state");
    for (const std::uint32_t value : plan.state) {
      const Pt2Input& input = program_.inputs[program_.values[value].input];
      json_.begin_object(Layout::one_line);
      json_.text("name", program_.values[value].name);
      json_.text("kind", input.kind == Pt2InputKind::parameter ? "parameter" : "buffer");
      json_.text("target", input.target);
      if (input.kind == Pt2InputKind::buffer) json_.flag("persistent", input.is_persistent);
      json_.end_object();
    }
    json_.end_list();
  }

  void write_mutations(const Pt2Plan& plan) {
    json_.begin_list("mutations");
    for (const Pt2Mutation& mutation : plan.mutations) {
      json_.begin_object(Layout::one_line);
      json_.text("kind", mutation.kind);
      json_.text("target", mutation.target);
      json_.text("value", program_.values[mutation.value].name);
      json_.end_object();
    }
    json_.end_list();
  }

  const Pt2Program& program_;
  const Pt2Effects& effects_;
  const Pt2ChainNames& names_;
  JsonText json_;
};

}  // namespace

std::string pt2_chain_json(const Pt2Model& model, const Pt2Plan& plan, const Pt2ChainNames& names) {
  return ChainWriter(model, names).write(plan);
}

}  // namespace cleave
