// Finds state by names and sizes. Steps:
// 1. cut names into words, and make the cores of each: what is left without words for before or after;
// 2. an input and an output with a core in common, one of which says that it is state, are candidates if type, rank
//    and sizes fit;
// 3. candidates that are one to one are pairs; the others are reported.
#include "core/graph/state.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/base/words.h"

namespace cleave {

namespace {

using Texts = std::span<const std::string_view>;

// What exporters write for the state before a step and after it. Of h0 and hn an "h" is left.
constexpr std::string_view kBefore[] = {"past", "prev", "previous", "old", "in", "input",
                                        "inp",  "init", "initial",  "h0",  "c0"};
constexpr std::string_view kAfter[] = {"present", "new",     "next",  "out", "output", "cur",
                                       "current", "updated", "final", "hn",  "cn"};
constexpr std::string_view kLettered[] = {"h0", "c0", "hn", "cn"};
// One of these is in the name of a state; without them, networks from image to image would have it.
constexpr std::string_view kStateful[] = {
    "past", "present", "prev", "cache", "cached",  "state",   "states",    "mem",    "memory",
    "h",    "c",       "k",    "v",     "key",     "keys",    "value",     "vals",   "hidden",
    "cell", "conv",    "cnn",  "ssm",   "att",     "buf",     "buffer",    "len",    "lens",
    "rnn",  "lstm",    "gru",  "ctx",   "context", "history", "recurrent", "feature"};
// What is made once in a job, of a decoder with an encoder.
constexpr std::string_view kOnce[] = {"cross", "encoder"};
constexpr std::string_view kCaches[] = {"cache", "cached", "state", "states"};
// Operators, as op_key() has them.
constexpr std::string_view kConcats[] = {"concat", "concatenation"};
constexpr std::string_view kShapeReaders[] = {"shape", "size", "symsize", "rank"};
constexpr std::string_view kInPlace[] = {"scatternd", "scatterelements", "tensorscatter",
                                         "groupqueryattention", "indexput"};
// What may have a sign of before or after glued to it: instate0, stateN, hn, r1i and r1o.
constexpr std::string_view kGlued[] = {"state", "cache", "hidden", "mem", "h", "c"};
// Names of more words are no names that a program gives, and outputs that inputs are compared with by sizes.
constexpr std::size_t kMostWords = 32;
constexpr std::size_t kMostOutputs = 256;
// Candidates with one core; more are ambiguous, whatever they are.
constexpr std::size_t kMostAlike = 16;

std::string_view without_digits(std::string_view word) {
  const std::size_t last = word.find_last_not_of("0123456789");
  return word.substr(0, last == word.npos ? 0 : last + 1);
}

// "past_key_values.0.key" is past, key, values, 0, key; "stateN:0" is state, n.
std::vector<std::string> words_of(std::string_view name) {
  const std::string_view without_index = without_digits(name);
  if (without_index.ends_with(':')) name = without_index.substr(0, without_index.size() - 1);
  std::vector<std::string> words(1);
  char before = '\0';
  for (const char letter : name) {
    const auto code = static_cast<unsigned char>(letter);
    const bool is_hump = std::isupper(code) != 0 && before >= 'a' && before <= 'z';
    if ((std::isalnum(code) == 0 || is_hump) && !words.back().empty()) words.emplace_back();
    if (std::isalnum(code) != 0) words.back() += static_cast<char>(std::tolower(code));
    before = letter;
  }
  if (words.back().empty()) words.pop_back();
  if (words.size() > kMostWords) words.clear();
  return words;
}

struct Core {
  std::string text;
  bool is_marked = false;  // a sign of before or after was left out
};

class NameOfState {
 public:
  NameOfState(std::string_view name, bool is_input)
      : words_(words_of(name)), is_input_(is_input), own_(is_input ? kBefore : kAfter) {}

  bool says_state() const {
    return std::ranges::any_of(words_, [&](std::string_view word) {
      const bool is_glued = is_input_ && word.starts_with("in");
      return contains(kStateful, word) || contains(kStateful, stem_of(word)) ||
             (word.starts_with('r') && word.size() > 2 && !without_r(word).empty()) ||
             (is_glued && contains(kStateful, without_digits(word.substr(2))));
    });
  }
  bool says_before() const {
    return std::ranges::any_of(words_, [](std::string_view word) {
      return contains(kBefore, word) || contains(kCaches, word);
    });
  }
  bool says_once() const {
    return std::ranges::any_of(words_, [](auto& word) { return contains(kOnce, word); });
  }
  // Features between the blocks of a transformer are no state.
  bool are_features() const {
    for (std::size_t i = 1; i < words_.size(); ++i) {
      if (words_[i - 1] == "hidden" && words_[i] == "states") return true;
    }
    return false;
  }

