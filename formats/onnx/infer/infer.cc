// Infers shapes: the walk, control flow, shapes that were lost.
#include "formats/onnx/infer/infer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/infer/rules.h"

namespace cleave {

// ---- control flow ----
//
// Loop: a value carried from one trip to the next needs a type that holds for every trip. Steps:
// 1. infer the body with the types of the initial values;
// 2. keep what these types and the results have in common;
// 3. repeat from the common types until they no longer change.

namespace {

constexpr int kMostRounds = 4;          // first result, dims, ranks, confirmation
constexpr std::size_t kLoopInputs = 2;  // before the carried values: trip count and condition

const OnnxGraph* body_of(const OnnxOpCall& call, std::string_view name) {
  const OnnxAttribute* found = call.attribute(name);
  return found != nullptr && found->graphs.size() == 1 ? &found->graphs[0] : nullptr;
}

bool is_default_op(const OnnxOpCall& call, std::string_view op) {
  return call.domain().empty() && call.op() == op;
}

std::optional<std::int64_t> single(const OnnxOpCall& call, std::size_t input) {
  const auto known = call.integers(input);
  return known && known->size() == 1 ? std::optional((*known)[0]) : std::nullopt;
}

// What both types have in common.
OnnxType common_type(const OnnxType& a, const OnnxType& b) {
  if (!a.is_known() || a.type != b.type || a.dtype != b.dtype) return {};
  if (!a.is_tensor()) return a.full == b.full ? a : OnnxType{};
  OnnxType out = a;
  if (!b.has_shape || a.rank() != b.rank()) {
    out.has_shape = false;
    out.dims.clear();
    return out;
  }
  for (std::size_t i = 0; i < out.dims.size() && out.has_shape; ++i) {
    const bool is_same = a.dims[i].size == b.dims[i].size && a.dims[i].name == b.dims[i].name;
    if (!is_same) out.dims[i] = {.size = -1, .name = {}};
  }
  return out;
}

bool is_same_type(const OnnxType& a, const OnnxType& b) {
  if (a.type != b.type || a.dtype != b.dtype || a.has_shape != b.has_shape) return false;
  if (a.full != b.full || a.dims.size() != b.dims.size()) return false;
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i].size != b.dims[i].size || a.dims[i].name != b.dims[i].name) return false;
  }
  return true;
}

OnnxType scalar(DType dtype) {
  OnnxType type = onnx_tensor_type(dtype);
  type.has_shape = true;
  return type;
}

// The branch that a call of If takes; null when its condition is unknown, or the call is not an If.
const OnnxGraph* taken_branch(const OnnxOpCall& call) {
  if (!is_default_op(call, "If")) return nullptr;
  const std::optional<std::int64_t> condition = single(call, 0);
  if (!condition) return nullptr;
  return body_of(call, *condition != 0 ? "then_branch" : "else_branch");
}

bool infer_if(OnnxOpCall& call, const OnnxBodyRun& run) {
  const OnnxGraph* branch = taken_branch(call);
  if (branch == nullptr || branch->outputs.size() != call.outputs.size()) return false;
  OnnxBodyValues made = run(*branch, {});
  call.outputs = std::move(made.types);
  call.output_elements = std::move(made.elements);
  return true;
}

// How often the body of a Loop runs while its condition stays true; nullopt when unknown.
std::optional<std::int64_t> loop_trip_count(const OnnxOpCall& call) {
  if (!is_default_op(call, "Loop")) return std::nullopt;
  if (call.has_input(1)) {
    const std::optional<std::int64_t> condition = single(call, 1);
    if (!condition) return std::nullopt;
    if (*condition == 0) return 0;
  }
  const std::optional<std::int64_t> most = single(call, 0);
  return most ? std::optional(std::max<std::int64_t>(*most, 0)) : std::nullopt;
}

class LoopTypes {
 public:
  LoopTypes(OnnxOpCall& call, const OnnxGraph& body, const OnnxBodyRun& run)
      : call_(call), body_(body), run_(run), carried_(body.inputs.size() - kLoopInputs) {}

