// In this order:
// 1. Commands.
// 2. Functions that get and set a setting in SplitOptions, one pair for each form.
// 3. Functions that set what else a request has.
// 4. The table of options.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/measures/gates.h"
#include "formats/base/text.h"
#include "formats/lists/options.h"
#include "formats/lists/support_file.h"
#include "formats/pt2/pt2.h"

namespace cleave {

namespace {

// ---- commands ----

constexpr std::string_view kLook = "Look at a model and its split";
constexpr std::string_view kCut = "Split and run";
constexpr std::string_view kGate = "Gate and compare";
constexpr std::string_view kLists = "Support lists";
constexpr std::string_view kCompile = "Compile";

constexpr CommandRow kCommands[] = {
    {of::inspect, "inspect", "report what a model is made of, without a support list", kLook,
     "cleave model.onnx\ncleave inspect model.onnx --json"},
    {of::preview, "preview", "report how a model would be split, and why nodes are on the CPU",
     kLook,
     "cleave preview model.onnx -s coreml --dim N=1\n"
     "cleave preview model.onnx -s npu.json --html report.html"},
    {of::explain, "explain", "explain why nodes run where they do", kLook,
     "cleave explain model.onnx -s npu.json\ncleave explain model.onnx 'layer4*' -s npu.json"},
    {of::draw, "draw", "draw the model coloured by support, as Graphviz or SVG", kLook,
     "cleave draw model.onnx -s npu.json -o model.svg\n"
     "cleave draw model.onnx -s npu.json --show preview -o split.svg"},
    {of::help, "help", "print a chapter of the guide, or list them", kLook,
     "cleave help\ncleave help ci"},
    {of::split, "split", "split a model and write the parts, a report and drawings", kCut,
     "cleave split model.onnx -s npu.json --dim N=1 -o parts\n"
     "cleave split model.onnx -s npu=npu.json -s gpu=gpu.json -o parts"},
    {of::stage, "stage", "cut a model into the stages of a pipeline", kCut,
     "cleave stage model.onnx --stages 4 -o stages\n"
     "cleave stage model.onnx --split-at layer2=end --split-at layer3=end"},
    {of::cut, "cut", "write some nodes of a model as a model of their own", kCut,
     "cleave cut model.onnx --from image --to features -o piece.onnx\n"
     "cleave cut model.onnx --nodes names.txt -o piece.onnx"},
    {of::convert, "convert",
     "write a model with sizes and known values filled in, or as native JSON", kCut,
     "cleave convert model.onnx --dim N=1 -o fixed.onnx\ncleave convert model.onnx -o model.json"},
    {of::run, "run", "run what cleave wrote, as a runtime on devices would", kCut,
     "cleave run parts\ncleave run parts --inputs inputs.npz --outputs outputs.npz"},
    {of::verify, "verify", "compare what cleave wrote with the model, output by output", kCut,
     "cleave verify model.onnx parts\ncleave verify model.onnx parts --tolerance "
     "rtol=0.01,atol=0.01"},
    {of::check, "check", "check models against limits and a baseline, for CI", kGate,
     "cleave check model.onnx -s npu.json --min coverage=95%\n"
     "cleave check models/ -s npu.json --baseline main.json"},
    {of::diff, "diff", "report what moved between two models, lists or settings, and why", kGate,
     "cleave diff old.onnx new.onnx -s npu.json\n"
     "cleave diff model.onnx -s npu.json to -s npu2.json"},
    {of::advise, "advise", "rank what the lists do not support by the gain of supporting it", kGate,
     "cleave advise model.onnx -s npu.json\ncleave advise a.onnx b.onnx -s npu.json --goal "
     "latency"},
    {of::lists, "lists", "show, begin or lint support lists", kLists,
     "cleave lists\ncleave lists new model.onnx -o npu.json"},
    {of::probe, "probe", "measure which nodes a compiler takes, and write them as a support list",
     kLists,
     "cleave probe model.onnx --backend tract -o tract.json\n"
     "cleave probe model.onnx --backend 'mine=cc {model} -o {out}' -o mine.json"},
    {of::lower, "lower",
     "compile the accelerator partitions with real compilers, and learn what they refuse", kCompile,
     "cleave lower model.onnx -s anything.json --backend tract --until-clean --deny-out "
     "tract.json\n"
     "cleave lower model.onnx -s npu.json --backend 'mine=cc {model} -o {out}' -o report"},
    {of::reduce, "reduce", "find the smallest piece of a model that a compiler still fails on",
     kCompile,
     "cleave reduce model.onnx --backend tract -o finding\n"
     "cleave reduce model.onnx --backend tract --nodes names.txt -o finding"},
    {of::tune, "tune",
     "learn times: of partitions by a command, to place by them, or of ops from profiles", kCompile,
     "cleave tune model.onnx -s npu.json --run 'time_it {model}' -o times.json\n"
     "cleave tune model.onnx --learn profile.json -o cpu.json"},
    {of::backend, "backend", "test the description of a compiler, or list the known ones", kCompile,
     "cleave backend list\ncleave backend check my_compiler.json"},
};

constexpr Commands kOne = of::inspect | of::preview | of::explain | of::draw | of::split |
                          of::convert | of::diff | of::lower | of::reduce | of::cut;
constexpr Commands kSeveral = of::check | of::advise | of::probe;
constexpr Commands kSplits = of::preview | of::explain | of::draw | of::split | of::convert |
                             of::check | of::diff | of::to | of::advise | of::tune | of::lower |
                             of::reduce;
constexpr Commands kReads = kSplits | of::inspect | of::stage | of::cut | of::lists | of::probe;
constexpr Commands kListed = kSplits | of::stage;
constexpr Commands kCompiles = of::probe | of::lower | of::reduce;
constexpr Commands kSearches = of::lower | of::reduce;
constexpr Commands kRuns = of::run | of::verify;
constexpr Commands kMapped = of::split | of::preview;
constexpr Commands kWrites = of::split | of::stage;
constexpr Commands kPages = of::preview | of::split | of::stage | of::check | of::diff | of::advise;
constexpr Commands kLimited = of::preview | of::split | of::diff | of::draw | of::stage |
                              of::advise | of::tune | of::probe | kSearches;
constexpr Commands kForced =
    of::run | kPages | of::draw | of::convert | of::lists | of::tune | kCompiles | of::cut;
constexpr Commands kTell = of::inspect | of::explain | of::lists | kPages | kSearches;
constexpr Commands kAll = (of::program << 1U) - 1;

// ---- words ----

template <class Value, std::size_t Count>
using Words = std::array<std::pair<std::string_view, Value>, Count>;

constexpr Words<StartSide, 4> kStartSides = {{{"reference", StartSide::reference},
                                              {"cpu", StartSide::cpu},
                                              {"acc", StartSide::acc},
                                              {"fewest", StartSide::fewest}}};
constexpr Words<PackBy, 2> kPackBy = {{{"early", PackBy::early}, {"bytes", PackBy::bytes}}};
constexpr Words<KeepBy, 4> kKeepBy = {{{"flops", KeepBy::flops},
                                       {"time", KeepBy::time},
                                       {"nodes", KeepBy::nodes},
                                       {"latency", KeepBy::latency}}};
constexpr Words<std::pair<PlaceBy, PlaceGoal>, 4> kPlaces = {
    {{"priority", {PlaceBy::priority, PlaceGoal::latency}},
     {"order", {PlaceBy::priority, PlaceGoal::latency}},
     {"cost", {PlaceBy::cost, PlaceGoal::latency}},
     {"energy", {PlaceBy::cost, PlaceGoal::energy}}}};
constexpr Words<Residency, 2> kResidency = {{{"off", Residency::off}, {"on", Residency::on}}};
constexpr std::array<std::string_view, 1> kAuto = {"auto"};
constexpr std::array<std::string_view, 2> kUnlimitedOrAuto = {"unlimited", "auto"};

template <class Value, std::size_t Count>
constexpr std::array<std::string_view, Count> words_of(const Words<Value, Count>& table) {
  std::array<std::string_view, Count> words;
  for (std::size_t i = 0; i < Count; ++i) words[i] = table[i].first;
  return words;
}
template <const auto& table>
constexpr auto kWordsOf = words_of(table);

template <const auto& table, class Value>
std::string_view word_of(Value value) {
  const auto* const found =
      std::ranges::find_if(table, [&](const auto& word) { return word.second == value; });
  return found == table.end() ? std::string_view() : found->first;
}

// ---- settings ----

template <auto member>
constexpr OptionMore flag() {
  return {.setting = {
              .get = [](const SplitOptions& options) -> SettingValue { return options.*member; },
              .set =
                  [](SplitOptions& options, const SettingValue& value) {
                    const bool* const flag = std::get_if<bool>(&value);
                    if (flag != nullptr) options.*member = *flag;
                    return flag != nullptr;
                  }}};
}

template <auto member, const auto& table>
constexpr OptionMore word(std::string_view by_default, std::string_view needs = {}) {
  return {.by_default = by_default,
          .needs = needs,
          .words = kWordsOf<table>,
          .setting = {.get = [](const SplitOptions& options) -> SettingValue {
                        return std::string(word_of<table>(options.*member));
                      },
                      .set =
                          [](SplitOptions& options, const SettingValue& value) {
                            const std::string* const word = std::get_if<std::string>(&value);
                            if (word == nullptr) return false;
                            const auto* const found = std::ranges::find_if(
                                table, [&](const auto& known) { return known.first == *word; });
                            if (found == table.end()) return false;
                            options.*member = found->second;
                            return true;
                          }}};
}

bool is_word(const SettingValue& value, std::string_view word) {
  const std::string* const text = std::get_if<std::string>(&value);
  return text != nullptr && *text == word;
}

// The value as a count: a number, or a text that is one.
std::optional<std::size_t> count_of(const SettingValue& value) {
  if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    return *number < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(*number));
  }
  const std::string* const text = std::get_if<std::string>(&value);
  return text == nullptr ? std::nullopt : parse_number<std::size_t>(*text);
}

