#include "formats/lists/tables/loss_spec.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/base/capped_list.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {
namespace {

using Json = nlohmann::ordered_json;

// What the model returns: nested lists and objects of values' names.
Json returned_by(const LoadedModel& model) {
  const SourceSpan span = model.output_tree();
  if (span.length > 0) {
    return Json::parse(model.source.bytes().substr(span.offset, span.length), nullptr, false);
  }
  Json names = Json::array();
  for (const ValueId value : model.graph.outputs()) {
    names.push_back(std::string(model.graph.value(value).name));
  }
  return names.size() == 1 ? names.front() : names;
}

std::string kind_text(const Json& json) {
  if (json.is_array()) return "a list of " + std::to_string(json.size());
  if (json.is_object()) return "an object";
  if (json.is_string()) return "the value " + escaped_in_quotes(json.get_ref<const std::string&>());
  return json.dump();
}

std::string keys_text(const Json& object) {
  std::string text;
  for (const auto& [key, value] : object.items())
    text += (text.empty() ? "" : ", ") + escaped_in_quotes(key);
  return text.empty() ? "no keys" : text;
}

// Walks the spec along with what is returned; `path` is the current position: "output[1].loss".
class SpecReader {
 public:
  Status<> read(const Json& spec, const Json& returned, const std::string& path) {
    if (spec.is_boolean()) return spec.get<bool>() ? mark(returned, path) : Done{};
    if (spec.is_array()) return read_list(spec, returned, path);
    if (spec.is_object()) return read_object(spec, returned, path);
    return Error{"the loss spec has " + spec.dump() + " for " + path +
                 ": it holds true, false, lists and objects"};
  }

  const std::vector<std::string>& marked() const { return marked_; }

 private:
  Status<> mark(const Json& returned, const std::string& path) {
    if (!returned.is_string()) {
      return Error{"the loss must be a value, but " + path + " is " + kind_text(returned)};
    }
    marked_.push_back(returned.get<std::string>());
    return Done{};
  }

  Status<> read_list(const Json& spec, const Json& returned, const std::string& path) {
    if (!returned.is_array()) {
      return Error{"the loss spec has a list for " + path + ", which is " + kind_text(returned)};
    }
    if (spec.size() != returned.size()) {
      return Error{"the loss spec has a list of " + std::to_string(spec.size()) + " for " + path +
                   ", which is " + kind_text(returned)};
    }
    for (std::size_t i = 0; i < spec.size(); ++i) {
      if (auto done = read(spec[i], returned[i], path + "[" + std::to_string(i) + "]"); !done) {
        return done;
      }
    }
    return Done{};
  }

  Status<> read_object(const Json& spec, const Json& returned, const std::string& path) {
    if (!returned.is_object()) {
      return Error{"the loss spec has an object for " + path + ", which is " + kind_text(returned)};
    }
    bool same_keys = spec.size() == returned.size();
    for (const auto& item : spec.items()) same_keys = same_keys && returned.contains(item.key());
    if (!same_keys) {
      return Error{"the loss spec has other keys than " + path,
                   std::nullopt,
                   {"the spec: " + keys_text(spec), "the model: " + keys_text(returned)}};
    }
    for (const auto& item : spec.items()) {
      if (auto done = read(item.value(), returned[item.key()], path + "." + item.key()); !done) {
        return done;
      }
    }
    return Done{};
  }

  std::vector<std::string> marked_;
};

Result<std::string> name_by_structure(const Json& spec, const Json& returned) {
  SpecReader reader;
  if (auto done = reader.read(spec, returned, "the output"); !done) return done.error();
  const std::vector<std::string>& marked = reader.marked();
  if (marked.empty()) return Error{"the loss spec marks no output: one must be true"};
  if (marked.size() > 1) {
    return Error{"the loss spec marks several outputs, " + escaped_in_quotes(marked[0]) + " and " +
                 escaped_in_quotes(marked[1]) + ": one must be true"};
  }
  return marked[0];
}

class NameFinder {
 public:
  NameFinder(const LoadedModel& model, const Json& returned) : model_(model), returned_(returned) {}

  // The value returned under this key, or with this name.
  Result<ValueId> find(const std::string& name) const {
    std::string value = name;
    if (returned_.is_object() && returned_.contains(name) && returned_[name].is_string()) {
      value = returned_[name].get<std::string>();
    }
    for (const ValueId output : model_.graph.outputs()) {
      if (model_.graph.value(output).name == value) return output;
    }
    return no_such_output(name);
  }

 private:
  Error no_such_output(const std::string& name) const {
    std::vector<std::string_view> names;
    for (const ValueId output : model_.graph.outputs()) {
      names.push_back(model_.graph.value(output).name);
    }
    Error error{"the model has no output " + escaped_in_quotes(name)};
    const std::string near = nearest_name(name, names);
    error.notes.push_back(near.empty()
                              ? "its outputs: " + capped_list(names, 10, escaped_in_quotes, ", ...")
                              : "did you mean " + escaped_in_quotes(near) + "?");
    return error;
  }

  const LoadedModel& model_;
  const Json& returned_;
};

// True for a text that can only be meant as JSON.
bool is_structure(const std::string& spec) {
  return spec == "true" || spec == "false" || spec.front() == '[' || spec.front() == '{';
}

}  // namespace

Result<ValueId> find_loss(const LoadedModel& model, const std::optional<std::string>& spec) {
  const Json returned = returned_by(model);
  const NameFinder outputs(model, returned);
  if (!spec || spec->empty()) return outputs.find("loss");
  if (!is_structure(*spec)) return outputs.find(*spec);
  const Json structure = Json::parse(*spec, nullptr, false);
  if (structure.is_discarded()) return Error{"the loss spec is not valid JSON: " + *spec};
  const auto name = name_by_structure(structure, returned);
  if (!name) return name.error();
  return outputs.find(*name);
}

}  // namespace cleave
