// Reads support lists of every form, and finds those known by name.
#include "formats/lists/support_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/base/text.h"

namespace cleave {

// ---- support json ----
//
// Native support lists: the object around the rules.

namespace {

constexpr std::int64_t kVersion = 1;

// Reads the rules; returns the fields that each one states.
std::vector<StatedFields> read_rules(JsonWalk& json, Verdict verdict, PlaceCounter& places,
                                     std::vector<Rule>& rules) {
  const std::string_view what = verdict == Verdict::allow ? "\"allow\"" : "\"deny\"";
  std::vector<StatedFields> stated;
  json.each_item(what, "a list of rules", [&] {
    Rule& rule = rules.emplace_back();
    places.mark(rule, json.offset());
    stated.push_back(read_rule(json, verdict, rule));
  });
  return stated;
}

// Reads the value of "target", and says what is wrong with it.
TargetSpec read_target_numbers(JsonWalk& json, TextFaults& faults) {
  constexpr std::string_view kWanted =
      "an object like {\"launch\": \"100us\", \"flops\": \"4TFLOP/s\"}";
  TargetSpec target;
  json.each_field("\"target\"", kWanted, [&](const std::string& key, std::size_t at) {
    const std::size_t place = json.offset();
    if (!is_target_number(key)) return json.pass_unknown(at, key, "\"target\"", {});
    const auto value = json.take_text(escaped_in_quotes(key));
    if (!value) return;
    const auto set = set_target_number(key, *value, target);
    if (!set) faults.error(place, set.error().message);
  });
  return target;
}

class ListReader {
 public:
  ListReader(std::string_view text, SupportList& list, TextFaults& faults)
      : json_(text, faults), faults_(faults), list_(list), places_(text) {}

  void read() {
    json_.each_field("a support list", "an object",
                     [&](const std::string& key, std::size_t at) { read_field(key, at); });
    if (!is_other_) json_.finish();
    for (std::size_t i = 0; i < stated_.size(); ++i) {
      apply_defaults(defaults_, stated_[i], list_.allow[i]);
    }
    for (std::size_t i = 0; i < stated_by_ops_.size(); ++i) {
      std::vector<Rule>& ops = list_.patterns[i].ops;
      for (std::size_t op = 0; op < stated_by_ops_[i].size(); ++op) {
        apply_defaults(defaults_, stated_by_ops_[i][op], ops[op]);
      }
    }
    if (is_other_ || json_.is_over() || has_format_) return;
    refuse(0,
           "no \"format\": a support list is JSON with \"format\": \"cleave.support\", plain text "
           "with one op per line, or ONNX Runtime's required-operators config");
  }

 private:
  // Refuses the file as a whole: earlier errors only follow from the file being something else.
  void refuse(std::size_t at, std::string message) {
    faults_.errors().clear();
    faults_.warnings().clear();
    faults_.error(at, std::move(message));
    is_other_ = true;
  }

  void read_field(const std::string& key, std::size_t at) {
    if (is_other_) return json_.skip();
    if (key == "format") return read_format();
    if (key == "version") return read_version();
    if (key == "link") return read_link();
    if (key == "target") return read_target();
    if (key == "verdicts") return read_verdicts(json_, places_, list_);
    if (key == "defaults") return read_defaults(json_, defaults_);
    if (key == "allow") {
      stated_ = read_rules(json_, Verdict::allow, places_, list_.allow);
      return;
    }
    if (key == "deny") {
      read_rules(json_, Verdict::deny, places_, list_.deny);
      return;
    }
    if (key == "patterns") return read_patterns();
    if (key == "part") return read_part(at);
    if (key == "as") return read_view();
    if (key == "keep_qdq") {
      list_.keeps_qdq = json_.take_flag("\"keep_qdq\"").value_or(false);
      return;
    }
    for (std::size_t i = 0; i < kPartLimitCount; ++i) {
      if (key == part_limit_name(static_cast<PartLimit>(i)))
        return read_limit(key, list_.limits.most[i]);
    }
    for (const auto& [text_key, text] :
         {std::pair("name", &list_.name), {"source", &list_.source}}) {
      if (key != text_key) continue;
      if (auto taken = json_.take_text("\"" + key + "\"")) *text = *std::move(taken);
      return;
    }
    json_.pass_unknown(
        at, key, "the list",
        {"format", "version", "name", "source", "link", "target", "as", "keep_qdq", "defaults",
         "allow", "deny", "patterns", "part", "verdicts", "max_nodes", "max_parameter_bytes",
         "max_inputs", "max_outputs", "max_activation_bytes"});
  }

