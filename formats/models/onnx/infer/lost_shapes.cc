#include "formats/models/onnx/infer/shape_sources.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/capped_list.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/shell_word.h"

namespace cleave {
namespace {

// Operators whose output size depends on their data.
constexpr std::array<std::string_view, 6> kCounting = {
    "NonZero", "Unique", "Compress", "NonMaxSuppression", "StringSplit", "SplitToSequence"};

// Operators with an input that gives the shape: its position.
constexpr std::array<std::pair<std::string_view, std::size_t>, 16> kShaping = {{
    {"Reshape", 1},
    {"Expand", 1},
    {"Tile", 1},
    {"ConstantOfShape", 0},
    {"Slice", 1},
    {"Pad", 1},
    {"TopK", 1},
    {"OneHot", 1},
    {"Split", 1},
    {"Squeeze", 1},
    {"Unsqueeze", 1},
    {"Upsample", 1},
    {"Resize", 2},
    {"Range", 1},
    {"CenterCropPad", 1},
    {"MaxUnpool", 2},
}};

// Functions in the names of computed dims.
constexpr std::array<std::string_view, 8> kFunctions = {"floor", "ceil", "round", "min",
                                                        "max",   "Min",  "Max",   "Mod"};

constexpr std::size_t kMostDims = 4;  // whose options a note has

std::string dim_option(std::string_view dim) {
  return " --dim " + shell_word(escaped(dim) + "=SIZE");
}

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == ':';
}

// The names in an expression, without numbers.
std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_word_char(text[end])) ++end;
    const bool is_number = end > i && text[i] >= '0' && text[i] <= '9';
    if (end > i && !is_number) words.push_back(text.substr(i, end - i));
    i = std::max(end, i + 1);
  }
  return words;
}

// What a value is computed from.
struct Sources {
  std::set<std::string_view> symbols;  // dims of the inputs, read by Shape or Size
  bool reads_data = false;             // elements of an input
  bool is_whole = true;                // false: the search was given up
};

class LostShapes {
 public:
  LostShapes(const OnnxModel& model, const OnnxLinks& links, std::span<const OnnxType* const> types,
             const OnnxBoundShapes& bound)
      : model_(model), links_(links), types_(types), bound_(bound) {
    for (const OnnxValueInfo& input : model.graph.inputs) {
      const std::uint32_t number = links.values.find(input.name);
      if (number == OnnxValueNumbers::kNone) continue;
      for (const OnnxDim& dim : types[number]->dims) {
        if (!dim.name.empty()) symbols_.insert(dim.name);
      }
    }
  }

  std::vector<std::string> notes() {
    std::vector<std::string> out;
    CappedList losing(1);
    for (const std::uint32_t i : links_.order) {
      if (!loses(i) || !losing.shows_next()) continue;
      const OnnxNode& node = model_.graph.nodes.read(i, room_);
      out.push_back("shapes are first lost at " + onnx_node_text(node, i) +
                    (node.name.empty() ? "" : " (" + std::string(node.op_type) + ")") + ": " +
                    why(i, node));
    }
    if (losing.left_out() > 0) {
      out.push_back(losing.rest("shapes are lost at # more node that read known ones",
                                "shapes are lost at # more nodes that read known ones"));
    }
    return out;
  }

 private:
  // A dim computed from dims of the inputs, "floor(height/2) + 1", is known as soon as they are.
  bool is_open(const OnnxDim& dim) const { return !dim.is_fixed() && symbols_in(dim).empty(); }

  // The dims of the inputs that the dim is computed from; empty when there is none, or when it
  // depends on something else, too.
  std::vector<std::string_view> symbols_in(const OnnxDim& dim) const {
    if (dim.is_fixed() || dim.name.empty()) return {};
    if (const auto own = symbols_.find(dim.name); own != symbols_.end()) return {*own};
    std::vector<std::string_view> found;
    for (const std::string_view word : words_in(dim.name)) {
      if (std::find(kFunctions.begin(), kFunctions.end(), word) != kFunctions.end()) continue;
      const auto symbol = symbols_.find(word);
      if (symbol == symbols_.end()) return {};
      found.push_back(*symbol);
    }
    return found;
  }

  bool is_lost(const OnnxType& type) const {
    if (!type.is_known()) return true;
    if (!type.is_tensor()) return false;
    return !type.has_shape || std::any_of(type.dims.begin(), type.dims.end(),
                                          [&](const OnnxDim& dim) { return is_open(dim); });
  }
  // Asked of each value, so answered once for each type.
  bool is_lost(std::uint32_t number) {
    if (number == OnnxValueNumbers::kNone) return false;
    const OnnxType* const type = types_[number];
    if (type == last_) return is_last_lost_;
    const auto [at, is_new] = lost_.try_emplace(type);
    if (is_new) at->second = is_lost(*type);
    last_ = type;
    is_last_lost_ = at->second;
    return is_last_lost_;
  }

