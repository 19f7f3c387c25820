#include "formats/lists/support/support_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/white_space.h"
#include "core/graph/op_name.h"
#include "formats/base/io/side_file.h"
#include "formats/base/json/cursor.h"
#include "formats/base/text/utf8.h"
#include "formats/lists/support/support_reader.h"

namespace cleave {

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

}  // namespace

void read_support_text(std::string_view text, SupportList& list, TextFaults& faults) {
  TextReader(text, list, faults).read();
}

namespace {

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
  std::string lower(name.substr(0, 40));
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
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
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
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
  domain = plain_domain(domain);
  if (domain.empty()) return;
  if (!rule.domain.empty() && rule.domain != domain) {
    faults.error(at, "the rule names two domains, " + escaped_in_quotes(rule.domain) + " and " +
                         escaped_in_quotes(domain));
  }
  rule.domain = domain;
}

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
  return escaped_in_quotes(name) + " is not a dtype" +
         (meant.empty() ? ": the names are float32, float16, int8, ..., and tuple, scalar, ... for "
                          "non-tensors"
                        : ": did you mean " + escaped_in_quotes(meant) + "?");
}

Loaded<LoadedSupport> parse_support(const std::string& path, std::string_view bytes) {
  std::string padded;  // with the zero bytes that JsonCursor needs
  padded.reserve(bytes.size() + JsonCursor::kPadding);
  padded.append(bytes).append(JsonCursor::kPadding, '\0');
  std::string_view text = std::string_view(padded).substr(0, bytes.size());
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  LoadedSupport loaded;
  loaded.list.name = stem(path);
  loaded.list.path = path;
  loaded.list.text = text;
  TextFaults faults(path, text);
  const std::size_t bad = std::min(text.find('\0'), first_invalid_utf8(text));
  if (bad != text.npos) {
    faults.error(bad, "a support list is text in UTF-8, and this is not");
    return std::move(faults.errors());
  }
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
  if (!faults.errors().empty()) return std::move(faults.errors());
  loaded.warnings = std::move(faults.warnings());
  return loaded;
}

Loaded<LoadedSupport> read_support_file(const std::string& path) {
  auto source = open_side_file(path);
  if (!source) return std::move(source).error();
  if (source->size() > kMostBytes) {
    return Diagnostics{diagnostic_of(
        source->path(), "is larger than 64 MiB, the most that is read as a support list")};
  }
  return parse_support(source->path(), source->bytes());
}

}  // namespace cleave