  void read_patterns() {
    json_.each_item("\"patterns\"", "a list of patterns", [&] {
      stated_by_ops_.push_back(read_pattern(json_, places_, list_.patterns.emplace_back()));
    });
  }

  // The graph that the list is about.
  void read_view() {
    const std::size_t place = json_.offset();
    const auto name = json_.take_text("\"as\"");
    if (!name) return;
    if (const auto view = parse_graph_view(*name)) {
      list_.view = *view;
    } else {
      faults_.error(place, escaped_in_quotes(*name) + " is not model or onnxruntime");
    }
  }

  void read_part(std::size_t at) {
    constexpr std::string_view kWanted =
        R"(an object like {"min_ops": {"Conv": 2}, "not_only": ["Reshape"]})";
    places_.mark(list_.part, at);
    json_.each_field("\"part\"", kWanted, [&](const std::string& key, std::size_t field) {
      if (key == "min_ops") return read_min_ops();
      if (key == "not_only") return read_not_only();
      json_.pass_unknown(field, key, "\"part\"", {"min_ops", "not_only"});
    });
  }

  void read_min_ops() {
    json_.each_field("\"min_ops\"", R"(an object like {"Conv": 2})",
                     [&](const std::string& op, std::size_t) {
                       const auto count = json_.take_integer(escaped_in_quotes(op), 1);
                       if (!count) return;
                       list_.part.min_ops.push_back({op, static_cast<std::uint64_t>(*count)});
                     });
  }

  void read_not_only() {
    json_.each_item("\"not_only\"", "a list of ops", [&] {
      if (auto op = json_.take_text("an op of \"not_only\"")) {
        list_.part.not_only.push_back(*std::move(op));
      }
    });
  }

  void read_format() {
    const std::size_t at = json_.offset();
    const auto format = json_.take_text("\"format\"");
    has_format_ = true;
    if (!format || *format == "cleave.support") return;
    refuse(at, "the format is " + escaped_in_quotes(*format) + ", not \"cleave.support\"" +
                   (*format == "cleave.graph" ? ": this is a model" : ""));
  }

  void read_version() {
    const std::size_t at = json_.offset();
    const auto version = json_.take_integer("\"version\"", 1);
    if (!version || *version <= kVersion) return;
    refuse(at, "version " + std::to_string(*version) +
                   " of the format is newer than this program, which reads version " +
                   std::to_string(kVersion));
    has_format_ = true;
  }

  void read_link() {
    constexpr std::string_view kWanted = "an object like {\"bandwidth\": \"gen4x16\"}";
    json_.each_field("\"link\"", kWanted, [&](const std::string& key, std::size_t at) {
      if (key != "bandwidth") return json_.pass_unknown(at, key, "\"link\"", {"bandwidth"});
      const std::size_t place = json_.offset();
      const auto bandwidth = json_.take_text("\"bandwidth\"");
      if (!bandwidth) return;
      list_.link = *bandwidth == "none" ? no_link() : parse_link(*bandwidth);
      if (list_.link) return;
      faults_.error(place, escaped_in_quotes(*bandwidth) + bandwidth_refusal(*bandwidth));
    });
  }

  void read_limit(const std::string& key, std::optional<std::uint64_t>& limit) {
    const auto most = json_.take_integer(escaped_in_quotes(key), 0);
    if (most) limit = static_cast<std::uint64_t>(*most);
  }

  // Only checks the numbers: the list does not keep them, and list_target() reads them again.
  void read_target() { read_target_numbers(json_, faults_); }