  bool loses(std::uint32_t i) {
    bool makes_lost = false;
    for (std::uint32_t at = links_.first_output[i]; at < links_.first_output[i + 1]; ++at) {
      makes_lost = makes_lost || is_lost(at);
    }
    if (!makes_lost) return false;
    for (const std::uint32_t number : links_.reads.of(i)) {
      if (is_lost(number)) return false;
    }
    for (const std::string_view name : links_.captures_of(i)) {
      if (is_lost(links_.values.find(name))) return false;
    }
    return true;
  }

  std::string why(std::uint32_t i, const OnnxNode& node) const {
    const std::string_view op = node.op_type;
    const bool is_default = node.domain.empty() || node.domain == "ai.onnx";
    if (!is_default) {
      return "there is no shape rule for " + std::string(node.domain) + "." + std::string(op) +
             options(i);
    }
    if (op == "If") {
      return "which branch runs depends on " + input_text(i, 0) + set_input(i) + options(i);
    }
    if (op == "Loop") {
      return "how often its body runs, or what it carries, depends on the data" + options(i);
    }
    if (std::find(kCounting.begin(), kCounting.end(), op) != kCounting.end()) {
      return "the size of its output depends on the data" + options(i);
    }
    for (const auto& [shaping, input] : kShaping) {
      if (shaping == op) return shaped_by(i, input);
    }
    return open_dims(i, symbols_read(i), "its operator does not determine them");
  }

  // An operator with inputs that give the shape, from `input` on.
  std::string shaped_by(std::uint32_t i, std::size_t input) const {
    const auto reads = links_.reads.of(i);
    std::set<std::string_view> symbols = symbols_read(i);
    std::string unsure;
    for (std::size_t at = input; at < reads.size(); ++at) {
      if (reads[at] == OnnxValueNumbers::kNone) continue;
      const Sources from = sources_of(reads[at]);
      if (from.reads_data) {
        return "they depend on " + input_text(i, at) + ", which depends on data" + options(i);
      }
      if (!from.is_whole) {
        unsure = "they depend on " + input_text(i, at) +
                 ", which depends on data or on dims that are not bound";
      }
      symbols.insert(from.symbols.begin(), from.symbols.end());
    }
    if (!unsure.empty()) return unsure + options(i);
    return open_dims(i, symbols, "its operator does not determine them");
  }

  // Names the open dims of the inputs as the cause, and the options that bind them; `other` and the
  // node's own dims when there are none.
  std::string open_dims(std::uint32_t i, const std::set<std::string_view>& symbols,
                        std::string_view other) const {
    if (symbols.empty()) return std::string(other) + options(i);
    return "they depend on " + capped_list(symbols, kMostDims, escaped_in_quotes, " and more") +
           "," + (symbols.size() == 1 ? " an open dim" : " open dims") +
           " of the model's inputs; give" + capped_list(symbols, kMostDims, dim_option, " ...", "");
  }

  // The dims of the inputs in the shapes that the node reads, without those that its outputs have,
  // too: these are not lost.
  std::set<std::string_view> symbols_read(std::uint32_t i) const {
    std::set<std::string_view> symbols;
    for (const std::uint32_t number : links_.reads.of(i)) {
      if (number != OnnxValueNumbers::kNone) add_symbols(*types_[number], symbols);
    }
    std::set<std::string_view> kept;
    for (std::uint32_t at = links_.first_output[i]; at < links_.first_output[i + 1]; ++at) {
      add_symbols(*types_[at], kept);
    }
    for (const std::string_view symbol : kept) symbols.erase(symbol);
    return symbols;
  }

  void add_symbols(const OnnxType& type, std::set<std::string_view>& symbols) const {
    for (const OnnxDim& dim : type.dims) {
      for (const std::string_view symbol : symbols_in(dim)) symbols.insert(symbol);
    }
  }

