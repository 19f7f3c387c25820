// ONNX Runtime's required-operators config ("Reduced operator config file" of its documentation):
//
//   ai.onnx;12;Add,Cast{"inputs": {"0": ["float"]}, "outputs": {"0": ["int64_t"]}},Concat
//   ai.onnx;12,13;Relu
//
// The opset is the one that the model imports, or one in which the op has the same schema. Braces
// after an op limit its types, with the names of C++. Lines that begin with `!`, and "custom"
// types, concern how ONNX Runtime is built: they are skipped with a warning.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/white_space.h"
#include "core/graph/op_name.h"
#include "formats/base/json/walk.h"
#include "formats/lists/support/support_reader.h"

namespace cleave {
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

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
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
      const std::uint32_t opset = number_of(take_part(rest, rest.find(','))).value_or(0);
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
    constexpr std::size_t kMostPositions = 1000;
    json.each_field(escaped_in_quotes(what), "an object like {\"0\": [\"float\"]}",
                    [&](const std::string& key, std::size_t at) {
                      const auto position = number_of(key);
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

}  // namespace

void read_required_operators(std::string_view text, SupportList& list, TextFaults& faults) {
  OperatorsReader(text, list, faults).read();
}

}  // namespace cleave