  std::vector<Core> cores() const {
    std::vector<Core> cores = {{joined(words_, " "), false}};
    std::vector<std::string> left;
    for (const std::string& word : words_) {
      if (contains(kLettered, word)) {
        left.push_back(word.substr(0, 1));
      } else if (!contains(own_, word)) {
        left.push_back(word);
      }
    }
    const bool is_key_values =
        left.size() > 1 && left[0] == "key" && left[1] == "values" && words_[0] == "past";
    if (is_key_values) left.erase(left.begin(), left.begin() + 2);
    cores.push_back({joined(left, " "), true});
    if (cores[1].text == cores[0].text) cores.pop_back();
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::string& word = words_[i];
      if (contains(own_, word) && !contains(kLettered, word)) add_without(i, "", cores);
      const std::string unglued = unglued_word(word);
      if (!unglued.empty()) add_without(i, unglued, cores);
    }
    const std::size_t count = words_.size();
    if (!is_input_ && count > 1) {
      const bool ends_in_n = words_.back() == "n" && contains(kStateful, words_[count - 2]);
      if (ends_in_n) add_without(count - 1, "", cores);
      if (words_.front() == "r") add_without(0, "", cores);  // r_att_cache
    }
    return cores;
  }

 private:
  static std::string_view stem_of(std::string_view word) {
    const std::size_t first = word.find_first_not_of("n0123456789");
    const std::size_t last = word.find_last_not_of("n0123456789");
    return first == word.npos ? std::string_view() : word.substr(first, last - first + 1);
  }

  // "r1" of "r1i" before a step, and of "r1o" after it.
  std::string without_r(std::string_view word) const {
    const std::string_view number = word.substr(1, word.size() - 2);
    const bool is_number = without_digits(number).empty() && !number.empty();
    const bool is_own = word.back() == (is_input_ ? 'i' : 'o');
    return is_number && is_own ? std::string(word.substr(0, word.size() - 1)) : std::string();
  }

  // The word without what is glued to it; "" where nothing is.
  std::string unglued_word(std::string_view word) const {
    const std::string_view letters = without_digits(word);
    const std::string digits(word.substr(letters.size()));
    const std::string_view sign = is_input_ ? "in" : "out";
    if (letters.starts_with(sign) && contains(kGlued, letters.substr(sign.size()))) {
      return std::string(letters.substr(sign.size())) + digits;
    }
    for (const char end : is_input_ ? std::string_view("i") : std::string_view("no")) {
      if (!letters.ends_with(end)) continue;
      const std::string_view rest = letters.substr(0, letters.size() - 1);
      if (contains(kGlued, rest)) return std::string(rest) + digits;
    }
    return word.starts_with('r') && word.size() > 2 ? without_r(word) : std::string();
  }

  void add_without(std::size_t place, const std::string& instead, std::vector<Core>& cores) const {
    std::vector<std::string> left = words_;
    left[place] = instead;
    if (instead.empty()) left.erase(left.begin() + static_cast<std::ptrdiff_t>(place));
    cores.push_back({joined(left, " "), true});
  }

  std::vector<std::string> words_;
  bool is_input_;
  Texts own_;
};

// Names with one * each: the text in its place, if the name matches.
std::optional<std::string> text_at_star(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == pattern.npos) return name == pattern ? std::optional<std::string>("") : std::nullopt;
  const std::string_view end = pattern.substr(star + 1);
  const bool matches = name.size() + 1 >= pattern.size() &&
                       name.starts_with(pattern.substr(0, star)) && name.ends_with(end);
  if (!matches) return std::nullopt;
  return std::string(name.substr(star, name.size() + 1 - pattern.size()));
}

std::string with_text(std::string_view pattern, const std::string& text) {
  std::string name(pattern);
  const std::size_t star = name.find('*');
  return star == name.npos ? name : name.replace(star, 1, text);
}

