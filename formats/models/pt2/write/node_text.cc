// A node's text is assembled from pieces between edits, in order of position.
#include "formats/models/pt2/write/node_text.h"

#include <algorithm>
#include <vector>

#include "formats/base/json/cursor.h"
#include "formats/base/json/pieces.h"

namespace cleave {
namespace {

// Bytes [begin, end) of the program's text, and their replacement.
struct Edit {
  std::uint64_t begin, end;
  std::string text;
};

class NodeText {
 public:
  NodeText(const Pt2Model& model, std::uint32_t number)
      : model_(model), program_(model.program), node_(program_.nodes[number]) {}

  void rename() {
    for (std::uint32_t a = node_.argument_begin; a < node_.argument_end; ++a) {
      const Pt2Argument& argument = program_.arguments[a];
      for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
        const Pt2Ref& ref = program_.refs[r];
        const std::uint32_t value = model_.effects.read_as[r];
        if (value == ref.value) continue;
        edits_.push_back(
            {ref.name_at, end_of_string(ref.name_at), json_string(program_.values[value].name)});
      }
    }
  }

  // Torch up to 2.7 puts the results of a body's call into one list, and does not say whether they
  // are one tensor.
  void repair_body_call() {
    if (!node_.is_old_body_call) return;
    const std::uint32_t count = node_.result_end - node_.result_begin;
    const bool is_single = count == 1 && !node_.lists_results;
    const SourceSpan at = node_.results;
    std::string results(program_.text_of(at));
    if (node_.lists_results) results = listed_results();
    edits_.push_back(
        {at.offset, at.offset + at.length,
         results + ", \"is_hop_single_tensor_return\": " + (is_single ? "true" : "false")});
  }

  void set_metadata(std::string_view module, std::string_view name) {
    const SourceSpan at = node_.metadata;
    if (at.length == 0) return;
    edits_.push_back({at.offset, at.offset + at.length, metadata(at, module, name)});
  }

  void append_to(std::string& out) {
    std::sort(edits_.begin(), edits_.end(),
              [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::uint64_t at = node_.span.offset;
    const std::uint64_t end = at + node_.span.length;
    for (const Edit& edit : edits_) {
      out += program_.text.substr(at, edit.begin - at);
      out += edit.text;
      at = edit.end;
    }
    out += program_.text.substr(at, end - at);
  }

 private:
  std::uint64_t end_of_string(std::uint64_t at) const {
    for (++at; program_.text[at] != '"'; ++at) {
      if (program_.text[at] == '\\') ++at;
    }
    return at + 1;
  }

  std::string listed_results() const {
    std::vector<std::string> items;
    for (std::uint32_t r = node_.result_begin; r < node_.result_end; ++r) {
      const std::string name = json_string(program_.values[program_.refs[r].value].name);
      items.push_back("{\"as_tensor\": {\"name\": " + name + "}}");
    }
    return json_list(items);
  }

  // The fields unchanged, except for the module, and the partition in the user's notes.
  std::string metadata(SourceSpan at, std::string_view module, std::string_view name) const {
    JsonObjectText fields;
    std::string custom;
    JsonCursor cursor(program_.text_of(at));
    cursor.enter();
    while (const auto key = cursor.next_key()) {
      const std::string field = unescaped(*key);
      const std::uint64_t begin = cursor.offset();
      if (field == "custom" && cursor.type() == JsonType::string) {
        custom = unescaped(cursor.take_string());
        continue;
      }
      cursor.skip();
      if (field == "nn_module_stack") continue;
      fields.add(field, program_.text.substr(at.offset + begin, cursor.end_of_last() - begin));
    }
    const std::string path(module);
    fields.add("nn_module_stack", json_string("L__self__,,cleave.Root;L__self___" + path + "," +
                                              path + ",cleave.Partition"));
    fields.add("custom", json_string(with_note(custom, name)));
    return fields.text();
  }

  // The user's notes, an object, with one note added.
  static std::string with_note(std::string_view custom, std::string_view name) {
    std::string note = "{\"cleave_partition\": " + json_string(name);
    const std::size_t begin = custom.find('{');
    const std::size_t end = custom.rfind('}');
    if (begin == custom.npos || end == custom.npos || end < begin) return note + "}";
    const std::string_view fields = custom.substr(begin + 1, end - begin - 1);
    if (fields.find_first_not_of(" \t\r\n") == fields.npos) return note + "}";
    return note + ", " + std::string(fields) + "}";
  }

  const Pt2Model& model_;
  const Pt2Program& program_;
  const Pt2Node& node_;
  std::vector<Edit> edits_;
};

}  // namespace

void append_pt2_node(std::string& out, const Pt2Model& model, std::uint32_t node, Pt2Names names) {
  NodeText text(model, node);
  if (names == Pt2Names::as_read && model.effects.is_renamed[node]) text.rename();
  text.repair_body_call();
  text.append_to(out);
}

void append_pt2_root_node(std::string& out, const Pt2Model& model, std::uint32_t node,
                          std::string_view module, std::string_view name) {
  NodeText text(model, node);
  text.repair_body_call();
  text.set_metadata(module, name);
  text.append_to(out);
}

}  // namespace cleave