  JsonWalk json_;
  TextFaults& faults_;
  SupportList& list_;
  PlaceCounter places_;
  Rule defaults_;
  std::vector<StatedFields> stated_;                      // of each allow rule
  std::vector<std::vector<StatedFields>> stated_by_ops_;  // of each pattern
  bool has_format_ = false;
  bool is_other_ = false;  // the file was refused as a whole
};

// Each appends the rules that it reads to the list; a list with faults must not be used.
void read_support_json(std::string_view text, SupportList& list, TextFaults& faults) {
  ListReader(text, list, faults).read();
}

}  // namespace

// ---- support operators ----
//
// ONNX Runtime's required-operators config ("Reduced operator config file" of its documentation):
//
//   ai.onnx;12;Add,Cast{"inputs": {"0": ["float"]}, "outputs": {"0": ["int64_t"]}},Concat
//   ai.onnx;12,13;Relu
//
// The opset is the one that the model imports, or one in which the op has the same schema. Braces
// after an op limit its types, with the names of C++. Lines that begin with `!`, and "custom"
// types, concern how ONNX Runtime is built: they are skipped with a warning.

namespace {

// Types whose names in lists are not those of C++ without "std::" and "_t".
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kCppTypes = {
    {{"float", "float32"},
     {"double", "float64"},
     {"MLFloat16", "float16"},
     {"BFloat16", "bfloat16"},
     {"Float8E4M3FN", "float8_e4m3fn"},
     {"Float8E4M3FNUZ", "float8_e4m3fnuz"},
     {"Float8E5M2", "float8_e5m2"},
     {"Float8E5M2FNUZ", "float8_e5m2fnuz"},
     {"Float8E8M0", "float8_e8m0"},
     {"Float4E2M1x2", "float4_e2m1"},
     {"Int4x2", "int4"},
     {"UInt4x2", "uint4"},
     {"Int2x4", "int2"},
     {"UInt2x4", "uint2"},
     {"complex<float>", "complex64"}}};

std::optional<DType> cpp_dtype(std::string_view name) {
  if (name.starts_with("std::")) name.remove_prefix(5);
  if (name.ends_with("_t")) name.remove_suffix(2);
  for (const auto& [cpp, ours] : kCppTypes) {
    if (cpp == name) return parse_dtype(ours);
  }
  return parse_dtype(name);
}

// Takes the text up to the separator, and the separator, off the front; all of it where there is none.
std::string_view take_part(std::string_view& rest, std::size_t end) {
  end = std::min(end, rest.size());
  const std::string_view part = trimmed(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

// The end of the op at the start of the text: a comma outside braces, or the end of the text.
// nullopt when a brace is not closed. Braces inside strings count, as they do for ONNX Runtime.
std::optional<std::size_t> end_of_op(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && depth > 0) --depth;
    if (text[i] == ',' && depth == 0) return i;
  }
  if (depth > 0) return std::nullopt;
  return text.size();
}

class OperatorsReader {
 public:
  OperatorsReader(std::string_view text, SupportList& list, TextFaults& faults)
      : text_(text), list_(list), faults_(faults), places_(text) {}

  void read() {
    std::string_view rest = text_;
    while (!rest.empty() && !faults_.is_full()) read_line(take_part(rest, rest.find('\n')));
  }

 private:
  std::size_t offset_of(std::string_view part) const {
    return static_cast<std::size_t>(part.data() - text_.data());
  }

  void read_line(std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    std::string_view rest = line;
    const std::string_view domain = take_part(rest, rest.find(';'));
    if (line.front() == '!') {
      return faults_.warning(offset_of(line),
                             escaped_in_quotes(domain) +
                                 " is ignored: it says how ONNX Runtime is built, not what runs");
    }
    const std::size_t opsets_end = rest.find(';');
    if (opsets_end == rest.npos) {
      return faults_.error(offset_of(line),
                           "expected domain;opset;op1,op2, found " + escaped_in_quotes(line));
    }
    const auto opsets = opsets_of(take_part(rest, opsets_end), line);
    while (!opsets.empty() && !rest.empty() && !faults_.is_full()) {
      const auto end = end_of_op(rest);
      if (!end) {
        return faults_.error(offset_of(rest) + rest.find('{'), "this brace is never closed");
      }
      const std::string_view entry = take_part(rest, *end);
      if (!entry.empty()) read_op(entry, domain, opsets);
    }
  }