class StateFinder {
 public:
  explicit StateFinder(const Graph& graph) : graph_(graph) {
    for (const ValueId input : graph.inputs()) {
      for (const Dim dim : graph.shape(input)) {
        if (dim.is_symbol()) names_of_sizes_.insert(index(dim.name()));
      }
    }
  }

  void add_known(std::span<const StatePair> known) {
    for (const StatePair& pair : known) {
      if (pair.input == kNone<ValueId> || pair.output == kNone<ValueId>) continue;
      if (is_taken(pair.input) || is_taken(pair.output)) continue;
      const bool passes = pair.input == pair.output;
      if (passes && !NameOfState(graph_.value(pair.input).name, true).says_state()) continue;
      const auto change = change_of(pair.input, pair.output, true);
      if (change) add(*change);
    }
  }

  Status<> add_requested(const StateRequest& request) {
    for (const ValueId output : graph_.outputs()) {
      output_by_name_.emplace(graph_.value(output).name, output);
    }
    for (const auto& [input, output] : request.pairs) {
      if (auto added = add_requested(input, output); !added) return added;
    }
    return Done{};
  }

  void add_by_names() {
    std::unordered_map<std::string, std::vector<std::pair<ValueId, bool>>> with_core;
    for (const ValueId input : graph_.inputs()) {
      const NameOfState name(graph_.value(input).name, true);
      if (is_taken(input) || name.are_features()) continue;
      for (const Core& core : name.cores()) {
        auto& alike = with_core[core.text];
        if (alike.size() < kMostAlike) alike.emplace_back(input, core.is_marked);
      }
    }
    for (const ValueId output : graph_.outputs()) {
      if (is_taken(output) || graph_.value(output).kind != ValueKind::node_output) continue;
      const NameOfState name(graph_.value(output).name, false);
      for (const Core& core : name.cores()) {
        const auto found = with_core.find(core.text);
        if (found == with_core.end()) continue;
        for (const auto& [input, is_marked] : found->second) {
          if (is_marked || core.is_marked) offer(input, output, name);
        }
      }
    }
    settle();
    if (found_.pairs.empty() && found_.open.empty()) suggest_by_sizes();
    add_made_once();
  }

  FoundState take() && {
    std::unordered_set<std::uint32_t> seen, twice;
    for (const ValueId output : graph_.outputs()) {
      if (!seen.insert(index(output)).second) twice.insert(index(output));
    }
    for (StatePair& pair : found_.pairs) pair.is_result = twice.contains(index(pair.output));
    std::ranges::sort(found_.pairs, {}, &StatePair::input);
    return std::move(found_);
  }

 private:
  bool is_taken(ValueId value) const { return taken_.contains(index(value)); }

  void add(const StatePair& pair) {
    taken_.insert(index(pair.input));
    if (pair.output != kNone<ValueId>) taken_.insert(index(pair.output));
    found_.pairs.push_back(pair);
  }

  // A size that is open, or has a name that an exporter made up, fits any.
  bool fits_any(Dim dim) const {
    return dim.is_unknown() || (dim.is_symbol() && !names_of_sizes_.contains(index(dim.name())));
  }

  // The axis along which a Concat makes the value.
  std::optional<std::size_t> joined_axis(ValueId value) const {
    const NodeId maker = graph_.value(value).producer;
    if (maker == kNone<NodeId> || !contains(kConcats, op_key(graph_.op(maker))))
      return std::nullopt;
    const Attribute* const axis = find_attribute(graph_, maker, "axis");
    if (axis == nullptr || axis->type != AttributeType::integer) return std::nullopt;
    return axis_of(graph_.attribute_pools().integers_of(*axis)[0], graph_.shape(value).size());
  }