SettingValue value_of_count(std::size_t count) { return static_cast<std::int64_t>(count); }

SettingValue min_size(const SplitOptions& options) { return value_of_count(options.min_acc_size); }

bool set_min_size(SplitOptions& options, const SettingValue& value) {
  options.is_min_automatic = is_word(value, "auto");
  if (options.is_min_automatic) return true;
  const auto size = count_of(value);
  if (size) options.min_acc_size = *size;
  return size.has_value();
}

SettingValue place(const SplitOptions& options) {
  return std::string(word_of<kPlaces>(std::pair(options.place, options.place_goal)));
}

bool set_place(SplitOptions& options, const SettingValue& value) {
  for (const auto& [word, placement] : kPlaces) {
    if (!is_word(value, word)) continue;
    std::tie(options.place, options.place_goal) = placement;
    return true;
  }
  return false;
}

SettingValue most_kept(const SplitOptions& options) {
  if (options.most_kept == SplitOptions::kUnlimited) return nullptr;
  return value_of_count(options.most_kept);
}

bool set_most_kept(SplitOptions& options, const SettingValue& value) {
  if (is_word(value, "auto")) {
    options.keep_only_gaining = true;
    return true;
  }
  const bool is_unlimited =
      is_word(value, "unlimited") || std::holds_alternative<std::nullptr_t>(value);
  const auto count = is_unlimited ? SplitOptions::kUnlimited : count_of(value);
  if (count) options.most_kept = *count;
  return count.has_value();
}

SettingValue min_gain(const SplitOptions& options) {
  if (!options.min_gain) return "auto";
  const std::string percent = percent_text(*options.min_gain);
  return parse_share(percent) == options.min_gain ? percent : shortest_text(*options.min_gain);
}

bool set_min_gain(SplitOptions& options, const SettingValue& value) {
  options.min_gain.reset();
  if (is_word(value, "auto")) return true;
  const std::string* const text = std::get_if<std::string>(&value);
  if (text != nullptr) options.min_gain = parse_share(*text);
  return options.min_gain.has_value();
}

SettingValue extended(const SplitOptions& options) {
  switch (options.extend.which) {
    case ExtendOptions::Which::none:
      return "none";
    case ExtendOptions::Which::one:
      return std::to_string(options.extend.subgraph);
    case ExtendOptions::Which::all:
      return "all";
    case ExtendOptions::Which::automatic:
      break;
  }
  return "auto";
}

// A name is resolved where the prefix of names is known: set_in_request().
bool set_extended(SplitOptions& options, const SettingValue& value) {
  using Which = ExtendOptions::Which;
  const std::string* const text = std::get_if<std::string>(&value);
  if (text == nullptr) {
    const auto number = count_of(value);
    if (number) options.extend = {.which = Which::one, .subgraph = *number};
    return number.has_value();
  }
  for (const auto& [word, which] :
       Words<Which, 3>{{{"none", Which::none}, {"all", Which::all}, {"auto", Which::automatic}}}) {
    if (*text != word) continue;
    options.extend = {.which = which};
    return true;
  }
  const auto number = parse_number<std::size_t>(*text);
  if (number) options.extend = {.which = Which::one, .subgraph = *number};
  return number.has_value();
}

// ---- what else a request has ----

using Put = Status<> (*)(SplitRequest&, const std::string&);

// An option that adds what it is given, each time.
constexpr OptionMore adds(Put put, FileRole role = FileRole::none) {
  return {.role = role, .repeat = Repeat::often, .put = put};
}

// "N" and "8" of "N=8". Names of values may contain a '='.
Result<std::pair<std::string, std::string>> binding_of(const std::string& text,
                                                       const char* example) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return Error{in_quotes(text) + " is not of the form " + example};
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

std::optional<std::int64_t> size_of(std::string_view text) {
  const auto size = parse_number<std::size_t>(text);
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  if (!size || *size > static_cast<std::size_t>(kMost)) return std::nullopt;
  return static_cast<std::int64_t>(*size);
}

Error range_and_size(const DimRange& range, std::int64_t size) {
  return Error{in_quotes(range.name) + " has a range, " + std::to_string(range.first) + ".." +
               std::to_string(range.last) + ", and a size, " + std::to_string(size) +
               ": give one of them"};
}

Status<> set_range(SplitRequest& request, DimRange range) {
  // A range of one size has no mean over it: it is to be given as that size.
  if (range.first >= range.last) {
    return Error{"a range ends above its start, and " + std::to_string(range.first) + ".." +
                 std::to_string(range.last) + " does not"};
  }
  if (request.range) {
    return Error{in_quotes(request.range->name) + " and " + in_quotes(range.name) +
                 " have ranges: numbers are said over one dim, so give the other a size"};
  }
  const auto& dims = request.model.bindings.dims;
  const auto size =
      std::ranges::find(dims, range.name, &std::pair<std::string, std::int64_t>::first);
  if (size != dims.end()) return range_and_size(range, size->second);
  request.range = std::move(range);
  return Done{};
}

// The sizes of "0..4096"; nullopt for any other text.
std::optional<std::pair<std::int64_t, std::int64_t>> range_of(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == text.npos) return std::nullopt;
  const auto first = size_of(text.substr(0, dots)), last = size_of(text.substr(dots + 2));
  if (!first || !last) return std::nullopt;
  return std::pair(*first, *last);
}