  bool infer() {
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      if (const OnnxType* type = call_.input(kLoopInputs + i)) carried_[i] = *type;
    }
    const std::vector<OnnxType> first = carried_;
    for (int round = 0; round < kMostRounds; ++round) {
      const OnnxBodyValues made = run_(body_, inputs());
      if (made.types.size() != body_.outputs.size()) return false;
      if (is_settled(made)) {
        fill(first, made);
        return true;
      }
    }
    return false;
  }

 private:
  // The condition is true in every trip, else the body would not run.
  OnnxBodyValues inputs() const {
    OnnxBodyValues in{.types = {scalar(DType::int64), scalar(DType::boolean)}, .elements = {}};
    in.types.insert(in.types.end(), carried_.begin(), carried_.end());
    in.elements.resize(in.types.size());
    in.elements[1] = OnnxElements{
        .dtype = DType::boolean, .dims = {}, .integers = {{.value = 1, .name = {}}}, .reals = {}};
    return in;
  }

  // Widens the carried types to cover the trip's results; true when they already did.
  bool is_settled(const OnnxBodyValues& made) {
    bool is_same = true;
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      OnnxType both = common_type(carried_[i], made.types[i + 1]);
      is_same = is_same && is_same_type(both, carried_[i]);
      carried_[i] = std::move(both);
    }
    return is_same;
  }

  static bool stays_true(const OnnxBodyValues& made) {
    if (made.elements.empty() || !made.elements[0]) return false;
    const auto known = known_integers(*made.elements[0]);
    return known && known->size() == 1 && (*known)[0] != 0;
  }

  void fill(const std::vector<OnnxType>& first, const OnnxBodyValues& made) {
    std::optional<std::int64_t> trips = loop_trip_count(call_);
    if (trips && *trips > 0 && !stays_true(made)) trips.reset();
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      if (i < carried_.size()) {
        call_.outputs[i] = carried_[i];
        if (trips) call_.outputs[i] = *trips == 0 ? first[i] : made.types[i + 1];
      } else if (i + 1 < made.types.size()) {
        call_.outputs[i] = collected(made.types[i + 1], trips);
      }
    }
  }

  // One element per trip, along a new first axis.
  static OnnxType collected(OnnxType type, std::optional<std::int64_t> trips) {
    if (!type.is_tensor() || !type.has_shape) return type;
    type.dims.insert(type.dims.begin(), OnnxDim{.size = trips.value_or(-1), .name = {}});
    return type;
  }

  OnnxOpCall& call_;
  const OnnxGraph& body_;
  const OnnxBodyRun& run_;
  std::vector<OnnxType> carried_;
};

bool infer_loop(OnnxOpCall& call, const OnnxBodyRun& run) {
  const OnnxGraph* body = body_of(call, "body");
  if (body == nullptr || body->inputs.size() < kLoopInputs) return false;
  const std::size_t carried = body->inputs.size() - kLoopInputs;
  if (call.input_count() != body->inputs.size() || body->outputs.size() < carried + 1) return false;
  return LoopTypes(call, *body, run).infer();
}

// Sets call.outputs and call.output_elements. False: not applicable, ask the schema. The body of a
// Loop is run a few times, until the types of the values it carries stay the same.
bool infer_control_flow(OnnxOpCall& call, const OnnxBodyRun& run) {
  if (is_default_op(call, "If")) return infer_if(call, run);
  return is_default_op(call, "Loop") && infer_loop(call, run);
}

}  // namespace

// ---- lost shapes ----

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

bool is_of_name(char c) { return is_word_char(c) || c == '.' || c == ':'; }

// The names in an expression, without numbers.
std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_of_name(text[end])) ++end;
    const bool is_number = end > i && is_digit(text[i]);
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
             const OnnxBoundShapes& bound, const std::set<std::uint32_t>& misfits)
      : model_(model), links_(links), types_(types), bound_(bound), misfits_(misfits) {
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
      if (contains(kFunctions, word)) continue;
      const auto symbol = symbols_.find(word);
      if (symbol == symbols_.end()) return {};
      found.push_back(*symbol);
    }
    return found;
  }

  bool is_lost(const OnnxType& type) const {
    if (!type.is_known()) return true;
    if (!type.is_tensor()) return false;
    return !type.has_shape ||
           std::ranges::any_of(type.dims, [&](const OnnxDim& dim) { return is_open(dim); });
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
    if (misfits_.contains(i)) {
      return "the sizes that it reads contradict each other, so no run is possible at these sizes";
    }
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
    if (contains(kCounting, op)) {
      return "the size of its output depends on the data" + options(i);
    }
    if (const std::string small = too_small(i, node); !small.empty()) return small;
    for (const auto& [shaping, input] : kShaping) {
      if (shaping == op) return shaped_by(i, input);
    }
    return open_dims(i, symbols_read(i), "its operator does not determine them");
  }

  // Why no run is possible, where a window is larger than what it slides over; "" elsewhere.
  std::string too_small(std::uint32_t i, const OnnxNode& node) const {
    const auto reads = links_.reads.of(i);
    std::vector<const OnnxType*> types;
    for (const std::uint32_t number : reads) {
      if (number == OnnxValueNumbers::kNone) return {};
      types.push_back(types_[number]);
    }
    const auto axis = axis_below_window(node, types);
    if (!axis) return {};
    return "axis " + std::to_string(axis->axis) + " of " + input_text(i, 0) +
           " is too small: " + std::to_string(types[0]->dims[axis->axis].size) +
           (axis->pads > 0 ? " and " + std::to_string(axis->pads) + " of padding" : "") +
           ", and its window has " + std::to_string(axis->window) + ", so no run is possible; " +
           larger_sizes();
  }

  // The options that make the model's inputs larger; the first axis of several counts inferences.
  std::string larger_sizes() const {
    std::string text;
    for (const OnnxValueInfo& input : model_.graph.inputs) {
      if (bound_.binds_input(input.name)) {
        text += " --input-shape " + shell_word(escaped(input.name) + "=SIZES");
        continue;
      }
      const OnnxType type = parse_onnx_type(input.type);
      for (std::size_t axis = type.dims.size() > 1 ? 1 : 0; axis < type.dims.size(); ++axis) {
        const std::string option = dim_option(type.dims[axis].name);
        if (!type.dims[axis].name.empty() && text.find(option) == text.npos) text += option;
      }
    }
    return text.empty() ? "the sizes are in the file" : "give larger sizes:" + text;
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
    // For a note only, and there may be one for each of ten nodes: what lies further back makes the
    // note say less (is_whole), and never makes it wrong.
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
    // A condition that a user can set is a few comparisons away from an input. Values are not told
    // apart here, so the limit is also what ends a walk through paths that part and meet again.
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
           std::ranges::all_of(type.dims, [](const OnnxDim& dim) { return dim.size == 1; });
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
        if (!contains(dims, name)) dims.push_back(name);
      }
    }
    if (dims.empty()) return {};
    return "; if you know it, give" + capped_list(dims, kMostDims, dim_option, " ...", "");
  }

  const OnnxModel& model_;
  const OnnxLinks& links_;
  std::span<const OnnxType* const> types_;
  const OnnxBoundShapes& bound_;
  const std::set<std::uint32_t>& misfits_;
  std::set<std::string, std::less<>> symbols_;
  std::unordered_map<const OnnxType*, bool> lost_;
  const OnnxType* last_ = nullptr;  // the type asked for last, and the answer
  bool is_last_lost_ = false;
  OnnxNode room_;
};