  // Follows the makers of a value back to the inputs. Shape and Size read dims, no data.
  Sources sources_of(std::uint32_t value) const {
    constexpr std::size_t kMostSteps = 4096;
    Sources from;
    std::set<std::uint32_t> seen = {value};
    std::vector<std::uint32_t> values = {value};
    OnnxNode room;
    for (std::size_t step = 0; step < values.size(); ++step) {
      if (step == kMostSteps) {
        from.is_whole = false;
        break;
      }
      const std::optional<std::uint32_t> maker = maker_of(values[step]);
      if (!maker) {
        if (values[step] >= model_.graph.initializers.size()) from.reads_data = true;
        continue;
      }
      const std::string_view op = model_.graph.nodes.read(*maker, room).op_type;
      const bool reads_dims = op == "Shape" || op == "Size";
      for (const std::uint32_t read : links_.reads.of(*maker)) {
        if (read == OnnxValueNumbers::kNone) continue;
        if (reads_dims) {
          add_symbols(*types_[read], from.symbols);
        } else if (seen.insert(read).second) {
          values.push_back(read);
        }
      }
      for (const std::string_view name : links_.captures_of(*maker)) {
        const std::uint32_t read = links_.values.find(name);
        if (read != OnnxValueNumbers::kNone && seen.insert(read).second) values.push_back(read);
      }
    }
    return from;
  }

  std::string input_text(std::uint32_t i, std::size_t input) const {
    const auto reads = links_.reads.of(i);
    if (input >= reads.size() || reads[input] == OnnxValueNumbers::kNone) return "its inputs";
    return escaped_in_quotes(links_.values.name(reads[input]));
  }

  // The graph's inputs that decide the condition of an If, if each has one element.
  std::string set_input(std::uint32_t i) const {
    constexpr std::size_t kMostSteps = 64;
    std::set<std::string_view> inputs;
    const auto reads = links_.reads.of(i);
    if (reads.empty() || reads[0] == OnnxValueNumbers::kNone) return {};
    std::vector<std::uint32_t> values = {reads[0]};
    for (std::size_t step = 0; step < values.size(); ++step) {
      if (step == kMostSteps) return {};
      const std::uint32_t value = values[step];
      const std::optional<std::uint32_t> maker = maker_of(value);
      if (!maker && value >= model_.graph.initializers.size()) {
        if (!is_single(*types_[value])) return {};
        inputs.insert(links_.values.name(value));
      }
      if (!maker) continue;
      for (const std::uint32_t read : links_.reads.of(*maker)) {
        if (read != OnnxValueNumbers::kNone) values.push_back(read);
      }
    }
    std::string text;
    for (const std::string_view input : inputs)
      text += "; --set-input " + shell_word(escaped(input) + "=VALUE");
    return text;
  }

  static bool is_single(const OnnxType& type) {
    return type.is_tensor() && type.has_shape &&
           std::all_of(type.dims.begin(), type.dims.end(),
                       [](const OnnxDim& dim) { return dim.size == 1; });
  }

  std::optional<std::uint32_t> maker_of(std::uint32_t value) const {
    const auto& first = links_.first_output;
    if (value < first.front()) return std::nullopt;
    const auto after = std::upper_bound(first.begin(), first.end(), value);
    return static_cast<std::uint32_t>(after - first.begin() - 1);
  }

  // "; if you know it, give --dim x:1=SIZE", for the first unknown dims of the node's outputs.
  std::string options(std::uint32_t i) const {
    std::vector<std::string> dims;
    const std::uint32_t end = links_.first_output[i + 1];
    for (std::uint32_t at = links_.first_output[i]; at < end && dims.size() <= kMostDims; ++at) {
      const OnnxType& type = *types_[at];
      if (!type.is_tensor() || !type.has_shape) continue;
      for (std::size_t axis = 0; axis < type.dims.size() && dims.size() <= kMostDims; ++axis) {
        const OnnxDim& dim = type.dims[axis];
        if (!is_open(dim) || bound_.has_axis(links_.values.name(at), axis)) continue;
        const std::string own = std::string(links_.values.name(at)) + ":" + std::to_string(axis);
        const std::string name = dim.name.empty() ? own : std::string(dim.name);
        if (std::find(dims.begin(), dims.end(), name) == dims.end()) dims.push_back(name);
      }
    }
    if (dims.empty()) return {};
    return "; if you know it, give" + capped_list(dims, kMostDims, dim_option, " ...", "");
  }

  const OnnxModel& model_;
  const OnnxLinks& links_;
  std::span<const OnnxType* const> types_;
  const OnnxBoundShapes& bound_;
  std::set<std::string, std::less<>> symbols_;
  std::unordered_map<const OnnxType*, bool> lost_;
  const OnnxType* last_ = nullptr;  // the type asked for last, and the answer
  bool is_last_lost_ = false;
  OnnxNode room_;
};

}  // namespace

std::vector<std::string> lost_shape_notes(const OnnxModel& model, const OnnxLinks& links,
                                          std::span<const OnnxType* const> types,
                                          const OnnxBoundShapes& bound) {
  return LostShapes(model, links, types, bound).notes();
}

}  // namespace cleave