  std::vector<std::int64_t> opsets_of(std::string_view text, std::string_view line) {
    std::vector<std::int64_t> opsets;
    for (std::string_view rest = text; !rest.empty();) {
      const std::uint32_t opset =
          parse_number<std::uint32_t>(take_part(rest, rest.find(','))).value_or(0);
      if (opset == 0) {
        faults_.error(offset_of(line),
                      escaped_in_quotes(text) + " is not an opset: expected domain;opset;op1,op2");
        return {};
      }
      opsets.push_back(opset);
    }
    if (opsets.empty()) {
      faults_.error(offset_of(line), "the opset is missing: expected domain;opset;op1,op2");
    }
    return opsets;
  }

  void read_op(std::string_view entry, std::string_view domain,
               const std::vector<std::int64_t>& opsets) {
    const std::size_t brace = std::min(entry.find('{'), entry.size());
    const std::string_view op = trimmed(entry.substr(0, brace));
    if (op.empty() || op.find_first_of(" \t;\"") != op.npos) {
      faults_.error(offset_of(entry), escaped_in_quotes(entry) + " is not a name of an op");
      return;
    }
    Rule rule;
    rule.op = op;
    rule.domain = plain_domain(domain);
    places_.mark(rule, offset_of(op));
    if (brace < entry.size()) read_types(entry.substr(brace), rule);
    for (const std::int64_t opset : opsets) {
      rule.opset = OpsetRule{.lowest = opset, .highest = opset, .same_schema = true};
      list_.allow.push_back(rule);
    }
  }

  void read_types(std::string_view text, Rule& rule) {
    JsonWalk json(text, faults_, offset_of(text));
    json.each_field("types", "an object", [&](const std::string& key, std::size_t at) {
      if (key == "inputs") return read_positions(json, key, rule.inputs);
      if (key == "outputs") return read_positions(json, key, rule.outputs);
      if (key == "custom") {
        faults_.warning(at, "types under \"custom\" are ignored: the op is accepted for all types");
        return json.skip();
      }
      json.pass_unknown(at, key, "an op's types", {"inputs", "outputs", "custom"});
    });
    json.finish();
  }

  // {"0": ["float", "int32_t"], "1": ["int32_t"]}
  void read_positions(JsonWalk& json, const std::string& what, std::vector<MaybeTypes>& positions) {
    // The key is an index of a list that grows up to it: "4000000000" must not take gigabytes.
    constexpr std::size_t kMostPositions = 1000;
    json.each_field(escaped_in_quotes(what), "an object like {\"0\": [\"float\"]}",
                    [&](const std::string& key, std::size_t at) {
                      const auto position = parse_number<std::uint32_t>(key);
                      if (!position || *position >= kMostPositions) {
                        faults_.error(
                            at, escaped_in_quotes(key) + " is not an index of an input or output");
                        return json.skip();
                      }
                      if (positions.size() <= *position) positions.resize(*position + 1);
                      positions[*position] = take_types(json);
                    });
  }

  // The types that cleave knows; any type when it knows none of them.
  MaybeTypes take_types(JsonWalk& json) {
    TypeSet types;
    json.each_item("types", "a list of C++ types", [&] {
      const std::size_t at = json.offset();
      const auto name = json.take_text("a type");
      if (!name) return;
      if (const auto dtype = cpp_dtype(*name)) return types.add(*dtype);
      faults_.warning(at, "unknown type " + escaped_in_quotes(*name) + " is ignored");
    });
    if (types.dtypes == 0) return std::nullopt;
    return types;
  }

  std::string_view text_;
  SupportList& list_;
  TextFaults& faults_;
  PlaceCounter places_;
};

// Each appends the rules that it reads to the list; a list with faults must not be used.
void read_required_operators(std::string_view text, SupportList& list, TextFaults& faults) {
  OperatorsReader(text, list, faults).read();
}

}  // namespace

// ---- support file ----

// Plain text: one op per line, `#` comments, optional `domain::op`.

namespace {

class TextReader {
 public:
  TextReader(std::string_view text, SupportList& list, TextFaults& faults)
      : text_(text), list_(list), faults_(faults), places_(text) {}