// Notes for the report, at most two: the first such node in the order of execution, with the reason
// and the options that would help; and how many more there are. A symbolic dim of the model's
// inputs counts as known, since --dim binds it. `types` are those of the main graph's values, by
// number. No option of `bound` is named again. `misfits`: nodes that read known sizes which contradict each other. Linear.
std::vector<std::string> lost_shape_notes(const OnnxModel& model, const OnnxLinks& links,
                                          std::span<const OnnxType* const> types,
                                          const OnnxBoundShapes& bound,
                                          const std::set<std::uint32_t>& misfits) {
  return LostShapes(model, links, types, bound, misfits).notes();
}

}  // namespace

// ---- infer shapes ----
//
// The driver. Values are looked up through scopes: a body sees its own values and those around it.
// Steps for each node, in order:
//   1. apply our own rule, if there is one; otherwise the schema function of the ONNX library;
//   2. if neither gave a rank, set the rank alone if it is certain;
//   3. merge what the file declares; where both disagree a dim is unknown;
//   4. pass on the known elements of small integer tensors, for later shapes.
// A node in which a step fails keeps what the file declares; other nodes keep their shapes. With
// ShapeInference::file only step 3 runs; with `off` it ignores value_info, too.

namespace {

// The known facts about values during type inference, by scope: a body sees its own values and, by
// name, those of the graphs around it. Values of the main graph have numbers and are found without
// their names.

using OnnxOpsets = std::unordered_map<std::string_view, std::int64_t>;

// The imported opset versions by domain, with "ai.onnx" as "".
inline OnnxOpsets onnx_opsets(
    const std::vector<std::pair<std::string_view, std::int64_t>>& imports) {
  OnnxOpsets out;
  for (const auto& [domain, version] : imports) {
    out.emplace(plain_domain(domain), version);
  }
  return out;
}

// The known facts about the main graph's values, by number.
struct OnnxMainValues {
  const OnnxLinks& links;
  std::vector<OnnxValueFacts> facts;
  std::vector<const OnnxType*> declared;  // null when the file declares none; empty: none at all
};

struct OnnxValueScope {
  OnnxValueScope* outer = nullptr;  // null for the main graph, and for a function
  OnnxMainValues* main = nullptr;   // in the main graph: values are stored there instead of here
  const OnnxOpsets* opsets = nullptr;
  const OnnxBindings* bindings = nullptr;  // null outside functions
  OnnxTypesOfBodies* bodies = nullptr;     // null within functions: their types are not needed
  int function_depth = 0;
  std::unordered_map<std::string_view, OnnxValueFacts> values = {};
  std::unordered_map<std::string_view, const OnnxType*> declared = {};

  OnnxValueFacts* find(std::string_view name) {
    if (name.empty()) return nullptr;
    for (OnnxValueScope* scope = this; scope != nullptr; scope = scope->outer) {
      if (scope->main != nullptr) return find_main(*scope->main, name);
      const auto found = scope->values.find(name);
      if (found != scope->values.end()) return &found->second;
    }
    return nullptr;
  }
  static OnnxValueFacts* find_main(OnnxMainValues& main, std::string_view name) {
    const std::uint32_t number = main.links.values.find(name);
    return number == OnnxValueNumbers::kNone ? nullptr : &main.facts[number];
  }
  // A value of this scope, added if it is new.
  OnnxValueFacts& own(std::string_view name) {
    return main != nullptr ? *find_main(*main, name) : values[name];
  }
  void declare(std::string_view name, const OnnxType* type) {
    if (main == nullptr) {
      declared.insert_or_assign(name, type);
      return;
    }
    const std::uint32_t number = main->links.values.find(name);
    if (number == OnnxValueNumbers::kNone) return;
    main->declared.resize(main->facts.size(), nullptr);
    main->declared[number] = type;
  }
};

// A node during inference: where the facts about its outputs are stored.
struct OnnxOutputPlaces {
  OnnxValueScope& scope;
  std::uint32_t number = 0;  // in the main graph: number of its next named output

