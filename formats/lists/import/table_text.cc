#include "formats/lists/import/table_text.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/base/white_space.h"

namespace cleave {
namespace {

// The text of a cell: a link becomes its text, ` and ** are removed, and an escaped character such
// as \| becomes the character.
std::string plain_text(std::string_view cell) {
  std::string text;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const char c = cell[i];
    const bool is_pair = c == '*' && i + 1 < cell.size() && cell[i + 1] == '*';
    if (c == '`' || c == '[') continue;
    if (is_pair) {
      ++i;
      continue;
    }
    if (c == '\\' && i + 1 < cell.size()) {
      text += cell[++i];
      continue;
    }
    if (c == ']') {
      const std::size_t close = cell.find(')', i);
      if (i + 1 < cell.size() && cell[i + 1] == '(' && close != cell.npos) i = close;
      continue;
    }
    text += c;
  }
  return std::string(trimmed(text));
}

// "ethos-u85-constraints" of "[Specific](#ethos-u85-constraints)".
std::vector<std::string> links_in(std::string_view line) {
  constexpr std::string_view kOpen = "](#";
  std::vector<std::string> links;
  for (std::size_t at = line.find(kOpen); at != line.npos; at = line.find(kOpen, at + 1)) {
    const std::size_t begin = at + kOpen.size();
    const std::size_t end = line.find(')', begin);
    if (end == line.npos) break;
    links.emplace_back(line.substr(begin, end - begin));
  }
  return links;
}

// The text of a heading; empty for other lines.
std::string_view heading_of(std::string_view line) {
  const std::size_t signs = line.find_first_not_of('#');
  if (signs == 0 || signs == line.npos || line[signs] != ' ') return {};
  return trimmed(line.substr(signs));
}

// The link that Markdown gives a heading.
std::string link_of(std::string_view heading) {
  std::string link;
  for (const char c : heading) {
    if (c >= 'A' && c <= 'Z') {
      link += static_cast<char>(c - 'A' + 'a');
    } else if (c == ' ') {
      link += '-';
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-') {
      link += c;
    }
  }
  return link;
}

// Calls read(line) for each line.
template <class Read>
void each_line(std::string_view text, Read read) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    read(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

bool has_bar(std::string_view line) { return line.find('|') != line.npos; }

std::vector<std::string> cells_of(std::string_view line) {
  line = trimmed(line);
  if (!line.empty() && line.front() == '|') line.remove_prefix(1);
  std::vector<std::string> cells;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= line.size(); ++at) {
    const bool is_end = at == line.size();
    const bool is_bar = !is_end && line[at] == '|' && (at == 0 || line[at - 1] != '\\');
    if (!is_end && !is_bar) continue;
    if (is_end && trimmed(line.substr(begin)).empty() && !cells.empty()) break;
    cells.push_back(plain_text(line.substr(begin, at - begin)));
    begin = at + 1;
  }
  return cells;
}

// True for a row of dashes such as |---|:--:|.
bool is_rule(std::string_view line) {
  line = trimmed(line);
  return has_bar(line) && line.find('-') != line.npos &&
         line.find_first_not_of("|-: \t") == line.npos;
}

}  // namespace

std::vector<MarkdownSection> parse_markdown_sections(std::string_view text) {
  constexpr std::string_view kExceptions = "Exceptions:";
  std::vector<MarkdownSection> sections;
  std::string_view heading;
  each_line(text, [&](std::string_view line) {
    if (const std::string_view found = heading_of(line); !found.empty()) heading = found;
    const std::string_view item = trimmed(line);
    if (heading.empty() || !item.starts_with("- ")) return;
    const std::string_view content = trimmed(item.substr(2));
    if (line.front() == '-') {
      const std::string link = link_of(heading);
      if (sections.empty() || sections.back().link != link) sections.push_back({link, {}});
      sections.back().items.push_back({plain_text(content), {}});
    } else if (sections.empty() || sections.back().items.empty()) {
      return;
    } else if (content.starts_with(kExceptions)) {
      std::string name;
      for (const char c : content.substr(kExceptions.size())) {
        if (c == '[' || c == ' ') continue;
        if (c != ',' && c != ']') {
          name += c;
        } else if (!name.empty()) {
          sections.back().items.back().except.push_back(std::exchange(name, {}));
        }
      }
    } else {
      sections.back().items.back().text += " - " + plain_text(content);
    }
  });
  return sections;
}