  void read() {
    std::size_t begin = 0;
    while (begin < text_.size() && !faults_.is_full()) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      const std::string_view line = text_.substr(begin, end - begin);
      const std::string_view entry = trimmed(line.substr(0, line.find('#')));
      if (!entry.empty()) read_entry(entry);
      begin = end + 1;
    }
  }

 private:
  void read_entry(std::string_view entry) {
    if (const std::size_t bad = entry.find_first_of(" \t,;{}[]\"'"); bad != entry.npos) {
      faults_.error(offset_of(entry) + bad, fault_of(entry, entry[bad]));
      return;
    }
    Rule rule;
    set_op(entry, offset_of(entry), faults_, rule);
    places_.mark(rule, offset_of(entry));
    list_.allow.push_back(std::move(rule));
  }

  static std::string fault_of(std::string_view entry, char bad) {
    if (bad == ';') {
      return "expected one op per line, or domain;opset;op1,op2 throughout: found " +
             escaped_in_quotes(entry);
    }
    if (std::string_view("{}[]\"'").find(bad) != std::string_view::npos) {
      return "expected the bare name of an op, found " + escaped_in_quotes(entry) +
             ": a JSON list is an object with \"format\": \"cleave.support\"";
    }
    return "expected one op per line, found " + escaped_in_quotes(entry) +
           ": put each op on its own line";
  }

  std::size_t offset_of(std::string_view part) const {
    return static_cast<std::size_t>(part.data() - text_.data());
  }

  std::string_view text_;
  SupportList& list_;
  TextFaults& faults_;
  PlaceCounter places_;
};

// Each appends the rules that it reads to the list; a list with faults must not be used.
void read_support_text(std::string_view text, SupportList& list, TextFaults& faults) {
  TextReader(text, list, faults).read();
}

// A list is held whole while it is read. Those that people write have kilobytes: what is larger
// than this is another file, named by mistake.
constexpr std::size_t kMostBytes = std::size_t{64} << 20U;  // of a list

// Other names in use for dtypes.
constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kOtherNames = {{
    {"float", "float32"}, {"double", "float64"}, {"half", "float16"},      {"bf16", "bfloat16"},
    {"fp16", "float16"},  {"fp32", "float32"},   {"fp64", "float64"},      {"f16", "float16"},
    {"f32", "float32"},   {"f64", "float64"},    {"fp8", "float8_e4m3fn"}, {"int", "int32"},
    {"long", "int64"},    {"short", "int16"},    {"char", "int8"},         {"byte", "uint8"},
    {"i8", "int8"},       {"i32", "int32"},      {"i64", "int64"},         {"u8", "uint8"},
    {"boolean", "bool"},  {"str", "string"},
}};

std::vector<std::string_view> type_names() {
  std::vector<std::string_view> names;
  for (int i = 1; i < kDTypeCount; ++i) names.push_back(dtype_name(static_cast<DType>(i)));
  for (int i = 1; i < static_cast<int>(ValueType::unknown); ++i) {
    names.push_back(value_type_name(static_cast<ValueType>(i)));
  }
  return names;
}

std::string meant_type(std::string_view name) {
  for (const std::string_view prefix : {"torch.", "np.", "numpy.", "tensor(", "DataType."}) {
    if (name.substr(0, prefix.size()) == prefix) name.remove_prefix(prefix.size());
  }
  if (!name.empty() && name.back() == ')') name.remove_suffix(1);
  const std::string lower = lower_case(name.substr(0, 40));
  if (parse_dtype(lower)) return lower;
  for (const auto& [other, ours] : kOtherNames) {
    if (other == lower) return std::string(ours);
  }
  return nearest_name(lower, type_names());
}

enum class SupportFormat { json, required_operators, text };

// `domain;opset;...`, where the opset is a number or a list of numbers.
bool is_operators_line(std::string_view line) {
  const std::size_t first = line.find(';');
  if (first == line.npos) return false;
  const std::size_t second = line.find(';', first + 1);
  if (second == line.npos) return false;
  const std::string_view opsets = trimmed(line.substr(first + 1, second - first - 1));
  return !opsets.empty() && opsets.find_first_not_of("0123456789, ") == opsets.npos;
}

SupportFormat format_of(std::string_view text) {
  if (!trimmed(text).empty() && trimmed(text).front() == '{') return SupportFormat::json;
  for (const std::string_view each : split_at(text, '\n')) {
    const std::string_view line = trimmed(each);
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '!' || is_operators_line(line)) return SupportFormat::required_operators;
  }
  return SupportFormat::text;
}