  struct Place {
    OnnxValueFacts& facts;
    const OnnxType* declared;  // null: not declared in the file
  };
  Place next(std::string_view name) {
    if (scope.main != nullptr) {
      const auto& declared = scope.main->declared;
      const std::uint32_t own = number++;
      return {scope.main->facts[own], declared.empty() ? nullptr : declared[own]};
    }
    const auto declared = scope.declared.find(name);
    return {scope.values[name], declared == scope.declared.end() ? nullptr : declared->second};
  }
};

constexpr std::size_t kNotes = 10;  // of a kind; the rest are counted
constexpr std::size_t kNodesBetweenTold = 1024;
constexpr int kFunctionDepth = 32;  // nested calls of the model's functions
// Limits on nodes inferred within functions, over all calls: functions that call each other can
// expand to exponentially many nodes, so a small file gets a small budget.
// A hundred calls of each function on average. At least 50,000, so that a few small functions may
// be called thousands of times; at most 4 million, which bounds time and memory whatever the file
// says. Chosen, not measured.
constexpr std::size_t kMostBudget = 4'000'000;
constexpr std::size_t kLeastBudget = 50'000;
constexpr std::size_t kBudgetPerNode = 100;

// Notes of one kind: the first few, and the number of all.
class NoteList {
 public:
  // `text()` makes the note; called only for the first ones.
  template <class Text>
  void add(const Text& text) {
    if (list_.shows_next()) notes_.push_back(text());
  }
  std::size_t count() const { return notes_.size() + list_.left_out(); }
  void append_to(std::vector<std::string>& out, std::string_view rest) const {
    out.insert(out.end(), notes_.begin(), notes_.end());
    if (list_.left_out() > 0) out.push_back(list_.rest(rest));
  }

 private:
  std::vector<std::string> notes_;
  CappedList list_{kNotes};
};

bool knows_inputs(const OnnxOpCall& call) {
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    if (call.has_input(i) && call.input(i) == nullptr) return false;
  }
  return true;
}

// The known elements of a value, also if they are in the file.
std::optional<OnnxElements> elements_of(const OnnxValueFacts& facts) {
  if (facts.elements != nullptr) return *facts.elements;
  const bool is_small = facts.tensor != nullptr && !facts.tensor->is_external &&
                        facts.tensor->record.payload.size() <= OnnxOpCall::kSmallTensor;
  return is_small ? read_onnx_elements(*facts.tensor) : std::nullopt;
}

class Inference {
 public:
  Inference(const OnnxModel& model, const OnnxLinks& links, const OnnxBoundShapes& bound,
            const ShapeBindings& bindings, OnnxTypeReuse reuse)
      : model_(model),
        links_(links),
        bound_(bound),
        from_(bindings.inference),
        reuse_(reuse),
        folding_(bindings.folding) {
    for (const OnnxFunction& function : model.functions) {
      functions_.emplace(onnx_function_key(function.domain, function.name, function.overload),
                         &function);
      nodes_there_ += function.nodes.size();
    }
    budget_ = std::min(kMostBudget, kLeastBudget + kBudgetPerNode * nodes_there_);
  }