std::vector<MarkdownTable> parse_markdown_tables(std::string_view text) {
  std::vector<MarkdownTable> tables;
  std::string_view previous, heading;
  bool is_inside = false;
  std::size_t number = 0;
  each_line(text, [&](std::string_view line) {
    ++number;
    if (const std::string_view found = heading_of(line); !found.empty()) heading = found;
    if (!is_inside && is_rule(line) && has_bar(previous)) {
      tables.push_back({plain_text(heading), cells_of(previous), {}});
      is_inside = true;
    } else if (is_inside && has_bar(line)) {
      tables.back().rows.push_back({number, cells_of(line), links_in(line)});
    } else {
      is_inside = false;
    }
    previous = line;
  });
  return tables;
}

namespace {

// In alphabetical order. Left out are operators for which ONNX has no single operator that does the
// same.
constexpr auto kOps = std::to_array<TfliteOp>({
    {"ABS", "Abs"},
    {"ADD", "Add"},
    {"ADD_N", "Sum"},
    {"ARG_MAX", "ArgMax"},
    {"ARG_MIN", "ArgMin"},
    {"AVERAGE_POOL_2D", "AveragePool"},
    {"BATCH_MATMUL", "MatMul"},
    {"CAST", "Cast"},
    {"CEIL", "Ceil"},
    {"CONCATENATION", "Concat"},
    {"CONV_2D", "Conv", "attr.group == 1"},
    {"COS", "Cos"},
    {"CUMSUM", "CumSum"},
    {"DEPTHWISE_CONV_2D", "Conv", "attr.group > 1 and attr.group == in[0].dim[1]"},
    {"DEPTH_TO_SPACE", "DepthToSpace"},
    {"DEQUANTIZE", "DequantizeLinear"},
    {"DIV", "Div"},
    {"ELU", "Elu"},
    {"EQUAL", "Equal"},
    {"EXP", "Exp"},
    {"EXPAND_DIMS", "Unsqueeze"},
    {"FLOOR", "Floor"},
    {"FULLY_CONNECTED", "Gemm"},
    {"GATHER", "Gather"},
    {"GATHER_ND", "GatherND"},
    {"GELU", "Gelu"},
    {"GREATER", "Greater"},
    {"GREATER_EQUAL", "GreaterOrEqual"},
    {"HARD_SWISH", "HardSwish"},
    {"LEAKY_RELU", "LeakyRelu"},
    {"LESS", "Less"},
    {"LESS_EQUAL", "LessOrEqual"},
    {"LOG", "Log"},
    {"LOGICAL_AND", "And"},
    {"LOGICAL_NOT", "Not"},
    {"LOGICAL_OR", "Or"},
    {"LOGISTIC", "Sigmoid"},
    {"LOG_SOFTMAX", "LogSoftmax"},
    {"MAXIMUM", "Max"},
    {"MAX_POOL_2D", "MaxPool"},
    {"MEAN", "ReduceMean"},
    {"MINIMUM", "Min"},
    {"MIRROR_PAD", "Pad", "attr.mode == \"reflect\""},
    {"MUL", "Mul"},
    {"NEG", "Neg"},
    {"PAD", "Pad", "attr.mode == \"constant\""},
    {"PADV2", "Pad", "attr.mode == \"constant\""},
    {"POW", "Pow"},
    {"PRELU", "PRelu"},
    {"QUANTIZE", "QuantizeLinear"},
    {"REDUCE_MAX", "ReduceMax"},
    {"REDUCE_MIN", "ReduceMin"},
    {"REDUCE_PROD", "ReduceProd"},
    {"RELU", "Relu"},
    {"RESHAPE", "Reshape"},
    {"RESIZE_BILINEAR", "Resize", "attr.mode == \"linear\""},
    {"RESIZE_NEAREST_NEIGHBOR", "Resize", "attr.mode == \"nearest\""},
    {"ROUND", "Round"},
    {"SCATTER_ND", "ScatterND"},
    {"SELECT", "Where"},
    {"SELECT_V2", "Where"},
    {"SHAPE", "Shape"},
    {"SIGN", "Sign"},
    {"SIN", "Sin"},
    {"SLICE", "Slice"},
    {"SOFTMAX", "Softmax"},
    {"SPACE_TO_DEPTH", "SpaceToDepth"},
    {"SPLIT", "Split"},
    {"SPLIT_V", "Split"},
    {"SQRT", "Sqrt"},
    {"SQUEEZE", "Squeeze"},
    {"STRIDED_SLICE", "Slice"},
    {"SUB", "Sub"},
    {"SUM", "ReduceSum"},
    {"TANH", "Tanh"},
    {"TILE", "Tile"},
    {"TOPK_V2", "TopK"},
    {"TRANSPOSE", "Transpose"},
    {"TRANSPOSE_CONV", "ConvTranspose"},
    {"UNIDIRECTIONAL_SEQUENCE_LSTM", "LSTM", "attr.direction != \"bidirectional\""},
});

}  // namespace

