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

constexpr std::array<std::pair<std::string_view, std::string_view>, 26> kCppTypes = {{
    {"float", "float32"},
    {"double", "float64"},
    {"int8_t", "int8"},
    {"uint8_t", "uint8"},
    {"int16_t", "int16"},
    {"uint16_t", "uint16"},
    {"int32_t", "int32"},
    {"uint32_t", "uint32"},
    {"int64_t", "int64"},
    {"uint64_t", "uint64"},
    {"bool", "bool"},
    {"std::string", "string"},
    {"string", "string"},
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
    {"std::complex<float>", "complex64"},
}};

std::optional<DType> cpp_dtype(std::string_view name) {
  for (const auto& [cpp, ours] : kCppTypes) {
    if (cpp == name) return parse_dtype(ours);
  }
  return std::nullopt;
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
    std::size_t begin = 0;
    while (begin < text_.size() && !faults_.is_full()) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      read_line(trimmed(text_.substr(begin, end - begin)));
      begin = end + 1;
    }
  }

 private:
  std::size_t offset_of(std::string_view part) const {
    return static_cast<std::size_t>(part.data() - text_.data());
  }

  void read_line(std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    if (line.front() == '!') {
      const std::string_view directive = line.substr(0, line.find(';'));
      faults_.warning(offset_of(line), escaped_in_quotes(directive) +
                                           " is ignored: it says how ONNX Runtime "
                                           "is built, not what runs");
      return;
    }
    const std::size_t first = line.find(';');
    const std::size_t second = first == line.npos ? line.npos : line.find(';', first + 1);
    if (second == line.npos) {
      faults_.error(offset_of(line),
                    "expected domain;opset;op1,op2, found " + escaped_in_quotes(line));
      return;
    }
    const std::string_view domain = trimmed(line.substr(0, first));
    const auto opsets = opsets_of(trimmed(line.substr(first + 1, second - first - 1)), line);
    if (!opsets.empty()) read_ops(line.substr(second + 1), domain, opsets);
  }

  std::vector<std::int64_t> opsets_of(std::string_view text, std::string_view line) {
    std::vector<std::int64_t> opsets;
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view word = trimmed(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      std::int64_t opset = 0;
      const auto parsed = std::from_chars(word.data(), word.data() + word.size(), opset);
      if (parsed.ec != std::errc{} || parsed.ptr != word.data() + word.size() || opset < 1) {
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

  void read_ops(std::string_view ops, std::string_view domain,
                const std::vector<std::int64_t>& opsets) {
    while (!ops.empty() && !faults_.is_full()) {
      const auto end = end_of_op(ops);
      if (!end) {
        faults_.error(offset_of(ops) + ops.find('{'), "this brace is never closed");
        return;
      }
      const std::string_view entry = trimmed(ops.substr(0, *end));
      if (!entry.empty()) read_op(entry, domain, opsets);
      ops.remove_prefix(std::min(*end + 1, ops.size()));
    }
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
    json.each_field(
        escaped_in_quotes(what), "an object like {\"0\": [\"float\"]}",
        [&](const std::string& key, std::size_t at) {
          std::size_t position = 0;
          const char* const end = key.data() + key.size();
          const auto parsed = std::from_chars(key.data(), end, position);
          if (parsed.ec != std::errc{} || parsed.ptr != end || position >= kMostPositions) {
            faults_.error(at, escaped_in_quotes(key) + " is not an index of an input or output");
            return json.skip();
          }
          if (positions.size() <= position) positions.resize(position + 1);
          positions[position] = take_types(json);
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