  OnnxTypes run(const Progress& progress) {
    OnnxTypes out;
    const OnnxOpsets opsets = onnx_opsets(model_.opsets);
    const OnnxMainGraph& graph = model_.graph;
    OnnxMainValues main{.links = links_, .facts = {}, .declared = {}};
    main.facts.resize(links_.values.count());
    OnnxValueScope scope{.main = &main, .opsets = &opsets, .bodies = &out.bodies};
    declare_all(scope, graph);
    note_given_to_outputs();
    for (const OnnxValueInfo& input : graph.inputs) {
      OnnxValueFacts& facts = scope.own(input.name);
      facts.type = pool_.keep(bound_.bound_input(input.name, parse_onnx_type(input.type)));
      if (auto held = bound_.held_by(input.name)) {
        facts.elements = std::make_unique<OnnxElements>(*std::move(held));
      }
    }
    add_initializers(scope, graph);
    const auto& order = links_.order;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i % kNodesBetweenTold == 0)
        tell(progress, {"inferring types of", "nodes", i, order.size()});
      infer_main_node(scope, order[i]);
    }
    out.main.reserve(main.facts.size());
    for (const OnnxValueFacts& facts : main.facts) out.main.push_back(facts.type);
    out.pool = std::move(pool_);
    out.decided = std::move(decided_);
    if (folding_ == Folding::write) keep_known(out, main.facts);
    report_unknown(out);
    return out;
  }

 private:
  void declare(OnnxValueScope& scope, const std::vector<OnnxValueInfo>& infos) {
    for (const OnnxValueInfo& info : infos) {
      if (info.type.empty()) continue;
      const OnnxType* type = pool_.keep(bound_.bound(parse_onnx_type(info.type)));
      if (type->is_known()) scope.declare(info.name, type);
    }
  }

  void declare_all(OnnxValueScope& scope, const OnnxGraphFields& graph) {
    if (from_ != ShapeInference::off) declare(scope, graph.value_infos);
    declare(scope, graph.outputs);
  }

  void add_initializers(OnnxValueScope& scope, const OnnxGraphFields& graph) {
    std::uint32_t number = 0;  // in the main graph they have the first ones
    OnnxType type;             // reused for its memory
    for (const OnnxTensor& tensor : graph.initializers) {
      type.type = ValueType::tensor;
      type.dtype = tensor.dtype;
      type.has_shape = true;
      type.dims.clear();
      for (const std::int64_t dim : tensor.dims) type.dims.push_back({.size = dim, .name = {}});
      OnnxValueFacts& facts =
          scope.main != nullptr ? scope.main->facts[number++] : scope.own(tensor.name);
      facts = {};
      facts.type = pool_.keep(type);
      facts.tensor = &tensor;
    }
  }

  void infer_main_node(OnnxValueScope& scope, std::uint32_t i) {
    const bool is_kept = may_be_kept(i);
    if (is_kept && take_kept(scope, i)) return;
    const OnnxNode& node = model_.graph.nodes.read(i, room_);
    main_ = &node;
    main_index_ = i;
    const auto reads = links_.reads.of(i);
    const auto made =
        std::ranges::count_if(node.outputs, [](std::string_view name) { return !name.empty(); });
    const bool is_as_linked = node.inputs.size() == reads.size() &&
                              made == links_.first_output[i + 1] - links_.first_output[i];
    if (!is_as_linked) return;  // the file has changed; it is refused in the end
    std::vector<OnnxValueFacts*> inputs;
    inputs.reserve(reads.size());
    for (const std::uint32_t number : reads) {
      inputs.push_back(number == OnnxValueNumbers::kNone ? nullptr : &scope.main->facts[number]);
    }
    infer_call(scope, node, std::move(inputs), {scope, links_.first_output[i]}, is_kept);
  }

  // Whether what is inferred for the node may follow from its kind and the types of its inputs alone.
  bool may_be_kept(std::uint32_t i) const {
    const OnnxNodes& nodes = model_.graph.nodes;
    return reuse_ == OnnxTypeReuse::by_kind && from_ == ShapeInference::full &&
           !nodes.kind(i).has_own_attributes && functions_.empty() && !bound_.binds_values();
  }

  // Makes the key of the node, and takes the types over from a node before that had the same.
  bool take_kept(OnnxValueScope& scope, std::uint32_t i) {
    const OnnxNodes& nodes = model_.graph.nodes;
    memo_.start(nodes.kind_number(i));
    for (const std::uint32_t number : links_.reads.of(i)) {
      if (number == OnnxValueNumbers::kNone) {
        memo_.add({});
      } else {
        const OnnxValueFacts& facts = scope.main->facts[number];
        memo_.add({.type = facts.type, .has_values = facts.has_values()});
      }
    }
    const OnnxType* const* type = memo_.find();
    if (type == nullptr) return false;
    OnnxOutputPlaces outputs{scope, links_.first_output[i]};
    for (const std::uint32_t name : nodes.outputs(i)) {
      const OnnxType* const inferred = *type++;
      if (name == OnnxNames::kEmpty) continue;
      const auto [facts, declared] = outputs.next({});
      record_type(nodes.names()->text(name), *inferred, declared, facts);
    }
    return true;
  }

  void keep_types(const OnnxOpCall& call) {
    std::vector<const OnnxType*> types;
    types.reserve(call.outputs.size());
    for (const OnnxType& type : call.outputs) types.push_back(pool_.keep(type));
    memo_.keep(types);
  }

  void infer_node(OnnxValueScope& scope, const OnnxNode& node) {
    std::vector<OnnxValueFacts*> inputs;
    inputs.reserve(node.inputs.size());
    for (const std::string_view name : node.inputs) inputs.push_back(scope.find(name));
    infer_call(scope, node, std::move(inputs), {scope});
  }

  // Recurses for nested calls, that is for the nodes of bodies and functions.
  void infer_call(OnnxValueScope& scope, const OnnxNode& node, std::vector<OnnxValueFacts*> inputs,
                  OnnxOutputPlaces outputs, bool is_kept = false) {
    const std::string_view domain = plain_domain(node.domain);
    const auto opset = scope.opsets->find(domain);
    bool depends_on_more = false;  // than the kind and the types of the inputs
    OnnxOpCall call(node, opset != scope.opsets->end() ? opset->second : 1, std::move(inputs),
                    scope.bindings, &depends_on_more);
    std::vector<const OnnxGraph*> inferred;
    // The contents of a Constant are stated in the file, as an initializer's type is.
    const bool is_stated = call.op() == "Constant" && call.domain().empty();
    const bool is_failed =
        (from_ == ShapeInference::full || is_stated) && !infer_outputs(scope, call, inferred);
    infer_bodies_left(scope, call, inferred);
    if (from_ == ShapeInference::full && call.output_elements.empty()) {
      call.output_elements = infer_elements(call);
    }
    const bool has_elements = std::ranges::any_of(
        call.output_elements, [](const auto& elements) { return elements.has_value(); });
    if (is_kept && !depends_on_more && !has_elements && !is_failed) keep_types(call);
    record_outputs(outputs, call);
  }

  // False: the node's shapes do not fit.
  bool infer_outputs(OnnxValueScope& scope, OnnxOpCall& call,
                     std::vector<const OnnxGraph*>& inferred) {
    if (const OnnxFunction* function = function_of(call.node())) {
      infer_function(scope, call, *function);
      return true;
    }
    bool is_failed = false;
    const OnnxBodyRun run = [&](const OnnxGraph& body, const OnnxBodyValues& inputs) {
      inferred.push_back(&body);
      within_calls_ += body.nodes.size();
      return infer_body(scope, body, inputs);
    };
    const bool is_followed = within_calls_ <= budget_;
    if (!(is_followed && infer_control_flow(call, run)) && !infer_by_rule(call)) {
      const auto bodies = [&](const OnnxGraph& body, const std::vector<OnnxType>& inputs) {
        return run(body, {.types = inputs, .elements = {}}).types;
      };
      const OnnxSchemaAnswer answer = infer_by_schema(call, bodies);
      // An unknown input type explains the failure by itself; it was reported where it first
      // appeared.
      is_failed = answer.outcome == OnnxSchemaAnswer::Outcome::failed;
      if (is_failed && knows_inputs(call) && is_noted(call.node().record.field.data())) {
        failures_.add(
            [&] { return node_text(call.node()) + ": shapes do not fit: " + answer.why; });
        if (&call.node() == main_) misfits_.insert(main_index_);
      }
    }
    add_weakest_rank(call);
    return !is_failed;
  }

  // Infers bodies that the node's own inference did not visit, from the file's declarations.
  void infer_bodies_left(OnnxValueScope& scope, const OnnxOpCall& call,
                         const std::vector<const OnnxGraph*>& inferred) {
    // The other branch never runs.
    const OnnxGraph* const taken = taken_branch(call);
    if (taken != nullptr && scope.main != nullptr) decided_.emplace_back(main_index_, taken);
    const bool is_dead = taken != nullptr;
    dead_depth_ += is_dead ? 1 : 0;
    for (const OnnxAttribute& attribute : call.node().attributes) {
      for (const OnnxGraph& body : attribute.graphs) {
        const bool is_done = contains(inferred, &body);
        if (!is_done) infer_body(scope, body, {});
      }
    }
    dead_depth_ -= is_dead ? 1 : 0;
  }

  void record_outputs(OnnxOutputPlaces outputs, OnnxOpCall& call) {
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const std::string_view name = call.node().outputs[i];
      if (name.empty()) continue;
      const auto [facts, declared] = outputs.next(name);
      facts = {};
      const bool agrees = outputs.scope.main == nullptr || bound_.bind_value(name, call.outputs[i]);
      if (!agrees && is_noted(name.data())) {
        disagreements_.add([&] {
          return "value " + escaped_in_quotes(name) + " is " + onnx_type_text(call.outputs[i]) +
                 " by its operator, which a --dim of it contradicts";
        });
      }
      record_type(name, *pool_.keep(std::move(call.outputs[i])), declared, facts);
      if (i < call.output_elements.size() && call.output_elements[i]) {
        facts.elements = std::make_unique<OnnxElements>(*std::move(call.output_elements[i]));
      }
      if (call.op() == "Constant" && call.domain().empty()) note_constant(call, facts);
    }
  }

  // `inferred` is in the pool; `declared` is null where the file declares nothing.
  void record_type(std::string_view name, const OnnxType& inferred, const OnnxType* declared,
                   OnnxValueFacts& facts) {
    const bool is_as_inferred = declared == nullptr || declared == &inferred;
    facts.type = is_as_inferred ? &inferred : merged(name, inferred, *declared);
  }

  // Sizes that the user gave to names which only outputs have. Nothing but the operators can confirm or contradict these.
  void note_given_to_outputs() {
    if (!bound_.binds_names()) return;
    std::set<std::string> of_inputs;
    for (const OnnxValueInfo& input : model_.graph.inputs) {
      for (const OnnxDim& dim : parse_onnx_type(input.type).dims) of_inputs.insert(dim.name);
    }
    for (const OnnxValueInfo& output : model_.graph.outputs) {
      const OnnxType type = parse_onnx_type(output.type);
      const OnnxType bound = bound_.bound(type);
      for (std::size_t i = 0; i < type.dims.size(); ++i) {
        const std::string& name = type.dims[i].name;
        if (name.empty() || !bound.dims[i].is_fixed() || of_inputs.contains(name)) continue;
        given_to_outputs_[output.name] +=
            " --dim " + shell_word(escaped(name) + "=" + std::to_string(bound.dims[i].size));
      }
    }
  }

  // Adds a note if the two disagree.
  const OnnxType* merged(std::string_view name, const OnnxType& inferred,
                         const OnnxType& declared) {
    OnnxMergedType both = merged_onnx_type(inferred, declared);
    if (!both.agree && is_noted(name.data())) {
      const auto given = given_to_outputs_.find(name);
      const bool is_given = given != given_to_outputs_.end();
      (is_given ? overruled_ : disagreements_).add([&] {
        return "value " + escaped_in_quotes(name) + " is " + onnx_type_text(declared) +
               (is_given ? " with" + given->second : " in the file") + ", but by its operator " +
               onnx_type_text(inferred);
      });
    }
    return pool_.keep(std::move(both.type));
  }

  // The node's memory is reused for other nodes of the main graph: copies its small tensors.
  void note_constant(const OnnxOpCall& call, OnnxValueFacts& facts) const {
    const OnnxAttribute* value = call.attribute("value");
    if (value == nullptr || value->tensors.empty()) return;
    const OnnxTensor& tensor = value->tensors[0];
    if (&call.node() == &room_) {
      if (tensor.record.payload.size() > OnnxOpCall::kSmallTensor + tensor.name.size()) return;
      facts.own_tensor = std::make_unique<OnnxTensor>(tensor);
    }
    facts.tensor = facts.own_tensor != nullptr ? facts.own_tensor.get() : &tensor;
  }

  OnnxBodyValues infer_body(OnnxValueScope& outer, const OnnxGraph& body,
                            const OnnxBodyValues& inputs) {
    OnnxValueScope scope{.outer = &outer,
                         .opsets = outer.opsets,
                         .bindings = outer.bindings,
                         .function_depth = outer.function_depth};
    OnnxBodyTypes* types = nullptr;
    if (outer.bodies != nullptr) {
      auto& place = (*outer.bodies)[&body];
      place = std::make_unique<OnnxBodyTypes>();
      types = place.get();
      scope.bodies = &types->bodies;
    }
    declare_all(scope, body);
    give_inputs(scope, body, inputs);
    add_initializers(scope, body);
    for (const OnnxNode& node : body.nodes) infer_node(scope, node);
    OnnxBodyValues outputs;
    for (const OnnxValueInfo& output : body.outputs) {
      const OnnxValueFacts* facts = scope.find(output.name);
      outputs.types.push_back(facts != nullptr ? *facts->type : OnnxType{});
      outputs.elements.push_back(facts != nullptr ? elements_of(*facts) : std::nullopt);
    }
    if (types != nullptr) finish(scope, *types);
    return outputs;
  }

  void give_inputs(OnnxValueScope& scope, const OnnxGraph& body, const OnnxBodyValues& inputs) {
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      OnnxType declared = bound_.bound(parse_onnx_type(body.inputs[i].type));
      OnnxType given = i < inputs.types.size() ? inputs.types[i] : OnnxType{};
      OnnxValueFacts& facts = scope.values[body.inputs[i].name];
      facts.type = pool_.keep(merged_onnx_type(std::move(given), declared).type);
      if (i < inputs.elements.size() && inputs.elements[i]) {
        facts.elements = std::make_unique<OnnxElements>(*inputs.elements[i]);
      }
    }
  }

  const OnnxFunction* function_of(const OnnxNode& node) const {
    if (functions_.empty()) return nullptr;
    const auto found = functions_.find(onnx_function_key(node.domain, node.op_type, node.overload));
    return found != functions_.end() ? found->second : nullptr;
  }

  // Infers the function's body with the call's types and constants as its inputs.
  void infer_function(OnnxValueScope& caller, OnnxOpCall& call, const OnnxFunction& function) {
    within_calls_ += function.nodes.size();
    if (caller.function_depth == kFunctionDepth || within_calls_ > budget_) {
      failures_.add([&] {
        return node_text(call.node()) + ": calls of functions nest too deep, or are too many";
      });
      return;
    }
    OnnxBindings bindings;
    for (const OnnxAttribute& attribute : function.default_attributes) {
      bindings[attribute.name] = &attribute;
    }
    for (const OnnxAttribute& attribute : call.node().attributes) {
      if (const OnnxAttribute* bound = call.attribute(attribute.name)) {
        bindings[attribute.name] = bound;
      }
    }
    const OnnxOpsets opsets = onnx_opsets(function.opsets);
    OnnxValueScope scope{
        .opsets = &opsets, .bindings = &bindings, .function_depth = caller.function_depth + 1};
    declare(scope, function.value_infos);
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      OnnxValueFacts& facts = scope.values[function.inputs[i]];
      if (const OnnxType* type = call.input(i)) facts.type = type;
      facts.tensor = call.constant(i);
      if (const OnnxElements* known = call.elements(i)) {
        facts.elements = std::make_unique<OnnxElements>(*known);
      }
    }
    for (const OnnxNode& node : function.nodes) infer_node(scope, node);
    call.output_elements.resize(call.outputs.size());
    for (std::size_t i = 0; i < std::min(function.outputs.size(), call.outputs.size()); ++i) {
      if (const OnnxValueFacts* facts = scope.find(function.outputs[i])) {
        call.outputs[i] = *facts->type;
        call.output_elements[i] = elements_of(*facts);
      }
    }
  }

  // Whether this place of the file deserves a note: when it is first visited, in code that runs.
  // Bodies may be inferred several times.
  bool is_noted(const char* place) { return dead_depth_ == 0 && noted_.insert(place).second; }

  // Moves known integers out of the facts, for folding.
  void keep_known(OnnxTypes& out, std::vector<OnnxValueFacts>& facts) const {
    for (std::uint32_t i = links_.first_output.front(); i < facts.size(); ++i) {
      OnnxElements* const elements = facts[i].elements.get();
      if (elements == nullptr || !is_integer_dtype(elements->dtype)) continue;
      if (known_integers(*elements)) out.known.emplace(i, std::move(*elements));
    }
  }

  void report_unknown(OnnxTypes& out) const {
    NoteList ranks;
    report_unknown_ranks(out, ranks);
    if (from_ != ShapeInference::full) {
      if (!out.unknown.empty()) {
        out.notes.push_back(std::to_string(out.unknown.size()) +
                            " values are of no known type or rank: with --infer " +
                            std::string(shape_inference_name(from_)) +
                            " only what the file declares is known");
      }
      return;
    }
    out.misfits = failures_.count() + disagreements_.count() + overruled_.count();
    overruled_.append_to(out.warnings, "and # more values that a --dim contradicts");
    failures_.append_to(out.notes, "and # more nodes whose shapes do not fit");
    if (const std::string given = bound_.axis_options(); !given.empty() && out.misfits > 0) {
      out.notes.push_back("a size that was given within the model contradicts its operators: " +
                          given);
    }
    disagreements_.append_to(out.notes, "and # more values that the file declares otherwise");
    ranks.append_to(out.notes, "and # more values without a known rank");
    for (std::string& note : lost_shape_notes(model_, links_, out.main, bound_, misfits_)) {
      out.notes.push_back(std::move(note));
    }
  }

  void report_unknown_ranks(OnnxTypes& out, NoteList& ranks) const {
    OnnxNode room;
    for (std::uint32_t i = 0; i < model_.graph.nodes.size(); ++i) {
      for (std::uint32_t at = links_.first_output[i]; at < links_.first_output[i + 1]; ++at) {
        const OnnxType& type = *out.main[at];
        if (type.is_known() && (!type.is_tensor() || type.has_shape)) continue;
        out.unknown.push_back(links_.values.name(at));
        ranks.add([&] {
          return "value " + escaped_in_quotes(out.unknown.back()) + ", made by " +
                 onnx_node_text(model_.graph.nodes.read_names(i, room), i) +
                 (type.is_known() ? ", has no known rank" : ", has no known type");
        });
      }
    }
  }

  static void finish(OnnxValueScope& scope, OnnxBodyTypes& out) {
    out.types.reserve(scope.values.size());
    for (const auto& [name, facts] : scope.values) out.types.emplace(name, facts.type);
  }

  std::string node_text(const OnnxNode& node) const {
    if (&node == main_) return onnx_node_text(node, main_index_);
    return node.name.empty() ? "an inner node (" + std::string(node.op_type) + ")"
                             : "node " + escaped_in_quotes(node.name);
  }

  const OnnxModel& model_;
  const OnnxLinks& links_;
  OnnxTypePool pool_;
  OnnxTypeMemo memo_;
  OnnxNode room_;                   // for the current node of the main graph
  const OnnxNode* main_ = nullptr;  // the current node of the main graph
  std::uint32_t main_index_ = 0;    // its index
  const OnnxBoundShapes& bound_;
  ShapeInference from_;
  OnnxTypeReuse reuse_;
  Folding folding_;
  std::unordered_map<std::string, const OnnxFunction*> functions_;
  std::size_t nodes_there_ = model_.graph.nodes.size();
  std::size_t budget_;
  std::size_t within_calls_ = 0;
  int dead_depth_ = 0;  // bodies around the node that never run
  std::unordered_set<const char*> noted_;
  NoteList failures_, disagreements_, overruled_;
  std::map<std::string_view, std::string> given_to_outputs_;  // " --dim N=7", where no input has N
  std::set<std::uint32_t> misfits_;  // nodes of the main graph that are among the failures
  std::vector<std::pair<std::uint32_t, const OnnxGraph*>> decided_;
};

}  // namespace

Loaded<OnnxTypes> infer_onnx_types(const SourceFile& source, const OnnxModel& model,
                                   const OnnxLinks& links, const ShapeBindings& bindings,
                                   const Progress& progress, OnnxTypeReuse reuse) {
  Loaded<OnnxBoundShapes> bound = OnnxBoundShapes::make(source.path(), model, links, bindings);
  if (!bound) return std::move(bound).error();
  OnnxTypes types = Inference(model, links, *bound, bindings, reuse).run(progress);
  for (const auto& [name, value] : bindings.values) {
    types.notes.push_back("input " + escaped_in_quotes(name) + " is taken to be " + escaped(value) +
                          ": what follows from it holds for that value only");
  }
  return types;
}

}  // namespace cleave