  // nullopt unless type and rank are the same, and sizes that are known on all axes but one. `is_sure`: sizes do not
  // decide.
  std::optional<StatePair> change_of(ValueId input, ValueId output, bool is_sure = false) const {
    const Value& before = graph_.value(input);
    const Value& after = graph_.value(output);
    StatePair pair{input, output};
    if (!before.is_tensor() || !after.is_tensor()) return std::nullopt;
    if (before.dtype != after.dtype || before.dtype == DType::unknown) return std::nullopt;
    if (input == output) pair.kind = StateKind::constant;
    if (!graph_.has_rank(input) || !graph_.has_rank(output) || input == output) return pair;
    const Shape from = graph_.shape(input);
    const Shape to = graph_.shape(output);
    if (from.size() != to.size()) return std::nullopt;
    std::vector<std::size_t> open;
    std::optional<std::size_t> changed;
    std::size_t differing = 0;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      if (from[axis] == to[axis]) continue;
      if (!fits_any(from[axis]) && !fits_any(to[axis])) ++differing;
      const auto [was, is] = std::pair(from[axis].counted_size(), to[axis].counted_size());
      const bool is_known = was >= 0 && is >= 0;
      if (!from[axis].is_fixed() && (!is_known || is > was)) open.push_back(axis);
      const bool is_appended = from[axis].is_fixed() && !is_known && !fits_any(to[axis]);
      if ((!is_known || is == was) && !is_appended) continue;
      changed = axis;
      pair.kind = is > was ? StateKind::grows : StateKind::appended;
    }
    if (differing > 1 && !is_sure) return std::nullopt;
    if (open.size() > 1) {
      const auto axis = joined_axis(output);
      open.clear();
      if (axis) open.push_back(*axis);
    }
    if (open.size() == 1) {
      changed = open.front();
      pair.kind = StateKind::grows;
    }
    pair.axis = static_cast<std::uint32_t>(changed.value_or(0));
    return pair;
  }

  void offer(ValueId input, ValueId output, const NameOfState& of_output) {
    const NameOfState of_input(graph_.value(input).name, true);
    if (!of_input.says_state() && !of_output.says_state()) return;
    auto& outputs = candidates_[input];
    if (std::ranges::find(outputs, output, &StatePair::output) != outputs.end()) return;
    auto pair = change_of(input, output);
    if (!pair) return;
    if (of_input.says_once()) pair->kind = StateKind::constant;
    outputs.push_back(*pair);
    ++offers_[output];
  }

  void settle() {
    for (const auto& [input, outputs] : candidates_) {
      if (outputs.empty()) continue;
      if (outputs.size() == 1 && offers_[outputs.front().output] == 1) {
        add(outputs.front());
        continue;
      }
      OpenState open{.input = input, .candidates = {}};
      for (const StatePair& pair : outputs) open.candidates.push_back(pair.output);
      found_.open.push_back(std::move(open));
    }
  }

  // Where names of outputs say nothing, as those of torch.export: what type and sizes leave, if it is one to one.
  void suggest_by_sizes() {
    if (graph_.outputs().size() > kMostOutputs) return;
    std::map<ValueId, std::size_t> taken;
    std::vector<OpenState> suggested;
    for (const ValueId input : graph_.inputs()) {
      const NameOfState name(graph_.value(input).name, true);
      if (!name.says_state() || !name.says_before() || name.are_features()) continue;
      OpenState open{.input = input, .candidates = {}, .is_by_sizes = true};
      for (const ValueId output : graph_.outputs()) {
        if (open.candidates.size() > 1) break;
        const bool is_made = graph_.value(output).kind == ValueKind::node_output;
        if (is_made && graph_.has_rank(output) && change_of(input, output)) {
          open.candidates.push_back(output);
        }
      }
      if (open.candidates.size() != 1) continue;
      ++taken[open.candidates.front()];
      suggested.push_back(std::move(open));
    }
    for (OpenState& open : suggested) {
      if (taken[open.candidates.front()] == 1) found_.open.push_back(std::move(open));
    }
  }

  // Keys and values of an encoder: an input that no output changes.
  void add_made_once() {
    if (found_.pairs.empty()) return;
    for (const ValueId input : graph_.inputs()) {
      const NameOfState name(graph_.value(input).name, true);
      const bool is_open = candidates_.contains(input) && !candidates_[input].empty();
      if (is_taken(input) || is_open || name.are_features()) continue;
      if (name.says_once() && name.says_state()) add({.input = input, .kind = StateKind::constant});
    }
  }

  Status<> add_requested(const std::string& input, const std::string& output) {
    const std::string given = "--state " + input + "=" + output + ": ";
    const auto stars = [](std::string_view text) { return std::ranges::count(text, '*'); };
    if (stars(input) > 1 || (!output.empty() && stars(input) != stars(output))) {
      return Error{given + "give one * in both names, or none"};
    }
    bool is_found = false;
    for (const ValueId value : graph_.inputs()) {
      const std::string_view name = graph_.value(value).name;
      const auto text = text_at_star(name, input);
      if (!text) continue;
      const std::string wanted = with_text(output, *text);
      StatePair pair{.input = value, .kind = StateKind::constant};
      if (!output.empty()) {
        const ValueId other = output_named(wanted);
        if (other == kNone<ValueId> && stars(input) == 1) continue;
        if (other == kNone<ValueId>) return no_such(given, "output", wanted, graph_.outputs());
        const auto change = change_of(value, other, true);
        if (!change) {
          return Error{given + "type or rank of input " + in_quotes(name) + " and output " +
                       in_quotes(wanted) + " differ, so one cannot be the other's next value"};
        }
        pair = *change;
      }
      const bool is_again =
          is_taken(value) || (pair.output != kNone<ValueId> && is_taken(pair.output));
      if (is_again) return Error{given + in_quotes(name) + " or its output is in two pairs"};
      add(pair);
      is_found = true;
    }
    if (is_found) return Done{};
    if (stars(input) == 1) return Error{given + "no input and output of the model match"};
    return no_such(given, "input", input, graph_.inputs());
  }

  ValueId output_named(std::string_view name) const {
    const auto found = output_by_name_.find(name);
    return found == output_by_name_.end() ? kNone<ValueId> : found->second;
  }

  Error no_such(const std::string& given, std::string_view what, const std::string& name,
                const auto& values) const {
    Error error{given + "the model has no " + std::string(what) + " " + in_quotes(name)};
    NearestName near(name);
    for (const ValueId value : values) near.offer(graph_.value(value).name);
    if (!near.best().empty()) error.notes.push_back("did you mean " + in_quotes(near.best()) + "?");
    return error;
  }

  const Graph& graph_;
  std::unordered_set<std::uint32_t> names_of_sizes_;  // of the inputs
  std::unordered_set<std::uint32_t> taken_;
  std::map<ValueId, std::vector<StatePair>> candidates_;          // by input
  std::map<ValueId, std::size_t> offers_;                         // by output
  std::unordered_map<std::string_view, ValueId> output_by_name_;  // where pairs are requested
  FoundState found_;
};

}  // namespace