const TfliteOp* find_tflite_op(std::string_view name) {
  const auto* const found = std::lower_bound(
      kOps.begin(), kOps.end(), name,
      [](const TfliteOp& op, std::string_view wanted) { return op.name < wanted; });
  return found != kOps.end() && found->name == name ? found : nullptr;
}

namespace {

constexpr std::array<std::pair<std::string_view, DType>, 27> kTypes = {{
    {"fp32", DType::float32},      {"float", DType::float32},        {"float32", DType::float32},
    {"fp16", DType::float16},      {"float16", DType::float16},      {"half", DType::float16},
    {"bf16", DType::bfloat16},     {"bfloat16", DType::bfloat16},    {"fp64", DType::float64},
    {"double", DType::float64},    {"float64", DType::float64},      {"int8", DType::int8},
    {"uint8", DType::uint8},       {"int16", DType::int16},          {"uint16", DType::uint16},
    {"int32", DType::int32},       {"uint32", DType::uint32},        {"int64", DType::int64},
    {"uint64", DType::uint64},     {"bool", DType::boolean},         {"boolean", DType::boolean},
    {"fp8", DType::float8_e4m3fn}, {"float8", DType::float8_e4m3fn}, {"int4", DType::int4},
    {"uint4", DType::uint4},       {"string", DType::string},        {"i64", DType::int64},
}};

}  // namespace

std::optional<DType> dtype_of_word(std::string_view word) {
  std::string small(word);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const auto* const known = std::find_if(kTypes.begin(), kTypes.end(),
                                         [&](const auto& type) { return type.first == small; });
  if (known == kTypes.end()) return std::nullopt;
  return known->second;
}

TypeSet allowed_types(const OnnxFormal& formal) {
  constexpr std::string_view kTensor = "tensor(";
  TypeSet types;
  if (formal.allowed == nullptr) return types;
  for (const std::string* const name : *formal.allowed) {
    std::string_view inner = *name;
    if (!inner.starts_with(kTensor)) continue;
    inner.remove_prefix(kTensor.size());
    inner.remove_suffix(1);
    if (const auto dtype = dtype_of_word(inner)) types.add(*dtype);
  }
  return types;
}

}  // namespace cleave