// "lists/npu.json" -> "npu".
std::string stem(std::string_view path) {
  path.remove_prefix(std::min(path.rfind('/') + 1, path.size()));
  const std::size_t dot = path.rfind('.');
  return std::string(dot == path.npos || dot == 0 ? path : path.substr(0, dot));
}

}  // namespace

void PlaceCounter::go_to(std::size_t offset) {
  for (; at_ < offset && at_ < text_.size(); ++at_) {
    if (text_[at_] == '\n') {
      ++line_;
      column_ = 1;
    } else if ((static_cast<unsigned char>(text_[at_]) & 0xC0U) != 0x80U) {
      ++column_;
    }
  }
}

void set_op(std::string_view text, std::size_t at, TextFaults& faults, Rule& rule) {
  const ParsedOp name = parse_op(text);
  rule.op = name.op;
  if (name.op.empty() || text.starts_with("::")) {
    return faults.error(at, escaped_in_quotes(text) + " lacks the " +
                                (name.op.empty() ? "op" : "domain") +
                                ": write domain::op, or the op alone");
  }
  set_domain(name.domain, at, faults, rule);
}

void set_domain(std::string_view domain, std::size_t at, TextFaults& faults, Rule& rule) {
  domain = stated_domain(domain);
  if (domain.empty()) return;
  if (!rule.domain.empty() && rule.domain != domain) {
    faults.error(at, "the rule names two domains, " + escaped_in_quotes(rule.domain) + " and " +
                         escaped_in_quotes(domain));
  }
  rule.domain = domain;
}

constexpr std::string_view kNoDtype = " is not a dtype";

Status<std::string> add_type(TypeSet& types, std::string_view name) {
  if (const auto dtype = parse_dtype(name)) {
    types.add(*dtype);
    return Done{};
  }
  const auto type = parse_value_type(name);
  if (type && *type != ValueType::tensor && *type != ValueType::unknown) {
    types.add(*type);
    return Done{};
  }
  const std::string meant = meant_type(name);
  return escaped_in_quotes(name) + std::string(kNoDtype) +
         (meant.empty() ? ": the names are float32, float16, int8, ..., and tuple, scalar, ... for "
                          "non-tensors"
                        : ": did you mean " + escaped_in_quotes(meant) + "?");
}

Loaded<LoadedSupport> parse_support(const std::string& path, std::string_view bytes,
                                    Diagnostics* bad_types) {
  const PaddedJson padded(bytes);
  std::string_view text = padded.text();
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  LoadedSupport loaded;
  loaded.list.name = stem(path);
  loaded.list.path = path;
  loaded.list.text = text;
  TextFaults faults(path, text);
  if (faults.refuses_bytes("a support list is")) return std::move(faults.errors());
  switch (format_of(text)) {
    case SupportFormat::json:
      read_support_json(text, loaded.list, faults);
      break;
    case SupportFormat::required_operators:
      read_required_operators(text, loaded.list, faults);
      break;
    case SupportFormat::text:
      read_support_text(text, loaded.list, faults);
      break;
  }
  const bool are_of_types = std::ranges::all_of(faults.errors(), [](const Diagnostic& fault) {
    return fault.message.find(kNoDtype) != std::string::npos;
  });
  if (bad_types != nullptr && are_of_types) {
    *bad_types = std::move(faults.errors());
  } else if (!faults.errors().empty()) {
    return std::move(faults.errors());
  }
  loaded.warnings = std::move(faults.warnings());
  return loaded;
}

