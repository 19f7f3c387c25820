#include "formats/lists/import/import.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "core/base/white_space.h"
#include "core/graph/node_lookup.h"
#include "core/graph/op_name.h"
#include "core/support/support_list.h"
#include "formats/base/io/source_file.h"
#include "formats/base/json/text.h"
#include "formats/base/json/walk.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/faults.h"
#include "formats/base/text/text_layout.h"
#include "formats/base/text/utf8.h"
#include "formats/lists/support/rule_json.h"
#include "formats/lists/support/support_reader.h"
#include "formats/lists/support/verdict_file.h"

namespace cleave {
namespace {

// ---- JSON: devices and torch's SupportDict ----

void read_devices(JsonWalk& json, SupportList& list) {
  list.role = ListRole::verdicts;
  json.each_field("the devices", "an object {\"node\": \"NPU\", ...}",
                  [&](const std::string& node, std::size_t) {
                    const auto device = json.take_text("the device of " + escaped_in_quotes(node));
                    if (!device) return;
                    Rule& rule = (is_cpu_device(*device) ? list.deny : list.allow).emplace_back();
                    rule.node_name = node;
                    rule.is_exact_name = true;
                    rule.why = "assigned to " + *device;
                  });
}

// Reads a list of dtypes. null, alone or in the list, means any type.
MaybeTypes read_types(JsonWalk& json) {
  if (json.type() == JsonType::null) {
    json.skip();
    return std::nullopt;
  }
  TypeSet types;
  bool is_any = false;
  json.each_item("the dtypes", "a list of dtypes or null", [&] {
    if (json.type() == JsonType::null) {
      json.skip();
      is_any = true;
      return;
    }
    const std::size_t at = json.offset();
    auto name = json.take_text("a dtype");
    if (!name) return;
    if (name->starts_with("torch.")) name->erase(0, 6);
    if (const auto added = add_type(types, *name); !added) json.faults().error(at, added.error());
  });
  if (is_any) return std::nullopt;
  return types;
}

void read_torch_rule(JsonWalk& json, Rule& rule) {
  if (json.type() == JsonType::null) return json.skip();
  json.each_field(
      "an entry", "null or {\"args\": ..., \"kwargs\": ...}",
      [&](const std::string& key, std::size_t at) {
        if (key == "args" && json.type() != JsonType::null) {
          json.each_item("\"args\"", "a list", [&] { rule.inputs.push_back(read_types(json)); });
        } else if (key == "kwargs" && json.type() != JsonType::null) {
          json.each_field("\"kwargs\"", "an object", [&](const std::string& name, std::size_t) {
            const MaybeTypes types = read_types(json);
            if (types) rule.kwargs.emplace_back(name, *types);
          });
        } else if (key == "args" || key == "kwargs") {
          json.skip();
        } else {
          json.pass_unknown(at, key, "an entry", {"args", "kwargs"});
        }
      });
}

void read_torch(JsonWalk& json, SupportList& list) {
  json.each_field("a SupportDict", "an object {\"target\": null, ...}",
                  [&](const std::string& op, std::size_t) {
                    Rule& rule = list.allow.emplace_back();
                    rule.op = op;
                    read_torch_rule(json, rule);
                  });
}

// ---- kinds ----

bool is_object(std::string_view text) {
  return !trimmed(text).empty() && trimmed(text).front() == '{';
}

// Whether the first value of the object is a string, as the name of a device is.
bool has_devices(std::string_view text) {
  const std::size_t colon = text.find("\":");
  if (colon == text.npos) return false;
  const std::string_view rest = trimmed(text.substr(colon + 2));
  return !rest.empty() && rest.front() == '"';
}

// Whether the text is a file of cleave's own, as a support list.
bool has_format(std::string_view text) {
  return trimmed(text.substr(0, text.find(':'))).ends_with("\"format\"");
}

std::optional<ImportKind> kind_of(std::string_view text) {
  if (is_object(text)) return has_devices(text) ? ImportKind::devices : ImportKind::torch;
  if (has_operator_table(text)) return ImportKind::table;
  return std::nullopt;
}

void read_json(std::string_view bytes, ImportKind kind, SupportList& list, TextFaults& faults) {
  std::string padded;  // with the zero bytes that JsonCursor needs
  padded.reserve(bytes.size() + JsonCursor::kPadding);
  padded.append(bytes).append(JsonCursor::kPadding, '\0');
  JsonWalk json(std::string_view(padded).substr(0, bytes.size()), faults);
  kind == ImportKind::devices ? read_devices(json, list) : read_torch(json, list);
  json.finish();
}

// ---- what is written ----

std::string list_text(const SupportList& list, const std::string& path) {
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.text("name", list.name);
  json.text("source", path);
  json.begin_list("allow");
  for (const Rule& rule : list.allow) write_allow_rule(json, rule);
  json.end_list();
  json.end_object();
  return std::move(json).finish();
}

std::string choice_text(const std::vector<std::string>& sections, const std::string& wanted) {
  std::string text = wanted.empty() ? "is about several accelerators: choose one with --section"
                                    : "has no heading, or several, with " +
                                          escaped_in_quotes(wanted) + ": there are";
  for (const std::string& section : sections) {
    text += (section == sections.front() ? " " : ", ") + escaped_in_quotes(section);
  }
  return text;
}

// "Conv, Gemm: sentence"; many operators are counted instead of named.
std::string unchecked_line(const UncheckedSentence& sentence) {
  constexpr std::size_t kMostNamed = 4;
  if (sentence.ops.size() > kMostNamed) {
    return escaped(sentence.text) + " (" + count_text(sentence.ops.size()) + " operators)";
  }
  std::string ops;
  for (const std::string& op : sentence.ops) ops += (ops.empty() ? "" : ", ") + op;
  return escaped(ops) + ": " + escaped(sentence.text);
}

std::string stem(std::string_view path) {
  path.remove_prefix(std::min(path.rfind('/') + 1, path.size()));
  return std::string(path.substr(0, path.rfind('.')));
}

void add_names(std::string& text, std::string_view label, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::string line = std::string(label) + ":";
  for (const std::string& name : names)
    line += (name == names.front() ? " " : ", ") + escaped(name);
  text += wrapped(line, 2, 4);
}

}  // namespace

Loaded<ListImport> import_list_text(const std::string& path, std::string_view bytes,
                                    const ImportOptions& options) {
  TextFaults faults(path, bytes);
  const std::size_t bad = std::min(bytes.find('\0'), first_invalid_utf8(bytes));
  if (bad != bytes.npos) {
    faults.error(bad, "what is imported is text in UTF-8, and this is not");
    return std::move(faults.errors());
  }
  const std::optional<ImportKind> kind = options.kind ? options.kind : kind_of(bytes);
  if (!kind) {
    faults.error(0,
                 "is neither a Markdown table of operators nor JSON of devices or of torch's "
                 "SupportDict");
    return std::move(faults.errors());
  }
  if (*kind != ImportKind::table && has_format(bytes)) {
    faults.error(0, "is a file of cleave's already: a support list is given to -s as it is");
    return std::move(faults.errors());
  }
  ListImport made{*kind, {}, options.names};
  if (*kind == ImportKind::table) {
    made.result = import_operator_tables(bytes, options.section, options.names);
    if (!made.result.sections.empty()) {
      faults.error(0, choice_text(made.result.sections, options.section));
      return std::move(faults.errors());
    }
  } else {
    read_json(bytes, *kind, made.result.list, faults);
    made.result.rows = made.result.list.allow.size() + made.result.list.deny.size();
  }
  if (faults.errors().empty() && made.result.rows == 0) faults.error(0, "has nothing to import");
  if (!faults.errors().empty()) return std::move(faults.errors());
  SupportList& list = made.result.list;
  list.name = options.name.empty() ? stem(path) : options.name;
  list.text = *kind == ImportKind::devices ? verdicts_text(list) : list_text(list, path);
  return made;
}

Loaded<ListImport> import_list(const std::string& path, const ImportOptions& options) {
  const auto source = SourceFile::open(path);
  if (!source) return source.error();
  return import_list_text(source->path(), source->bytes(), options);
}

std::string import_text(const ListImport& import) {
  const TableImport& result = import.result;
  if (import.kind == ImportKind::devices) {
    return counted(result.list.allow.size(), "node") + " on the accelerator, " +
           counted(result.list.deny.size(), "node") + " on the CPU\n";
  }
  std::string text =
      counted(result.list.allow.size(), "rule") + " from " + counted(result.rows, "row");
  if (result.unsupported_rows > 0) {
    text += ", " + count_text(result.unsupported_rows) + " of which say that it is not supported";
  }
  text += '\n';
  if (result.sentences > 0) {
    text += counted(result.sentences, "sentence") + " of notes: " + count_text(result.conditions) +
            " became conditions, " +
            count_text(result.sentences - result.conditions - result.remarks) + " are unchecked" +
            (result.remarks > 0 ? ", " + count_text(result.remarks) + " ask nothing\n" : "\n");
  }
  for (const UncheckedSentence& sentence : result.unchecked) {
    text += wrapped(unchecked_line(sentence), 2, 4);
  }
  const std::string whose = import.names == OperatorNames::onnx ? "ONNX" : "TensorFlow Lite";
  add_names(text, "by " + whose + "'s names", result.renamed);
  add_names(text, "names that " + whose + " does not have", result.unknown);
  add_names(text, "types that are not known", result.types);
  add_names(text, "columns that were not read", result.not_read);
  return text;
}

namespace {

struct MetOp {
  Rule rule;
  std::size_t nodes = 0;
  std::set<std::size_t> models = {};
};

// Adds the types of a node to the rule. A position that has no known type in some node accepts any
// type.
void add_types(const Signature& signature, bool is_first, Rule& rule) {
  const std::size_t count = signature.args.size();
  if (is_first) {
    for (const DType dtype : signature.args) {
      rule.inputs.emplace_back();
      if (dtype != DType::unknown) rule.inputs.back().emplace().add(dtype);
    }
    return;
  }
  if (rule.inputs.size() > count) rule.inputs.resize(count);
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    if (signature.args[i] == DType::unknown) rule.inputs[i].reset();
    if (rule.inputs[i]) rule.inputs[i]->add(signature.args[i]);
  }
}

}  // namespace

std::string list_skeleton(std::span<const Graph* const> graphs, const std::string& name) {
  std::vector<MetOp> ops;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  const auto add = [&](const Graph& graph, NodeId node, std::size_t model) {
    const std::pair<std::string, std::string> key(plain_domain(graph.domain(node)), graph.op(node));
    const auto [place, is_new] = places.try_emplace(key, ops.size());
    if (is_new) {
      MetOp& met = ops.emplace_back();
      met.rule.domain = key.first;
      met.rule.op = key.second;
    }
    MetOp& met = ops[place->second];
    add_types(signature_of(graph, node), is_new, met.rule);
    ++met.nodes;
    met.models.insert(model);
  };
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const Graph& graph = *graphs[i];
    for (const NodeId node : graph.nodes()) {
      add(graph, node, i);
      for (const NodeId inner : graph.body_nodes(node)) add(graph, inner, i);
    }
  }
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.text("name", name);
  json.begin_list("allow");
  for (MetOp& met : ops) {
    met.rule.why = counted(met.nodes, "node") + " of " + counted(met.models.size(), "model");
    write_allow_rule(json, met.rule);
  }
  json.end_list();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace cleave