// Also "N=8,T=16", as no size has a comma.
Status<> add_dim(SplitRequest& request, const std::string& text) {
  // Cut only behind a size: a name may have a comma, and then the text is one binding.
  const std::size_t comma = text.find(',');
  const std::size_t size_at = text.substr(0, comma).rfind('=') + 1;
  const std::string until_comma = text.substr(size_at, comma - size_at);
  if (comma != text.npos && size_at > 0 &&
      (parse_number<std::size_t>(until_comma) || range_of(until_comma))) {
    const auto first = add_dim(request, text.substr(0, comma));
    return first ? add_dim(request, text.substr(comma + 1)) : first;
  }
  const auto binding = binding_of(text, "N=8");
  if (!binding) return binding.error();
  if (const auto range = range_of(binding->second)) {
    return set_range(request, {binding->first, range->first, range->second});
  }
  const auto size = size_of(binding->second);
  if (!size) return Error{in_quotes(binding->second) + " is not a size: give a whole number"};
  if (request.range && request.range->name == binding->first) {
    return range_and_size(*request.range, *size);
  }
  request.model.bindings.dims.emplace_back(binding->first, *size);
  return Done{};
}

Status<> add_input_shape(SplitRequest& request, const std::string& text) {
  const auto binding = binding_of(text, "x=1,3,224,224");
  if (!binding) return binding.error();
  std::vector<std::int64_t> dims;
  std::string_view rest = binding->second;
  while (!binding->second.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view dim = rest.substr(0, comma);
    const auto size = dim == "?" ? std::optional<std::int64_t>(-1) : size_of(dim);
    if (!size) {
      return Error{"\"" + std::string(dim) + "\" is not a size: give whole " +
                   "numbers between commas, or ? for an open dim"};
    }
    dims.push_back(*size);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  request.model.bindings.inputs.emplace_back(binding->first, std::move(dims));
  return Done{};
}

Status<> add_input_value(SplitRequest& request, const std::string& text) {
  auto binding = binding_of(text, "sr=16000");
  if (!binding) return binding.error();
  request.model.bindings.values.push_back(*std::move(binding));
  return Done{};
}

Status<> set_inference(SplitRequest& request, const std::string& text) {
  for (const auto one : {ShapeInference::off, ShapeInference::file, ShapeInference::full}) {
    if (shape_inference_name(one) == text) request.model.bindings.inference = one;
  }
  return Done{};
}

Status<> set_folding(SplitRequest& request, const std::string& text) {
  for (const auto one : {Folding::off, Folding::report, Folding::write}) {
    if (folding_name(one) == text) request.model.bindings.folding = one;
  }
  return Done{};
}

Status<> set_signature(SplitRequest& request, const std::string& text) {
  request.model.bindings.signature = text;
  return Done{};
}

Status<> add_state(SplitRequest& request, const std::string& text) {
  StateRequest& state = request.model.bindings.state;
  state.is_off = text == "off";
  if (state.is_off) return Done{};
  auto pair = binding_of(text, "past=present");
  if (!pair) return pair.error();
  state.pairs.push_back(*std::move(pair));
  return Done{};
}

// Torch's operators are known to the whole process.
Status<> set_operators(SplitRequest& /*request*/, const std::string& text) {
  const auto stated = state_torch_operators(text);
  if (!stated) return Error{format_diagnostic(stated.error().front())};
  return Done{};
}

Status<> add_limit(SplitRequest& request, const std::string& text) {
  const auto set = set_limit(request.model.limits, text);
  if (!set) return Error{set.error()};
  return Done{};
}

Status<> add_list(SplitRequest& request, const std::string& text) {
  request.lists.paths.push_back(text);
  if (request.lists.paths.size() > kMostSupportLists) {
    return Error{"more than " + count_text(kMostSupportLists) +
                 " lists are too many: join some into one file"};
  }
  // This list alone: to ask of all lists at each would be quadratic. The job asks of all, once.
  ListsRequest last;
  last.paths = {text};
  const auto fine = check_targets(last);
  if (!fine) return Error{fine.error().message + ": " + fine.error().notes.front()};
  return Done{};
}

Status<> names_a_node(const std::string& text) {
  if (text.empty()) return Error{"names no node: the text is empty"};
  return Done{};
}

Status<> add_denied(SplitRequest& request, const std::string& text) {
  request.lists.deny.push_back(text);
  return names_a_node(text);
}

Status<> add_required(SplitRequest& request, const std::string& text) {
  request.require.push_back(text);
  return names_a_node(text);
}

Status<> add_verdicts(SplitRequest& request, const std::string& text) {
  request.lists.verdicts.push_back(text);
  return Done{};
}

Status<> set_combination(SplitRequest& request, const std::string& text) {
  request.lists.all_of = text == "all";
  return Done{};
}

Status<> set_view(SplitRequest& request, const std::string& text) {
  request.lists.as = parse_graph_view(text);
  return Done{};
}

Status<> set_link(SplitRequest& request, const std::string& text) {
  request.link = parse_link(text);
  if (request.link) return Done{};
  return Error{in_quotes(text) + bandwidth_refusal(text)};
}

Status<> add_target(SplitRequest& request, const std::string& text) {
  const auto target = parse_target(text);
  if (!target) return target.error();
  request.targets.push_back(*target);
  return Done{};
}

Status<> add_costs(SplitRequest& request, const std::string& text) {
  request.costs.push_back(cost_source_of(text));
  return Done{};
}

Status<> check_prefix(const std::string& text) {
  if (first_invalid_utf8(text) == std::string::npos) return Done{};
  return Error{in_quotes(text) + " is not UTF-8 text, as names of partitions must be"};
}

Status<> add_prefix(SplitRequest& request, const std::string& text) {
  ListSource named = list_source_of(text);
  if (auto fine = check_prefix(text); !fine) return fine;
  if (named.target.empty()) {
    request.options.acc_prefix = std::move(named.path);
  } else {
    request.target_settings.push_back({named.target, "--prefix", std::move(named.path)});
  }
  return Done{};
}

Status<> add_link(SplitRequest& request, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string names = text.substr(0, equals);
  const std::string rate = equals == text.npos ? "" : text.substr(equals + 1);
  const std::size_t dash = names.find('-');
  if (rate.empty() || dash == 0 || dash == names.npos || dash + 1 == names.size()) {
    return Error{in_quotes(text) + " is no link of two targets: write npu-gpu=16GB/s, or " +
                 "npu-gpu=shared where they share their memory"};
  }
  LinkSpec link{names.substr(0, dash), names.substr(dash + 1),
                std::numeric_limits<double>::infinity()};
  if (rate != "shared") {
    const auto parsed = parse_link(rate);
    if (!parsed) return Error{in_quotes(rate) + bandwidth_refusal(rate)};
    link.bytes_per_second = parsed->bytes_per_second;
  }
  request.links.push_back(std::move(link));
  return Done{};
}

Status<> add_phase(SplitRequest& request, const std::string& text) {
  const std::size_t colon = text.find(':');
  PhaseSpec phase{.name = text.substr(0, colon)};
  const auto is_plain = [](char c) { return is_word_char(c) || c == '-'; };
  if (colon == text.npos || phase.name.empty() || !std::ranges::all_of(phase.name, is_plain)) {
    return Error{in_quotes(text) +
                 " is no phase: write prompt:T=64,P=0, or prompt:T=64,P=0,on=npu; its name, of "
                 "letters, digits, _ and -, begins the names of its files"};
  }
  bool are_targets = false;  // on=npu,gpu
  for (const std::string_view part : split_names(std::string_view(text).substr(colon + 1))) {
    if (part.starts_with("on=") || (are_targets && part.find('=') == part.npos)) {
      are_targets = true;
      phase.targets.emplace_back(part.substr(part.starts_with("on=") ? 3 : 0));
      continue;
    }
    const auto binding = binding_of(std::string(part), "T=64");
    if (!binding) return binding.error();
    const auto size = size_of(binding->second);
    if (!size) return Error{in_quotes(binding->second) + " is not a size: give a whole number"};
    phase.dims.emplace_back(binding->first, *size);
  }
  request.phases.push_back(std::move(phase));
  return Done{};
}

Status<> set_tokens(SplitRequest& request, const std::string& text) {
  const std::size_t plus = text.find('+');
  const auto prompt = parse_number<std::size_t>(std::string_view(text).substr(0, plus));
  const auto more =
      plus == text.npos ? std::nullopt : parse_number<std::size_t>(text.substr(plus + 1));
  if (!prompt || !more || *prompt == 0) {
    return Error{in_quotes(text) + " is not a prompt and new tokens: write 1024+128"};
  }
  request.tokens = {*prompt, *more};
  return Done{};
}

Status<> set_non_acc_prefix(SplitRequest& request, const std::string& text) {
  if (auto fine = check_prefix(text); !fine) return fine;
  request.options.non_acc_prefix = text;
  return Done{};
}

Status<> set_overlap(SplitRequest& request, const std::string& /*text*/) {
  request.overlap = true;
  return Done{};
}

constexpr OptionMore ranked(std::uint8_t rank, OptionMore more) {
  more.rank = rank;
  return more;
}

// ---- gates ----

template <GateSide side>
constexpr bool is_word_of(const GateRow& row) {
  return row.side == side && !row.word.empty();
}

template <GateSide side>
constexpr auto kGateWords = [] {
  std::array<std::string_view, std::ranges::count_if(kGates, is_word_of<side>)> words;
  std::size_t at = 0;
  for (const GateRow& row : kGates) {
    if (is_word_of<side>(row)) words[at++] = row.word;
  }
  return words;
}();

// Made when compiling, as the table is constexpr. A text that is too long for it does not compile. The length is
// chosen, not measured.
struct HelpText {
  std::array<char, 300> chars = {};
  std::size_t size = 0;
  constexpr void add(std::string_view text) {
    for (const char c : text) chars[size++] = c;
  }
  constexpr std::string_view view() const { return {chars.data(), size}; }
};

template <GateSide side>
constexpr auto kGateHelp = [] {
  HelpText text;
  text.add(side == GateSide::least ? "at least" : "at most");
  std::string_view between = ": ";
  for (const GateRow& row : kGates) {
    if (!is_word_of<side>(row)) continue;
    text.add(std::exchange(between, ", "));
    text.add(row.word);
    text.add(row.unit == GateUnit::share   ? (side == GateSide::least ? "=95%" : "=1%")
             : row.unit == GateUnit::bytes ? "=1MiB"
             : row.unit == GateUnit::time  ? "=20ms|cpu"
                                           : "");
  }
  text.add(side == GateSide::least ? "; npu:coverage of one of several targets; repeatable"
                                   : "; repeatable");
  return text;
}();

// ---- limits of work ----

using G = OptionGroup;

constexpr Option row(OptionGroup group, std::string_view names, std::string_view value, Commands in,
                     std::string_view help, const OptionMore& more = {}) {
  return {group, names, value, in, help, more};
}

// What --limit limits besides a model's size: work, in the commands that do it. A row is as an option's, but for the
// group, which says nothing here. A row without help shares that of the next one. That 1000 rounds are the most is
// chosen, not measured.
constexpr Option kWorkLimits[] = {
    row(G::model, "time", "5min", of::stage,
        "of the search, whose result may then differ from run to run", {.form = ValueForm::time}),
    row(G::model, "time", "5min", of::tune, "no command starts later", {.form = ValueForm::time}),
    row(G::model, "command-time", "600s", of::tune, "of one command", {.form = ValueForm::time}),
    row(G::model, "rounds", "20", of::lower, "splits of --until-clean",
        {.form = ValueForm::count, .least = 1, .most = 1000}),
    row(G::model, "search-runs", "N", of::probe, "compiler runs of one search",
        {.form = ValueForm::count}),
    row(G::model, "search-runs", "N", kSearches, "", {.form = ValueForm::count}),
    row(G::model, "time", "5min", kSearches, "of the search for the cause",
        {.form = ValueForm::time}),
    row(G::model, "steps", "5", of::advise, "that are shown in the best order",
        {.form = ValueForm::count}),
    row(G::model, "layout-time", "20s", of::preview | of::split | of::diff,
        "processor time for laying out drawings, which are made coarser or left out then",
        {.form = ValueForm::time}),
    row(G::model, "layout-time", "20s", of::draw, "processor time for laying out",
        {.form = ValueForm::time}),
    row(G::model, "layout-time", "20s", of::stage, "of drawings", {.form = ValueForm::time}),
    row(G::model, "drawn-nodes", "2000", of::draw, "above, partitions are drawn",
        {.form = ValueForm::count}),
};

template <Commands command>
constexpr auto kLimitHelp = [] {
  HelpText text;
  for (const Option& limit : kWorkLimits) {
    if ((limit.in & command) == 0) continue;
    text.add(limit.names);
    text.add("=");
    text.add(limit.value);
    text.add(limit.help.empty() ? "" : ": ");
    text.add(limit.help);
    text.add(limit.help.empty() ? " and " : "; ");
  }
  text.add("of the model's size nodes=5000 (cleave help limits); repeatable");
  return text;
}();

// ---- the table ----

constexpr Option kOptions[] = {

    // ---- model ----
    row(G::model, "MODEL", "", kOne,
        "model file (ONNX, torch.export, TensorFlow Lite or native graph JSON), or - for standard "
        "input",
        {.role = FileRole::input, .required = kOne}),
    row(G::model, "MODEL", "", kSeveral,
        "model files, or - for one from standard input; check also takes folders, with all their "
        ".onnx, .pt2 and .tflite files, but for folders that cleave wrote",
        {.role = FileRole::input, .repeat = Repeat::spread, .required = kSeveral}),
    row(G::model, "MODEL", "", of::stage,
        "model file (ONNX, torch.export, TensorFlow Lite or native graph JSON), or - for standard "
        "input; or a device placement workload (cleave help stages)",
        {.role = FileRole::input, .required = of::stage}),
    row(G::model, "MODEL", "", of::tune,
        "the model whose partitions are timed; with --learn the model of each profile, in the same "
        "order",
        {.role = FileRole::input, .repeat = Repeat::spread, .required = of::tune}),
    row(G::model, "NODE", "", of::explain,
        "names of nodes, or globs such as 'layer4*'; without any: all CPU nodes",
        {.repeat = Repeat::spread}),
    row(G::model, "OTHER", "", of::diff, "the model to compare with", {.role = FileRole::input}),
    row(G::model, "MODEL", "", of::to, "the model to compare with", {.role = FileRole::input}),
    row(G::model, "ACTION", "{show,new,lint}", of::lists,
        "show the lists that are known, or what those named FILE have; begin a new one from "
        "models; lint one: find its faults",
        {.by_default = "show"}),
    row(G::model, "FILE", "", of::lists,
        "lists to show, models for a new list, or a list to lint and then models",
        {.role = FileRole::input, .repeat = Repeat::spread}),
    row(G::model, "ACTION", "{check,list}", of::backend,
        "list the known backends, or check one: that it takes models, computes them right, and "
        "refuses what is no model",
        {.by_default = "list"}),
    row(G::model, "BACKEND", "", of::backend,
        "what to check: a backend file, the name of a known backend, or NAME='program {model} -o "
        "{out}'"),
    row(G::model, "TOPIC", "", of::help,
        "a chapter of the guide, words of its title, a command, the code of a reason; man: the man "
        "page; bash, zsh, fish: completions",
        {.repeat = Repeat::spread}),
    row(G::model, "--dim", "NAME=SIZE", kReads | kRuns,
        "bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, "
        "P=0..4096; repeatable",
        ranked(2, adds(add_dim))),
    row(G::model, "--input-shape", "NAME=DIMS", kReads,
        "set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open",
        ranked(12, adds(add_input_shape))),
    row(G::model, "--set-input", "NAME=VALUE", kReads | kRuns,
        "set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a "
        "shape which it decides is known",
        ranked(12, adds(add_input_value))),
    row(G::model, "--infer", "{off,file,full}", kReads,
        "types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its "
        "value_info) or full (also what follows from its operators)",
        {.by_default = "full", .put = set_inference}),
    row(G::model, "--fold", "{off,report,write}", kReads,
        "what is known before an ONNX model runs: report (its branch replaces an If that is "
        "decided), write (nodes of known integers become constants, too) or off",
        {.by_default = "report", .rank = 13, .put = set_folding}),
    row(G::model, "--signature", "KEY", kReads,
        "which signature of a TensorFlow Lite model, or program of a torch.export archive, to "
        "read, of several; else the first with nodes, or \"model\"",
        {.put = set_signature}),
    row(G::model, "--state", "IN=OUT", kReads & ~(of::lists | of::cut),
        "the output OUT of one step is the input IN of the next, e.g. past.*=present.*; "
        "repeatable; without it found by names; IN= never changes; off: no state",
        adds(add_state)),
    row(G::model, "--op-schemas", "FILE", kReads,
        "what operators of your own write, as torch prints their schemas, one a line (torch.export "
        "models)",
        {.role = FileRole::input, .put = set_operators}),
    row(G::model, "--limit", "WHAT=N", kReads & ~kLimited,
        "set a limit on the input's size, e.g. --limit nodes=5000; utf8=lenient reads an ONNX "
        "model with names that are not UTF-8; repeatable",
        adds(add_limit)),
    row(G::model, "--limit", "WHAT=N", of::preview | of::split | of::diff,
        kLimitHelp<of::preview>.view(), adds(add_limit)),
    row(G::model, "--limit", "WHAT=N", of::draw, kLimitHelp<of::draw>.view(),
        ranked(7, adds(add_limit))),
    row(G::model, "--limit", "WHAT=N", of::stage, kLimitHelp<of::stage>.view(),
        ranked(13, adds(add_limit))),
    row(G::model, "--limit", "WHAT=N", of::advise, kLimitHelp<of::advise>.view(),
        ranked(4, adds(add_limit))),
    row(G::model, "--limit", "WHAT=N", of::tune, kLimitHelp<of::tune>.view(),
        ranked(13, adds(add_limit))),
    row(G::model, "--limit", "WHAT=N", of::probe, kLimitHelp<of::probe>.view(), adds(add_limit)),
    row(G::model, "--limit", "WHAT=N", of::lower, kLimitHelp<of::lower>.view(),
        ranked(13, adds(add_limit))),
    row(G::model, "--limit", "WHAT=N", of::reduce, kLimitHelp<of::reduce>.view(),
        ranked(13, adds(add_limit))),
    row(G::model, "--nodes", "FILE", of::cut | of::reduce,
        "which nodes: a name a line, or a JSON list of names; - is standard input; reduce takes "
        "all if not given",
        {.role = FileRole::input, .rank = 10}),
    row(G::model, "--from", "TENSOR", of::cut,
        "instead of --nodes: begin at this tensor, which becomes an input; repeatable",
        {.repeat = Repeat::often, .rank = 1}),
    row(G::model, "--to", "TENSOR", of::cut,
        "instead of --nodes: end at this tensor, which becomes an output; repeatable. Without it "
        "at the model's outputs that depend on --from",
        {.repeat = Repeat::often, .rank = 1}),
    row(G::model, "--partition", "NAME", of::reduce,
        "which nodes: those of this partition of the split by --support",
        {.excludes = "--nodes", .rank = 3}),

    row(G::model, "MODEL", "", of::verify, "the model that DIR is of",
        {.role = FileRole::input, .required = of::verify}),
    row(G::model, "DIR", "", kRuns,
        "a folder that cleave wrote: of split, stage, or lower --bundle ep", {.required = kRuns}),

    // ---- list ----
    row(G::list, "-s,--support", "[NAME=]LIST", kListed,
        "support list: JSON, plain text or ONNX Runtime config; repeatable: any list may accept a "
        "node (check takes each alone); with NAME=, of that target",
        {.role = FileRole::input,
         .repeat = Repeat::often,
         .required = kSplits & ~(of::convert | of::reduce | of::to),
         .unless = "--verdicts,--map,--learn",
         .rank = 1,
         .put = add_list}),
    row(G::list, "--deny", "NODE|OP", kListed,
        "keep an op or a node on the CPU, whatever the lists say: a name or a glob; repeatable",
        {.repeat = Repeat::often, .rank = 8, .put = add_denied}),
    row(G::list, "--verdicts", "FILE", kListed,
        "JSON or CSV that decides single nodes and overrides all rules: node, true or false, why; "
        "repeatable",
        adds(add_verdicts, FileRole::input)),
    row(G::list, "--combine", "{any,all}", kListed,
        "a node must be accepted by any of several lists, or by all of them; without it by any, "
        "and check takes each list alone",
        {.put = set_combination}),
    row(G::list, "--as", "{model,onnxruntime}", kListed,
        "judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a "
        "provider; without it as each list says",
        {.put = set_view}),
    row(G::list, "--strict", "", of::lists, "exit 1 on warnings of lint, too", {.rank = 5}),

    // ---- split ----
    row(G::split, "--min-acc-module-size", "NODES", kSplits,
        "smaller accelerator subgraphs go to the CPU; auto: the size with the fastest inference",
        {.by_default = "1",
         .rank = 7,
         .words = kAuto,
         .setting = {.refusal = "is not a whole number of 0 or more",
                     .is_count = true,
                     .is_for_targets = true,
                     .get = min_size,
                     .set = set_min_size}}),
    row(G::split, "--skip-fusion", "", kSplits,
        "let nodes that exchange other data than tensors run apart: form no fusion groups of them",
        flag<&SplitOptions::skip_fusion>()),
    row(G::split, "--allow-non-tensor", "", kSplits,
        "let non-tensor data cross between accelerator and CPU",
        flag<&SplitOptions::allow_non_tensor>()),
    row(G::split, "--move-non-tensor", "", kSplits,
        "move nodes whose non-tensor data leaves an accelerator partition to the one partition "
        "that reads it, as FX's move_non_tensor_nodes_on_boundary",
        flag<&SplitOptions::move_non_tensor>()),
    row(G::split, "--keep-qdq", "", kSplits,
        "keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one "
        "partition",
        ranked(10, flag<&SplitOptions::keep_qdq>())),
    row(G::split, "--host-shapes", "", kSplits,
        "let shape computations follow the nodes that use them, whatever the support list says, so "
        "that a Reshape does not cut a partition",
        ranked(11, flag<&SplitOptions::host_shapes>())),
    row(G::split, "--place", "", kSplits,
        "put nodes on the accelerator wherever lists allow it (priority), on the first of several "
        "targets that takes them (order), for the fastest inference (cost), or its least energy "
        "(energy)",
        {.by_default = "priority",
         .rank = 8,
         .words = kWordsOf<kPlaces>,
         .setting = {.get = place, .set = set_place}}),
    row(G::split, "--min-gain", "PERCENT", kSplits,
        "with --place cost or energy: move nodes to the CPU only if an inference takes at least "
        "this much less; auto: 3%, and 0% where all times are measured",
        {.setting = {.refusal = "is not a share: write 3% or 0.03",
                     .get = min_gain,
                     .set = set_min_gain}}),
    row(G::split, "--residency", "", kSplits,
        "whether the accelerator keeps values that it made or received until their last reader "
        "there has run",
        word<&SplitOptions::residency, kResidency>("off")),
    row(G::split, "--start", "", kSplits,
        "side to start on: reference, cpu, acc, or the one with the fewest subgraphs",
        word<&SplitOptions::start, kStartSides>("reference")),
    row(G::split, "--pack", "", kSplits,
        "where a node goes that fits in several accelerator subgraphs: in the first (early), or "
        "where the fewest bytes cross the link, with as many subgraphs (bytes)",
        word<&SplitOptions::pack, kPackBy>("early")),
    row(G::split, "--keep-acc-subgraphs", "COUNT", kSplits,
        "keep at most this many accelerator subgraphs, the most valuable ones; or unlimited; or "
        "auto: those that make an inference faster",
        {.by_default = "unlimited",
         .words = kUnlimitedOrAuto,
         .setting = {.refusal = "is not a count: give a whole number, auto, or unlimited",
                     .is_count = true,
                     .is_for_targets = true,
                     .get = most_kept,
                     .set = set_most_kept}}),
    row(G::split, "--keep-by", "", kSplits,
        "what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link "
        "takes; its nodes; or the time that an inference gains by it",
        word<&SplitOptions::keep_by, kKeepBy>("flops", "--keep-acc-subgraphs")),
    row(G::split, "--extend", "WHICH", kSplits,
        "extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto (only "
        "where fewer bytes cross the link)",
        {.setting = {.refusal = "is not a subgraph's number or name, all or auto",
                     .get = extended,
                     .set = set_extended}}),
    row(G::split, "--prefix", "[TARGET=]TEXT", kSplits,
        "what names of accelerator partitions begin with [_run_on_acc_]; of one of several targets "
        "npu=_npu_; repeatable",
        adds(add_prefix)),
    row(G::split, "--non-acc-prefix", "TEXT", kSplits, "what names of CPU partitions begin with",
        {.by_default = "_run_on_cpu_", .put = set_non_acc_prefix}),
    row(G::split, "--require", "NODE|OP", kSplits,
        "node (a name or glob) or op that --place cost leaves on the accelerator, and that check "
        "wants there, or with npu: on that one of several targets; repeatable",
        adds(add_required)),
    row(G::split, "--map", "FILE", kMapped | of::stage,
        "cut by a map instead: the partition or stage of each node, as JSON, CSV, TSV, or a folder "
        "that cleave wrote",
        {.role = FileRole::input, .shelf = of::stage, .rank = 4}),
    row(G::split, "--map-option", "KEY=VALUE", kMapped,
        "with --map: default=NAME, of nodes that it does not name; affix=TEXT: submod_TEXT_<id>; "
        "parameters=copy: each partition has its own; repeatable",
        {.repeat = Repeat::often, .needs = "--map", .shelf = of::stage}),
    row(G::split, "--keep-original-order", "", kMapped,
        "with --map: call partitions in the order in which they first appear in the model",
        {.needs = "--map", .shelf = of::stage}),
    row(G::split, "--map-option", "KEY=VALUE", of::stage,
        "with --map: default=NAME, the stage of nodes that the map does not name",
        {.repeat = Repeat::often, .needs = "--map"}),
    row(G::split, "--phase", "NAME:DIM=SIZE,...[,on=TARGET]", kMapped,
        "split the model at these sizes, on these targets, with others of --phase into one folder "
        "with its weights once: prompt:T=64,P=0,on=npu; repeatable (ONNX models)",
        {.repeat = Repeat::often,
         .excludes =
             "--map,--html,--viewer,--show,--drawings,--opset,--capture,--annotate,--weights",
         .put = add_phase}),
    row(G::split, "--tokens", "PROMPT+NEW", kMapped,
        "with --phase: for how many tokens the report says times",
        {.by_default = "1024+128", .needs = "--phase", .put = set_tokens}),
    row(G::split, "--pipeline", "genai[:KEY=VALUE,...]", of::split,
        "also write genai_config.json: the phases as a decoder-pipeline of onnxruntime-genai, with "
        "its bos_token_id, eos_token_id, pad_token_id and context_length",
        {.needs = "--phase"}),
    row(G::split, "--split-at", "SCOPE=begin|end|each", of::stage,
        "end a stage before or after a module, layers.3=begin (of one call: layers.3=end@last), or "
        "a node, node:/Add_7=end; layers=each: each module directly inside is one; . is the model",
        {.repeat = Repeat::often, .rank = 2}),
    row(G::split, "--stages", "N|exactly:N", of::stage,
        "cut into at most this many stages; exactly:N: into no fewer, even if they are as good",
        {.excludes = "--split-at", .rank = 1}),
    row(G::split, "--balance", "{time,flops,params,bytes,nodes,params-greedy}", of::stage,
        "what to balance over the stages: time, flops, params, bytes, nodes; or params-greedy, as "
        "FairScale cuts",
        {.by_default = "time", .rank = 7}),
    row(G::split, "--cut-at", "{nodes,scopes}", of::stage,
        "where balanced stages may end: at any node, or only where a block ends (model.layers.N of "
        "names)",
        {.by_default = "nodes", .excludes = "--split-at,--map"}),
    row(G::split, "--shared-params", "[NAME=]replicate|transmit", of::stage,
        "parameters that several stages use: replicate (default; each holds a copy) or transmit "
        "(the first holds it and passes it on); NAME=... for one of them; repeatable",
        {.repeat = Repeat::often}),
    row(G::split, "--relay", "", of::stage,
        "pass values that skip stages through the stages in between"),
    row(G::split, "--device-map", "STAGE=DEVICE,...", of::stage,
        "devices of stages: 0=cuda:0,1=cuda:1"),
    row(G::split, "--loss-output", "SPEC", of::stage,
        "add the backward pass of this output: its name, or JSON of what the model returns with "
        "true at the loss (default: the output \"loss\")",
        {.may_be_bare = true}),
    row(G::split, "--schedule", "KIND:NUMBERS", of::stage,
        "train in microbatches, such as 1f1b:microbatches=8,ranks=4,backward=2; or gpipe, "
        "interleaved, zero-bubble; -o writes schedule.csv, which torch's pipeline runtime loads",
        {.rank = 6}),

    // ---- devices and times ----
    row(G::devices, "--target", "TARGET:NUMBERS", kListed,
        "numbers of a device, such as acc:launch=100us,flops=4TFLOP/s; or cpu:bandwidth=50GB/s "
        "(samples/README.md); repeatable",
        ranked(5, adds(add_target))),
    row(G::devices, "--pcie-bw", "BANDWIDTH", kListed,
        "link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16; of stages: "
        "between devices without a link of their own",
        {.rank = 12, .put = set_link}),
    row(G::devices, "--link", "A-B=BANDWIDTH", kSplits,
        "a direct link between two of several targets, such as npu-gpu=16GB/s, or npu-gpu=shared "
        "where they share their memory; repeatable",
        adds(add_link)),
    row(G::devices, "--overlap", "", kSplits,
        "of several targets: also report the time in which their partitions run at the same time",
        {.rank = 13, .put = set_overlap}),
    row(G::devices, "--costs", "[TARGET=]FILE", kListed,
        "times and shapes of a run: a profile of ONNX Runtime, OpenVINO or TensorRT, CSV "
        "node,time_us, or cleave.costs; of the CPU, or acc=FILE of the accelerator; repeatable",
        {.role = FileRole::input, .repeat = Repeat::often, .rank = 9, .put = add_costs}),
    row(G::devices, "--goal", "{subgraphs,bytes,qps,flops,latency}", of::advise,
        "what to gain: fewer accelerator subgraphs, fewer bytes over the link, a higher QPS that "
        "it bounds, more FLOPs on the accelerator, or less time of an inference",
        {.by_default = "subgraphs", .rank = 3}),
    row(G::devices, "--for", "TARGET", of::advise,
        "the one of several targets whose lists the additions are for; a node that another target "
        "takes anyway gains less than one that only the CPU takes",
        {.rank = 5}),
    row(G::devices, "--devices", "FILE", of::stage,
        "the devices in the order of stages: CSV name,target,memory,speed,link",
        {.role = FileRole::input, .rank = 4}),
    row(G::devices, "--comm", "{serial,overlap,duplex,none}", of::stage,
        "what transfers add to a stage's time: serial (compute + in + out), overlap (the longer of "
        "compute and in + out), duplex (the longest of the three), none",
        {.by_default = "serial"}),
    row(G::devices, "--memory", "BYTES,...", of::stage,
        "of a device, 24GiB: parameters, optimizer=4 times (Adam; else 1), and the peak of live "
        "activations; none: unlimited; params=1GiB: of parameters alone, in the fewest stages or "
        "N"),
    row(G::devices, "--target-latency", "TIME", of::stage,
        "use the fewest stages that each take at most this time, such as 5ms; when balancing "
        "something other than time, that each hold at most this number",
        {.rank = 5}),
    row(G::devices, "--effort", "{low,normal,high}", of::stage,
        "how long to search, counted in moves", {.by_default = "normal"}),
    row(G::devices, "--seed", "N", of::stage | of::split | kCompiles | kRuns,
        "seed of random numbers: of a search, or of inputs that are drawn",
        {.form = ValueForm::count, .needs = "--capture"}),
    row(G::devices, "--learn", "FILE", of::tune,
        "instead of timing: learn what each op takes from a profile; of ONNX Runtime, OpenVINO or "
        "TensorRT, best unoptimised: with fused kernels a node's time is a share; repeatable",
        {.role = FileRole::input, .repeat = Repeat::often, .rank = 2}),

    // ---- output ----
    row(G::output, "-o,--output", "DIR", kWrites | of::reduce,
        "folder to write; written completely or not at all",
        {.role = FileRole::output_folder, .required = of::split, .rank = 3}),
    row(G::output, "-o,--output", "DIR", of::lower,
        "folder for lowering.json, lowering.txt, learned.json (of targets learned_NAME.json) and a "
        "folder for each finding; a killed run is continued by the next one",
        {.role = FileRole::output_folder, .beside = ".journal.jsonl", .rank = 3}),
    row(G::output, "-o,--output", "FILE", of::tune,
        "file to write: cleave.costs, for --costs acc=FILE; FILE.journal beside it keeps what was "
        "timed, so that a later run, with --force, goes on",
        {.role = FileRole::output,
         .required = of::tune,
         .unless = "--learn",
         .beside = ".journal",
         .rank = 3}),
    row(G::output, "-o,--output", "FILE", of::check,
        "file to write: the results, for --baseline later; gzip compresses FILE.gz",
        {.role = FileRole::output, .rank = 4}),
    row(G::output, "-o,--output", "FILE", of::cut, "file to write",
        {.role = FileRole::output, .required = of::cut, .rank = 3}),
    row(G::output, "-o,--output", "FILE", of::probe,
        "write the measured support list, and the evidence beside it (LIST.evidence.jsonl)",
        {.role = FileRole::output, .beside = ".evidence.jsonl", .rank = 3}),
    row(G::output, "-o,--output", "FILE", of::draw | of::convert | of::lists,
        "file to write; - or not given: standard output; draw makes SVG of FILE.svg, convert "
        "native JSON of FILE.json and without a file",
        {.role = FileRole::report, .rank = 3}),
    row(G::output, "--force", "", kForced,
        "replace files that exist, and a folder that cleave wrote", {.rank = 14}),
    row(G::output, "--show", "{nodes}", of::inspect, "print instead the model, one line per node",
        {.excludes = "--json", .rank = 10}),
    row(G::output, "--show", "{ops,nodes}", of::preview,
        "print instead which op types the lists support, and which they do not, with their dtypes "
        "(ops); or the split, one line per node",
        {.rank = 8}),
    row(G::output, "--show", "{table}", of::check,
        "print instead a table, models by lists: coverage of nodes, and accelerator partitions",
        {.excludes = "--json", .rank = 7}),
    row(G::output, "--show", "{preview}", of::lower,
        "print what preview does first; with --json its report, which holds lowering.json",
        {.rank = 9}),
    row(G::output, "--show", "support|preview|PARTITION", of::draw,
        "what to draw: the whole model by support, the partitions and what flows between them, or "
        "a partition by its name",
        {.by_default = "support", .rank = 5}),
    row(G::output, "--stage", "I", of::stage,
        "print this stage alone, counted from 0; with --json as a model",
        {.form = ValueForm::count}),
    row(G::output, "--json", "", kTell, "print the report as JSON", {.rank = 13}),
    row(G::output, "--html", "FILE", kPages, "also write the report as one page for a browser",
        {.role = FileRole::output, .rank = 6}),
    row(G::output, "--viewer", "FILE.json|DIR", kMapped,
        "also write what a viewer shows beside the model: FILE.json an attachment for Netron, DIR "
        "node data for Model Explorer; repeatable",
        {.role = FileRole::output_folder, .repeat = Repeat::often}),
    row(G::output, "--color-by", "{support,time,flops,bytes}", of::draw,
        "what the colours show: support, or what each node takes of the time, FLOPs or bytes",
        {.by_default = "support", .rank = 6}),
    row(G::output, "--drawings", "{none,summary,all}", of::split,
        "which drawings to write: none, of the model and of the split only, or also of each "
        "partition; without it each of up to 200 partitions is drawn"),
    row(G::output, "--weights", "{external,inline,shared,reference}", kWrites,
        "where the root has its weights: external (in the partitions' files beside it; ONNX), "
        "inline (torch.export), shared (once, in weights.bin) or reference (in the model's files; "
        "DIR is its folder)",
        {.needs = "--output", .rank = 12}),
    row(G::output, "--weights", "{inline,reference}", of::cut,
        "whether weights are copied, or stay where they are and are referred to",
        {.by_default = "inline", .rank = 12}),
    row(G::output, "--annotate", "", kWrites,
        "also write annotated.onnx: the whole model, each node with its partition as layer_ann, by "
        "which ONNX Runtime can place it",
        {.needs = "--output", .excludes = "--opset"}),
    row(G::output, "--bundle", "", kWrites,
        "write all partitions into one file, which has their weights once: bundle.pt2 for "
        "torch.export models, bundle.tflite for TensorFlow Lite models",
        {.needs = "--output"}),
    row(G::output, "--bundle", "{none,files,ep,ep-embedded}", of::lower,
        "what is kept of what was compiled: none, its files in DIR/artefacts, also root_ep.onnx, "
        "one model for ONNX Runtime with EPContext nodes that name these (ep) or hold them "
        "(ep-embedded)",
        {.by_default = "files", .needs = "--output", .rank = 8}),
    row(G::output, "--lift-state", "", kWrites,
        "variables are inputs and outputs of the partitions, and the caller keeps them, also those "
        "that one partition alone uses (TensorFlow Lite models)"),
    row(G::output, "--opset", "N", of::split | of::convert,
        "write the model, or parts and root.onnx, in this opset, by ONNX's version converter; "
        "needs Python with onnx (ONNX models)",
        {.form = ValueForm::count, .least = 1, .most = 1000, .rank = 4}),
    row(G::output, "--capture", "", of::split,
        "also run the parts, in ONNX Runtime or torch, and write what each takes and makes, as "
        "test data in the folder captured; needs Python with the runtime and numpy",
        {.rank = 12}),
    row(G::output, "--inputs", "FILE", of::split | kCompiles | kRuns,
        "inputs of the model: a .npz file or a folder of input_0.pb, ...; repeatable where "
        "compilers run; without it random, or those that a torch.export archive has",
        {.role = FileRole::input, .repeat = Repeat::often, .needs = "--capture", .rank = 7}),
    row(G::output, "--ci", "FILE|github", of::check | of::lower,
        "what CI servers read, by the ending: .xml JUnit, .sarif SARIF, .md Markdown; github: "
        "annotations and the step summary of GitHub Actions; repeatable",
        {.role = FileRole::output, .repeat = Repeat::often, .rank = 3}),
    row(G::output, "--min", "WHAT=N", of::check, kGateHelp<GateSide::least>.view(),
        {.repeat = Repeat::often, .rank = 2, .words = kGateWords<GateSide::least>}),
    row(G::output, "--max", "WHAT=N", of::check, kGateHelp<GateSide::most>.view(),
        {.repeat = Repeat::often, .rank = 5, .words = kGateWords<GateSide::most>}),
    row(G::output, "--baseline", "FILE", of::check,
        "earlier results: a baseline, or one report; without other limits no node may be new on "
        "the CPU",
        {.role = FileRole::input, .rank = 3}),
    row(G::output, "--exit-zero", "", of::check, "exit 0 even when a gate fails"),

    row(G::output, "--outputs", "FILE", of::run,
        "write the outputs of the first call, of phases those of the last token and all ids: a "
        ".npz file",
        {.role = FileRole::output, .rank = 4}),
    row(G::output, "--times", "N", kRuns,
        "so many calls, one after the other: state shows, and times are medians",
        {.form = ValueForm::count, .least = 1, .most = 1e6, .rank = 6}),
    row(G::output, "--steps", "N", kRuns,
        "so many steps of an ONNX model with state, each with the state that the one before made; "
        "tokens are drawn, or those of --inputs",
        {.form = ValueForm::count, .least = 1, .most = 1e6, .excludes = "--times", .rank = 9}),
    row(G::output, "--overlap", "", of::run,
        "of several targets: also run partitions at the same time, a thread for each device",
        {.rank = 13}),
    row(G::output, "--tolerance", "KEY=NUMBER,...", kRuns,
        "how far numbers may be apart: rtol=R,atol=A allows atol + rtol x |the model's|; without "
        "it every bit counts, and with --ep 0.01 each",
        {.repeat = Repeat::often, .rank = 4}),
    row(G::output, "--ep", "NAME", kRuns,
        "an execution provider of ONNX Runtime for accelerator partitions; such as openvino (ONNX)",
        {.rank = 7}),
    row(G::output, "--import", "MODULE", kRuns,
        "a Python module that registers operators or classes of your own (torch.export); "
        "repeatable",
        {.repeat = Repeat::often}),
    row(G::output, "--python", "PROGRAM", kRuns,
        "the Python that has onnxruntime, torch or ai-edge-litert; else $VIRTUAL_ENV's, else "
        "python3",
        {.rank = 9}),

    // ---- compilers ----
    row(G::compilers, "--backend", "BACKEND", kCompiles,
        "the compiler: a backend file, the name of a known backend (cleave backend list), or "
        "NAME='program {model} -o {out}'; TARGET=... for one of several targets; repeatable",
        {.repeat = Repeat::often, .required = kCompiles, .rank = 1}),
    row(G::compilers, "--reference", "BACKEND", kCompiles,
        "the backend whose values and shapes are right: onnxruntime, litert, torch; the default "
        "where shapes are open, none turns it off; runs the whole model once",
        {.rank = 5}),
    row(G::compilers, "--launcher", "COMMAND", kCompiles,
        "command that starts each command of a backend: 'srun --ntasks=1'"),
    row(G::compilers, "-j,--jobs", "N", kCompiles,
        "compilers at once; default, and 0: half of the cores, and 1 for NAME='...'",
        {.form = ValueForm::count, .most = 1024}),
    row(G::compilers, "--cache", "DIR|off|failures", kCompiles,
        "folder of known verdicts; off: ask the compiler again, even about these; failures: also "
        "keep timeouts, crashes and out-of-memory as verdicts; repeatable",
        {.repeat = Repeat::often}),
    row(G::compilers, "--culprit", "{none,hint,node,minimal}", kSearches,
        "how far to search for the cause: none; nodes that the message names; a node (default of "
        "lower); the smallest set of nodes that still fails (of reduce)",
        {.rank = 7}),
    row(G::compilers, "--pin-shapes", "{off,boundary,values}", kSearches,
        "open shapes at a partition's boundary may be set to those of the reference's run "
        "(boundary), and small integers there become constants, too (values)",
        {.by_default = "boundary"}),
    row(G::compilers, "--compare", "", kCompiles,
        "also run the partitions, and compare with the reference", {.rank = 6}),
    row(G::compilers, "--tolerance", "KEY=VALUE,...", kCompiles,
        "of --compare: int=N, by how much 8-bit integers may differ, for quantised outputs, else "
        "as the backend's file says; ties=strict: equal values in another order are wrong",
        {.repeat = Repeat::often, .needs = "--compare"}),
    row(G::compilers, "--until-clean", "", of::lower,
        "deny what is refused and split again until everything lowers", {.rank = 3}),
    row(G::compilers, "--deny-out", "FILE", of::lower, "write the list with what was learned",
        {.role = FileRole::output, .rank = 4}),
    row(G::compilers, "--run", "COMMAND", of::tune,
        "/bin/sh command that runs the partition {model} and prints milliseconds last; once more "
        "for the folder {split} of a whole split: times plan, all that lists accept, and CPU alone",
        {.repeat = Repeat::often, .required = of::tune, .unless = "--learn", .rank = 1}),
    row(G::compilers, "--plan", "FILE", of::tune,
        "file to write: the fastest placement, as verdicts for --verdicts; of whole splits that "
        "were timed, else the one that the times lead to",
        {.role = FileRole::output}),

    // ---- terminal ----
    row(G::terminal, "--config", "FILE", of::program,
        "TOML file of options: a table for each command, [check]; [[model]] for a model's shapes",
        {.role = FileRole::input, .rank = 2}),
    row(G::terminal, "-q,--quiet", "", kAll,
        "print only errors on standard error; reports are still printed"),
    row(G::terminal, "--log-level", "{error,warning,info,debug}", kAll,
        "how much to print on standard error", {.by_default = "info"}),
    row(G::terminal, "--color", "{auto,always,never}", kAll,
        "colour of verdicts, sides and failures; auto: on a terminal, unless NO_COLOR is set",
        {.by_default = "auto"}),
    row(G::terminal, "-h", "", kAll, "print the options that most use", {.ends = true}),
    row(G::terminal, "--help", "", kAll, "print all options", {.ends = true}),
    row(G::terminal, "-V,--version", "", of::program, "print the version and exit", {.ends = true}),
};

}  // namespace

std::span<const CommandRow> command_rows() { return kCommands; }
std::span<const Option> work_limits() { return kWorkLimits; }

std::span<const Option> option_table() { return kOptions; }

std::string_view start_side_name(StartSide side) { return word_of<kStartSides>(side); }
std::string_view keep_by_name(KeepBy by) { return word_of<kKeepBy>(by); }

}  // namespace cleave
