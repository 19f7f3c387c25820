#include "cli/options/gate_args.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/words.h"

namespace cleave {
namespace {

std::string_view option_of(GateSide side) { return side == GateSide::least ? "--min" : "--max"; }

// "coverage=95%": the word's row, one of several targets where it is "npu:coverage=95%", and the value.
struct Wanted {
  const GateRow* row;
  std::string target;
  std::string word, value;
};

// A word of the other option is named first: a near name would lead away from it.
[[noreturn]] void refuse_word(GateSide side, const std::string& word) {
  std::vector<std::string_view> words;
  for (const GateRow& row : kGates) {
    if (row.word.empty()) continue;
    if (row.side == side) words.push_back(row.word);
    if (row.side == side || row.word != word) continue;
    const std::string other(option_of(row.side));
    refuse_option(
        std::string(option_of(side)),
        in_quotes(word) + " is of the other option: write " + other + " " + word + "=...");
  }
  const std::string near = nearest_name(word, words);
  refuse_option(std::string(option_of(side)),
                in_quotes(word) + " is none of " + joined(words, ", ") +
                    (near.empty() ? "" : "; did you mean " + near + "?"));
}

Wanted wanted_of(GateSide side, const std::string& text, const std::vector<std::string>& targets) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos) {
    refuse_option(std::string(option_of(side)),
                  in_quotes(text) + " is not WHAT=N: write " +
                      (side == GateSide::least ? "coverage=95%" : "cpu-nodes=4"));
  }
  Wanted wanted{nullptr, "", lower_case(text.substr(0, equals)), text.substr(equals + 1)};
  const std::size_t colon = wanted.word.find(':');
  if (colon != text.npos) {
    // From the text as given: names of targets keep their case, words of gates do not have one.
    wanted.target = text.substr(0, colon);
    wanted.word.erase(0, colon + 1);
  }
  const auto row = std::ranges::find_if(kGates, [&](const GateRow& one) {
    return one.side == side && !one.word.empty() && one.word == wanted.word;
  });
  if (row == kGates.end()) refuse_word(side, wanted.word);
  wanted.row = &*row;
  if (wanted.target.empty()) return wanted;
  if (row->name.find("coverage") == std::string_view::npos) {
    refuse_option(std::string(option_of(side)), in_quotes(text.substr(0, equals)) +
                                                    ": only coverage is of one target; write " +
                                                    std::string(row->word) + "=" + wanted.value);
  }
  if (!contains(targets, wanted.target)) {
    refuse_option(std::string(option_of(side)),
                  in_quotes(wanted.target) + " is no target: " + joined(targets, ", "));
  }
  // With one target its coverage is the model's, which has a gate of its own.
  if (targets.size() == 1) wanted.target.clear();
  return wanted;
}

// The number, in the unit of the limits. Throws OptionRefused.
double number_of(const Wanted& wanted) {
  const std::string option =
      std::string(option_of(wanted.row->side)) + " " + std::string(wanted.row->word);
  if (wanted.row->unit == GateUnit::time) {
    // Durations are read in seconds; limits are in microseconds.
    const double us = parse_duration(wanted.value).value_or(0) * 1e6;
    if (us > 0) return us;
    refuse_option(option, in_quotes(wanted.value) +
                              " is not a time above 0: write 20ms, 20s or 5min, or cpu");
  }
  const GateUnit unit = wanted.row->unit;
  // As a value of an option, so that numbers are read and refused in the same words everywhere.
  const Option number{OptionGroup::output,
                      option,
                      "N",
                      of::check,
                      "",
                      {.form = unit == GateUnit::share   ? ValueForm::share
                               : unit == GateUnit::bytes ? ValueForm::bytes
                               : unit == GateUnit::rate  ? ValueForm::number
                                                         : ValueForm::count}};
  const std::string value = checked_value(number, wanted.value);
  return unit == GateUnit::share   ? *parse_share(value)
         : unit == GateUnit::bytes ? static_cast<double>(*parse_bytes(value))
                                   : std::stod(value);
}

void add_limit(GateLimits& limits, const Wanted& wanted) {
  const GateRow& row = *wanted.row;
  const auto twice = [&] {
    const std::string target = wanted.target.empty() ? "" : wanted.target + ":";
    refuse_option(std::string(option_of(row.side)),
                  in_quotes(target + std::string(row.word)) + " is given twice");
  };
  if (row.unit == GateUnit::time && lower_case(wanted.value) == "cpu") {
    if (std::exchange(limits.faster_than_cpu, true)) twice();
    return;
  }
  const double number = number_of(wanted);
  if (!wanted.target.empty()) {
    const auto kind = static_cast<GateKind>(&row - kGates.data());
    const bool is_known = std::ranges::any_of(limits.target_coverage, [&](const auto& other) {
      return other.target == wanted.target && other.kind == kind;
    });
    if (is_known) twice();
    limits.target_coverage.push_back({wanted.target, kind, number});
  } else if (row.number != nullptr) {
    if (std::exchange(limits.*row.number, number)) twice();
  } else if (std::exchange(limits.*row.count, static_cast<std::uint64_t>(number))) {
    twice();
  }
}

}  // namespace

CheckRequest gates_of(const Given& given) {
  CheckRequest gates{.limits = {}, .require = given.split.require};
  for (const GateSide side : {GateSide::least, GateSide::most}) {
    for (const std::string& text : given.texts(option_of(side))) {
      add_limit(gates.limits, wanted_of(side, text, given.split.lists.targets()));
    }
  }
  return gates;
}

bool asks_anything(const CheckRequest& gates) {
  const GateLimits& limits = gates.limits;
  return limits.faster_than_cpu || !limits.target_coverage.empty() || !gates.require.empty() ||
         std::ranges::any_of(kGates, [&](const GateRow& row) {
           return (row.number != nullptr && limits.*row.number) ||
                  (row.count != nullptr && limits.*row.count);
         });
}

CheckRequest with_default_gate(CheckRequest gates) {
  if (!gates.limits.new_cpu_nodes && !gates.limits.regression) gates.limits.new_cpu_nodes = 0;
  return gates;
}

}  // namespace cleave