Loaded<LoadedSupport> read_support_file(const std::string& path, Diagnostics* bad_types) {
  auto source = open_side_file(path);
  if (!source) return std::move(source).error();
  if (source->size() > kMostBytes) {
    return Diagnostics{diagnostic_of(
        source->path(), "is larger than 64 MiB, the most that is read as a support list")};
  }
  return parse_support(source->path(), source->bytes(), bad_types);
}

// ---- known lists ----

std::vector<std::string> known_lists() {
  // "lists" is in a folder where cleave was built.
  std::vector<std::string> folders = named_file_folders("CLEAVE_LISTS", "lists");
  for (std::string& folder : named_file_folders("CLEAVE_LISTS", "../share/cleave/lists")) {
    if (!contains(folders, folder)) {
      folders.push_back(std::move(folder));
    }
  }
  return json_files_in(folders);
}

std::string known_list_name(const std::string& path) {
  return std::filesystem::path(path).stem().string();
}

Loaded<LoadedSupport> read_list(const std::string& name, Diagnostics* bad_types) {
  std::error_code error;
  const bool is_path = name == "-" || name.find_first_of("/.") != name.npos;
  if (is_path || std::filesystem::exists(name, error)) return read_support_file(name, bad_types);
  const std::vector<std::string> paths = known_lists();
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    names.push_back(known_list_name(path));
    if (names.back() == name) return read_support_file(path, bad_types);
  }
  Diagnostic fault = diagnostic_of(name, "is neither a file nor a list that is known by name");
  // "qnn" is the beginning of "qnn_npu", and "ethos_u" of two.
  const auto plain = [](std::string text) {
    std::erase_if(text, [](char c) { return c == '_' || c == '-'; });
    return lower_case(text);
  };
  std::vector<std::string> meant;
  for (const std::string& known : names) {
    if (name.size() > 1 && plain(known).starts_with(plain(name)))
      meant.push_back(escaped_in_quotes(known));
  }
  const std::string nearest = nearest_name(name, {names.begin(), names.end()});
  if (meant.empty() && !nearest.empty()) meant.push_back(escaped_in_quotes(nearest));
  if (!meant.empty()) fault.notes.push_back("did you mean " + joined(meant, " or ") + "?");
  const auto text = [](const std::string& known) { return escaped(known); };
  fault.notes.push_back(names.empty()
                            ? "no list is known by name: set CLEAVE_LISTS to a folder of lists"
                            : "known by name: " + capped_list(names, 20, text));
  return Diagnostics{std::move(fault)};
}

// ---- list target ----

namespace {

bool may_state_target(const SupportList& list) {
  return list.text.find("\"target\"") != std::string::npos &&
         list.text.find_first_not_of(" \t\r\n") == list.text.find('{');
}

}  // namespace

std::string list_target_text(const SupportList& list) {
  if (!may_state_target(list)) return {};
  TextFaults faults(list.path, list.text);
  JsonWalk json(list.text, faults);
  std::string text;
  json.each_field("the list", "an object", [&](const std::string& key, std::size_t) {
    const std::size_t begin = json.offset();
    json.skip();
    if (key != "target") return;
    // What follows the value is a comma or the end of the list.
    text = list.text.substr(begin, json.offset() - begin);
    text.erase(text.rfind('}') + 1);
  });
  return text;
}

std::optional<TargetSpec> list_target(const SupportList& list) {
  if (!may_state_target(list)) return std::nullopt;
  TextFaults faults(list.path, list.text);
  JsonWalk json(list.text, faults);
  std::optional<TargetSpec> target;
  json.each_field("the list", "an object", [&](const std::string& key, std::size_t) {
    key == "target" ? void(target = read_target_numbers(json, faults)) : json.skip();
  });
  return target;
}

std::optional<TargetSpec> first_list_target(std::span<const SupportList> lists) {
  for (const SupportList& list : lists) {
    if (auto target = list_target(list)) return target;
  }
  return std::nullopt;
}

}  // namespace cleave
