#include "formats/models/pt2/op_schemas.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/base/white_space.h"
#include "formats/base/io/side_file.h"
#include "formats/base/text/faults.h"
#include "formats/base/text/utf8.h"
#include "formats/models/pt2/effects.h"

namespace cleave {
namespace {

using Lines = std::map<std::string, std::string, std::less<>>;

Lines& stated() {
  static Lines lines;
  return lines;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_word);
}

// The end of what is bracketed from `begin` on, behind its last bracket; npos when it has none.
std::size_t end_of_brackets(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] != ')' && text[i] != ']') continue;
    if (depth == 0) return text.npos;
    if (--depth == 0) return i + 1;
  }
  return text.npos;
}

// Parts between commas that are in no brackets.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t depth = 0, begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool is_end = i == text.size() || (text[i] == ',' && depth == 0);
    if (!is_end) {
      if (text[i] == '(' || text[i] == '[') ++depth;
      if ((text[i] == ')' || text[i] == ']') && depth > 0) --depth;
      continue;
    }
    if (const auto part = trimmed(text.substr(begin, i - begin)); !part.empty()) {
      parts.push_back(part);
    }
    begin = i + 1;
  }
  return parts;
}

// The set of "Tensor(a!)": "!a", ":a" when it is not written, "" without one.
std::string alias_of(std::string_view type) {
  constexpr std::string_view kTensor = "Tensor(";
  const std::size_t at = type.find(kTensor);
  if (at == type.npos) return {};
  std::string_view set = type.substr(at + kTensor.size());
  set = trimmed(set.substr(0, set.find_first_of(")-")));
  const bool is_written = set.ends_with('!');
  if (is_written) set.remove_suffix(1);
  return (is_written ? "!" : ":") + (is_name(set) ? std::string(set) : "*");
}

// "Tensor(a!) self=None" as "self!a"; nullopt when it has no name.
std::optional<std::string> argument_of(std::string_view text) {
  text = trimmed(text.substr(0, text.find('=')));
  std::size_t begin = text.size();
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  const std::string_view name = text.substr(begin);
  if (name.empty() || trimmed(text.substr(0, begin)).empty()) return std::nullopt;
  return std::string(name) + alias_of(text.substr(0, begin));
}

std::string joined(const std::vector<std::string>& parts, std::string_view none) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text.empty() ? std::string(none) : text;
}

}  // namespace

Result<std::string> operator_line(std::string_view schema) {
  const std::string form =
      "is not of the form mylib::scale_(Tensor(a!) self, float by) -> Tensor(a!)";
  const std::size_t open = schema.find('(');
  const std::size_t colons = schema.find("::");
  if (open == schema.npos || colons == schema.npos || colons > open) return Error{form};
  const std::string_view space = trimmed(schema.substr(0, colons));
  std::string_view name = trimmed(schema.substr(colons + 2, open - colons - 2));
  const std::size_t dot = name.find('.');
  const std::string_view overload = dot == name.npos ? "default" : name.substr(dot + 1);
  name = name.substr(0, dot);
  const std::size_t close = end_of_brackets(schema, open);
  if (!is_name(space) || !is_name(name) || !is_name(overload) || close == schema.npos)
    return Error{form};
  const std::string_view rest = trimmed(schema.substr(close));
  if (!rest.starts_with("->")) return Error{form};
  std::string_view made = trimmed(rest.substr(2));
  if (made.starts_with('(') && end_of_brackets(made, 0) == made.size()) {
    made = made.substr(1, made.size() - 2);
  }
  std::vector<std::string> arguments, results;
  for (const std::string_view part : parts_of(schema.substr(open + 1, close - open - 2))) {
    if (part == "*") continue;
    const auto argument = argument_of(part);
    if (!argument)
      return Error{"has an argument without a type or a name: \"" + std::string(part) + '"'};
    arguments.push_back(*argument);
  }
  for (const std::string_view part : parts_of(made)) {
    const std::string alias = alias_of(part);
    results.push_back(alias.empty() ? "-" : alias.substr(1));
  }
  return std::string(space) + '.' + std::string(name) + '.' + std::string(overload) + ' ' +
         joined(arguments, "-") + ' ' + joined(results, "0");
}

Status<Diagnostics> state_torch_operators(const std::string& path) {
  const auto source = open_side_file(path);
  if (!source) return source.error();
  const std::string_view bytes = source->bytes();
  TextFaults faults(source->path(), bytes);
  const std::size_t bad = std::min(bytes.find('\0'), first_invalid_utf8(bytes));
  if (bad != bytes.npos) {
    faults.error(bad, "schemas of operators are text in UTF-8, and this is not");
    return std::move(faults.errors());
  }
  Lines lines;
  for (std::size_t begin = 0; begin < bytes.size() && !faults.is_full();) {
    const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
    std::string_view text = bytes.substr(begin, end - begin);
    text = trimmed(text.substr(0, text.find('#')));
    const std::size_t offset = begin;
    begin = end + 1;
    if (text.empty()) continue;
    auto line = operator_line(text);
    if (!line) {
      faults.error(offset, line.error().message,
                   {"torch prints it as torch.ops.mylib.scale_.default._schema"});
      continue;
    }
    std::string name = line->substr(0, line->find(' '));
    const bool is_of_torch = name.starts_with("aten.") || name.starts_with("prims.");
    if (is_of_torch && find_torch_operator("torch.ops." + name)) {
      faults.error(offset, "is an operator of torch, whose effects are known");
    } else if (!lines.emplace(std::move(name), *std::move(line)).second) {
      faults.error(offset, "this operator is stated twice");
    }
  }
  if (!faults.errors().empty()) return std::move(faults.errors());
  stated().merge(lines);
  return Done{};
}

std::string_view stated_operator_line(std::string_view name) {
  const auto found = stated().find(name);
  return found == stated().end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace cleave