Result<FoundState> find_state(const Graph& graph, const StateRequest& request,
                              std::span<const StatePair> known) {
  if (request.is_off) return FoundState{};
  StateFinder finder(graph);
  finder.add_known(known);
  if (request.pairs.empty()) {
    finder.add_by_names();
  } else if (auto added = finder.add_requested(request); !added) {
    return std::move(added).error();
  }
  return std::move(finder).take();
}

std::string_view state_kind_name(StateKind kind) {
  constexpr std::string_view kNames[] = {"replaced", "grows", "appended", "constant"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool is_written(const Graph& graph, const StatePair& pair) {
  if (pair.kind == StateKind::constant || pair.output == kNone<ValueId>) return false;
  const Value& output = graph.value(pair.output);
  return output.kind == ValueKind::node_output && graph.nodes().contains(output.producer);
}

namespace {

std::optional<std::uint64_t> bytes_of(const Graph& graph, ValueId value) {
  if (value == kNone<ValueId> || !graph.has_rank(value)) return std::nullopt;
  return tensor_bytes(graph.value(value).dtype, graph.shape(value));
}

}  // namespace

std::optional<std::uint64_t> state_bytes(const Graph& graph, const StatePair& pair) {
  const auto after = bytes_of(graph, is_written(graph, pair) ? pair.output : pair.input);
  return after ? after : bytes_of(graph, pair.input);
}

std::uint64_t held_state_bytes(const Graph& graph, const StatePair& pair) {
  const bool is_weight = graph.is_parameter(pair.input);
  const std::uint64_t before = is_weight ? 0 : bytes_of(graph, pair.input).value_or(0);
  if (is_written_in_place(graph, pair)) return before;
  return saturating_add(before, bytes_of(graph, pair.output).value_or(0));
}

bool reads_shape_alone(const Graph& graph, NodeId node) {
  return contains(kShapeReaders, op_key(graph.op(node)));
}

bool is_written_in_place(const Graph& graph, const StatePair& pair) {
  if (!is_written(graph, pair)) return true;
  const NodeId maker = graph.value(pair.output).producer;
  return pair.kind == StateKind::replaced && contains(kInPlace, op_key(graph.op(maker)));
}

}  // namespace cleave
