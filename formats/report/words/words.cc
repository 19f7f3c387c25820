// Words of warnings, options, open sizes, progress, and what is worth it.
#include "formats/report/words/words.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"
#include "formats/lists/support_file.h"
#include "formats/report/words/report.h"

namespace cleave {

// ---- list warnings ----

namespace {

// Of nodes, constants, and nodes in bodies.
std::unordered_set<std::string_view> node_names(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const NodeId node : graph.nodes()) {
    names.insert(graph.node(node).name);
    for (const NodeId inner : graph.body_nodes(node)) names.insert(graph.node(inner).name);
  }
  for (const NodeId node : graph.constants()) names.insert(graph.node(node).name);
  return names;
}

// The nodes of the verdicts that the model does not have, in the list's order.
std::vector<std::string> strangers(const std::unordered_set<std::string_view>& names,
                                   const SupportList& list) {
  std::vector<std::string> strange;
  for (const auto* const rules : {&list.allow, &list.deny}) {
    for (const Rule& rule : *rules) {
      if (rule.is_exact_name && !names.contains(rule.node_name)) strange.push_back(rule.node_name);
    }
  }
  return strange;
}

}  // namespace

Diagnostics idle_list_warnings(const SplitInput& input) {
  Diagnostics warnings;
  for (const IdleList& idle : find_idle_lists(input.graph, input.lists)) {
    const SupportList& list = input.lists[idle.list];
    const std::string ops = joined(idle.ops, ", ", [&](const UsedOp& op) {
      return escaped_in_quotes(op_text(op.domain, op.op)) + " (" + counted(op.nodes, "node") + ")";
    });
    warnings.push_back(
        {.severity = Severity::warning,
         .file = list.path,
         .message = list.allow.empty() && list.patterns.empty()
                        ? "the list has no allow rule: it puts no node on the accelerator"
                        : "no rule of the list names an op of the model: it puts no node on the "
                          "accelerator",
         .notes = {"most of the model is " + ops}});
  }
  return warnings;
}

Diagnostics idle_verdict_warnings(const SplitInput& input) {
  constexpr std::size_t kMostNamed = 3;
  Diagnostics warnings;
  std::unordered_set<std::string_view> names;
  for (const SupportList& list : input.lists) {
    if (list.role != ListRole::verdicts) continue;
    if (names.empty()) names = node_names(input.graph);
    const std::vector<std::string> strange = strangers(names, list);
    if (strange.empty()) continue;
    warnings.push_back({.severity = Severity::warning,
                        .file = list.path,
                        .message = counted(strange.size(), "verdict is", "verdicts are") +
                                   " about nodes that the model does not have: " +
                                   capped_list(strange, kMostNamed, escaped_in_quotes, " ...")});
  }
  return warnings;
}

Diagnostics overruled_list_warnings(const std::vector<SupportList>& lists) {
  Diagnostics warnings;
  if (lists.size() < 2) return warnings;
  for (const SupportList& list : lists) {
    if (list.role != ListRole::any_of || !list.name.ends_with(kLearnedSuffix)) continue;
    warnings.push_back(
        diagnostic_of(list.path,
                      "is a list that cleave lower learned, and a node that it denies is still "
                      "accepted when another list accepts it. It has all rules of the list that it "
                      "extends: give it alone, or add --combine all"));
  }
  return warnings;
}

Diagnostics near_miss_warnings(const SplitInput& input) {
  constexpr std::size_t kMostOfIdle = 3;  // of a list that has no op of the model: one says it
  Diagnostics warnings;
  const std::vector<std::string> known = known_lists();
  std::map<std::size_t, std::size_t> told;
  for (const IdleList& idle : find_idle_lists(input.graph, input.lists)) told[idle.list] = 0;
  for (const NearMiss& miss : near_misses(input.graph, input.lists, input.facts)) {
    const SupportList& list = input.lists[miss.list];
    // A list for every model has rules that match nothing in this one.
    if (contains(known, list.path)) continue;
    const auto idle = told.find(miss.list);
    if (idle != told.end() && idle->second++ >= kMostOfIdle) continue;
    const Rule rule = allowing_rules(list)[miss.rule];
    warnings.push_back({.severity = Severity::warning,
                        .file = list.path,
                        .line = rule.line,
                        .column = rule.column,
                        .message = "rule " + escaped_in_quotes(op_text(rule.domain, rule.op)) +
                                   " matches no node of the model: did you mean " +
                                   escaped_in_quotes(op_text(miss.domain, miss.op)) + "?"});
  }
  return warnings;
}

// A list of operators that torch's compilers agree on, not of what a device takes.
bool is_core_aten(const SupportList& list) { return list.name == "core_aten"; }

std::string core_aten_text(std::size_t refused) {
  return counted(refused, "node is", "nodes are") +
         " not core ATen: program.run_decompositions() before torch.export.save";
}

// ---- open size words ----

namespace {

constexpr std::size_t kMostTerms = 3;

using UnitText = std::string (*)(double);

std::string bytes_of(double bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); }

// Below this a rounded factor would be far from the true one.
bool is_readable(const Polynomial::Term& term) {
  const double size = std::abs(term.factor);
  return size >= 100 || size == std::floor(size);
}

bool is_readable(const Polynomial& polynomial, std::size_t most_terms) {
  if (polynomial.terms.size() > most_terms) return false;
  for (const Polynomial::Term& term : polynomial.terms) {
    if (!is_readable(term)) return false;
  }
  return true;
}

std::string product_text(const Polynomial& polynomial, const OpenSizes& sizes, UnitText unit) {
  std::string text;
  for (const Polynomial::Term& term : polynomial.terms) {
    if (!text.empty() || term.factor < 0) {
      text += std::string(text.empty() ? "" : " ") + (term.factor < 0 ? "-" : "+") +
              (text.empty() ? "" : " ");
    }
    text += unit(std::abs(term.factor));
    for (std::size_t i = 0; i < term.powers.size(); ++i) {
      for (std::uint8_t power = 0; power < term.powers[i]; ++power) {
        text += " x " + escaped(sizes.names[i]);
      }
    }
  }
  return text.empty() ? unit(0) : text;
}

std::string cell(const OpenNumber& number, const OpenSizes& sizes, UnitText unit) {
  const std::string more = number.is_partial ? "+" : "";
  if (number.exact && is_readable(*number.exact, 1)) {
    return product_text(*number.exact, sizes, unit) + more;
  }
  return unit(number.at_first) + " @" + more;
}

// "N=1": dims for which only this size fits.
std::string pinned_text(const OpenSizes& sizes) {
  return joined(sizes.pinned, ", ", [](const auto& dim) {
    return escaped(dim.first) + "=" + std::to_string(dim.second);
  });
}

}  // namespace

std::string open_flops_text(const OpenSizes& sizes, const OpenNumber& flops) {
  const std::string least = flops.is_partial ? "at least " : "";
  if (flops.exact && is_readable(*flops.exact, kMostTerms)) {
    const std::string pinned = pinned_text(sizes);
    return least + product_text(*flops.exact, sizes, flops_text) +
           (pinned.empty() ? "" : " at " + pinned);
  }
  return least + flops_text(flops.at_first) + " at " + first_sizes_text(sizes);
}

std::string open_flops_cell(const OpenNumber& flops, const OpenSizes& sizes) {
  return cell(flops, sizes, flops_text);
}

std::string open_bytes_cell(const OpenNumber& bytes, const OpenSizes& sizes) {
  return cell(bytes, sizes, bytes_of);
}

std::string first_sizes_text(const OpenSizes& sizes) {
  std::string text = pinned_text(sizes);
  for (std::size_t i = 0; i < sizes.names.size(); ++i) {
    text += (text.empty() ? "" : ", ") + escaped(sizes.names[i]) + "=" +
            std::to_string(sizes.grid.first[i]);
  }
  return text;
}

std::string steps_text(const OpenSizes& sizes) {
  if (!sizes.is_for_steps) return {};
  std::string text;
  for (std::size_t i = 0; i < sizes.names.size(); ++i) {
    if (sizes.grid.step[i] == 1) continue;
    text += (text.empty() ? "" : ", ") + escaped(sizes.names[i]) + " in steps of " +
            std::to_string(sizes.grid.step[i]);
  }
  return text;
}

const Fields<OpenNumberSaid> kOpenNumberFields = {
    kOneLine,
    {{"expression",
      [](auto& said) {
        const std::optional<Polynomial>& exact = said.number->exact;
        return exact ? std::optional(expression_text(*exact, said.sizes->names)) : std::nullopt;
      },
      "Terms like 12*N*H; null: no polynomial of degree 3 at most."},
     {"at_first", the<&OpenNumberSaid::number, &OpenNumber::at_first>, "At the first sizes."},
     {"is_partial", the<&OpenNumberSaid::number, &OpenNumber::is_partial>,
      "Something in it is not known at any size, and left out."}},
    "open_number"};

namespace {

struct OpenDimSaid {
  std::int64_t first, step;
};
const Fields<OpenDimSaid> kOpenDimFields = {
    kOneLine, {{"first", the<&OpenDimSaid::first>}, {"step", the<&OpenDimSaid::step>}}, "open_dim"};

Entries<OpenDimSaid> open_dims(const OpenSizes& sizes) {
  Entries<OpenDimSaid> dims;
  for (std::size_t i = 0; i < sizes.names.size(); ++i) {
    dims.list.emplace_back(sizes.names[i], OpenDimSaid{sizes.grid.first[i], sizes.grid.step[i]});
  }
  for (const auto& [name, size] : sizes.pinned) dims.list.emplace_back(name, OpenDimSaid{size, 0});
  return dims;
}

}  // namespace

const Fields<OpenSizes> kOpenSizesFields = {
    kLines,
    {{"dims", the<open_dims>,
      "Open dims of the inputs, with the first size that was tried and the step to the others; 0: "
      "only that size fits the model.",
      kOpenDimFields},
     {"is_for_steps", the<&OpenSizes::is_for_steps>,
      "Expressions hold at the sizes of the steps only: strides round."},
     {"flops",
      [](auto& sizes) {
        return OpenNumberSaid{&sizes, &sizes.flops};
      },
      kOpenNumberFields}}};

// ---- option words ----

std::string option_text(const OptionTrial& trial) {
  switch (trial.kind) {
    case OptionTrial::Kind::fold:
      return "--fold write";
    case OptionTrial::Kind::opset:
      return "cleave convert --opset " + std::to_string(trial.opset);
    case OptionTrial::Kind::extend:
      return "--extend auto";
    case OptionTrial::Kind::host_shapes:
      return "--host-shapes";
    case OptionTrial::Kind::allow_non_tensor:
      return "--allow-non-tensor";
    case OptionTrial::Kind::skip_fusion:
      return "--skip-fusion";
    case OptionTrial::Kind::move_non_tensor:
      return "--move-non-tensor";
    case OptionTrial::Kind::keep_qdq:
      return "--keep-qdq";
    case OptionTrial::Kind::start:
      return "--start fewest";
    case OptionTrial::Kind::min_acc_size:
      return "--min-acc-module-size " + std::to_string(trial.min_acc_size);
    case OptionTrial::Kind::place_by_cost:
      return "--place cost";
    case OptionTrial::Kind::keep:
      return "--keep-acc-subgraphs " + std::to_string(trial.most_kept);
    case OptionTrial::Kind::as_runtime:
      return "--as onnxruntime";
  }
  return {};
}

std::string best_option_text(const OptionTrials& trials) {
  const OptionTrial* const best = trials.best();
  if (best == nullptr) return {};
  const Outcome& now = trials.now;
  const Outcome& then = best->then;
  std::string text;
  const auto add = [&](const std::string& what) {
    text += (text.empty() ? " gives " : ", ") + what;
  };
  if (now.latency() && then.latency() && *now.latency() != *then.latency()) {
    add("a latency of " + duration_text(*then.latency()) + " instead of " +
        duration_text(*now.latency()));
  }
  if (then.acc_subgraphs != now.acc_subgraphs) {
    add(counted(then.acc_subgraphs, "accelerator partition") + " instead of " +
        count_text(now.acc_subgraphs));
  }
  const bool has_flops = now.flops.have_share() && then.flops.have_share();
  const std::string was = share_text(has_flops ? now.flops : now.nodes);
  const std::string is = share_text(has_flops ? then.flops : then.nodes);
  if (is != was) {
    add(is + (has_flops ? " of the work" : " of the nodes") + " on the accelerator instead of " +
        was);
  }
  const std::string bytes = bytes_text(then.link_bytes);
  const std::string bytes_now = bytes_text(now.link_bytes);
  if (now.unknown_bytes + then.unknown_bytes == 0 && bytes != bytes_now) {
    add(bytes + " over the link instead of " + bytes_now);
  }
  return option_text(*best) + text;
}

// ---- page ----

void Page::fact(std::string_view label, std::string_view text, std::size_t column) {
  const std::size_t used = text_columns(label);
  text_ += std::string(label) + as_line(text, column > used ? column - used : 2);
}

void Page::counted_fact(std::size_t count, std::string_view text, std::size_t width) {
  const std::string number = count_text(count);
  fact(std::string(2 + width - number.size(), ' ') + number, text, width + 4);
}

void Page::table(const TextTable& table, const std::vector<std::string>& notes, std::size_t most) {
  const std::string made = table.text();
  std::string_view rows = made;
  blank();
  for (const std::string& note : notes) {
    const std::size_t end = rows.find('\n') + 1;
    text_ += rows.substr(0, end);
    rows.remove_prefix(end);
    if (!note.empty()) line(fitted(note, most), 6);
  }
}

void Page::rest(const CappedList& list, std::string_view one, std::string_view many) {
  if (list.left_out() > 0) text_ += list.rest(one, many) + '\n';
}

// ---- screen ----

namespace {

constexpr std::string_view kRed = "\x1b[31m", kGreen = "\x1b[32m", kYellow = "\x1b[33m",
                           kNoColour = "\x1b[0m";

// A word behind the beginning of a line. Names come from models: nothing else of a line is looked at.
struct Mark {
  std::string_view begin, word, colour;
  bool is_conclusion = false;
};
constexpr Mark kMarks[] = {{"worth it: ", "YES", kGreen, true},
                           {"worth it: ", "MAYBE", kYellow, true},
                           {"worth it: ", "NO", kRed, true},
                           {"", "passed:", kGreen, true},
                           {"", "FAILED:", kRed, true},
                           {"  ", "ok  ", kGreen},
                           {"  ", "FAIL  ", kRed},
                           {"  ", "ERROR ", kRed}};

const Mark* mark_of(std::string_view line) {
  const auto* const found = std::ranges::find_if(kMarks, [&](const Mark& mark) {
    return line.starts_with(mark.begin) && line.substr(mark.begin.size()).starts_with(mark.word);
  });
  return found == std::end(kMarks) ? nullptr : found;
}

// Where the second cell of a row is; a row has two blanks between cells.
std::pair<std::size_t, std::size_t> second_cell(std::string_view row) {
  const std::size_t begin = std::min(row.find_first_not_of(' ', row.find("  ")), row.size());
  return {begin, std::min(row.find("  ", begin), row.size())};
}

// Lines of a report in colour.
class Painter {
 public:
  std::string paint(std::string_view line) {
    const auto [begin, end] = second_cell(line);
    const std::string_view cell = line.substr(begin, end - begin);
    if (line.starts_with("partition ")) has_sides_ = cell == "on";
    if (line.empty()) has_sides_ = false;
    const bool continues = line.starts_with(' ');
    if (has_sides_ && !continues && cell != "on") {
      return painted(line, begin, cell.size(), cell == "CPU" ? kYellow : kGreen);
    }
    if (line.starts_with("  in:   ") && line.ends_with(')')) {  // explain
      const std::size_t side = line.rfind('(') + 1, size = line.size() - 1 - side;
      return painted(line, side, size, line.substr(side, size) == "CPU" ? kYellow : kGreen);
    }
    const Mark* const mark = mark_of(line);
    if (mark == nullptr) return std::string(line);
    return painted(line, mark->begin.size(), mark->word.find_last_not_of(" :") + 1, mark->colour);
  }

 private:
  static std::string painted(std::string_view line, std::size_t at, std::size_t size,
                             std::string_view colour) {
    std::string text(line);
    text.insert(at + size, kNoColour);
    return text.insert(at, colour);
  }

  bool has_sides_ = false;  // the lines are rows of partitions
};

// ---- tables that are wider than a screen ----

// Tables are found again in the text of a report. The same text goes to files, which have no width, so only what is
// shown on a screen is cut. A half-open range of columns.
struct CellSpan {
  std::size_t begin, end;
};

// What is between two blanks or more, where `used` says which columns of a screen have a letter in some row.
std::vector<CellSpan> cells_of(const std::vector<bool>& used) {
  std::vector<CellSpan> cells;
  for (std::size_t at = 0; at < used.size(); ++at) {
    if (!used[at]) continue;
    // One blank is between words of a cell; two are between cells.
    if (cells.empty() || at > cells.back().end + 1) cells.push_back({at, at});
    cells.back().end = at + 1;
  }
  return cells;
}

std::vector<bool> with_row(std::vector<bool> used, std::string_view row) {
  used.resize(std::max(used.size(), row.size()));
  for (std::size_t at = 0; at < row.size(); ++at) used[at] = used[at] || row[at] != ' ';
  return used;
}

// Rows, and the notes below some of them, which are set in.
struct WideTable {
  std::vector<std::string_view> lines;  // the first has the headings
  std::vector<bool> is_note;
  std::vector<CellSpan> cells;
  std::size_t columns = 0;

  // The table whose headings are in the line: what follows is in it as long as it has the same cells.
  explicit WideTable(std::span<const std::string_view> text) {
    // Only text that is set in this deep is a note of a row; any other text ends the table.
    constexpr std::string_view kSetIn = "      ";
    std::vector<bool> used;
    std::size_t headings = 0;
    for (const std::string_view line : text) {
      // Columns are counted in bytes here. A table with other letters is left whole rather than cut in the wrong place.
      const bool is_plain = std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; });
      if (line.empty() || !is_plain) return;
      std::vector<bool> with = with_row(used, line);
      if (lines.empty()) headings = cells_of(with).size();
      const bool has_cells = cells_of(with_row({}, line)).size() > 1;
      const bool is_row = has_cells && cells_of(with).size() >= headings;
      // With two columns there is nothing to put in parts, and a fact with its value looks like such a table.
      if (headings < 3 || (!is_row && !line.starts_with(kSetIn))) return;
      lines.push_back(line);
      is_note.push_back(!is_row);
      if (!is_row) continue;
      used = std::move(with);
      columns = std::max(columns, line.size());
      cells = cells_of(used);
    }
  }
};

// The table in parts, each with the first cell of each row; notes are in the first part.
std::string in_parts(const WideTable& table, std::size_t columns) {
  std::string text;
  // The first cell is repeated with the blanks behind it, so columns stay where they are.
  const std::size_t first = table.cells[1].begin;
  for (std::size_t begin = 1, end = 1; begin < table.cells.size(); begin = end) {
    const std::size_t from = table.cells[begin].begin;
    // At least one cell in each part, however wide, or it would not end.
    while (end < table.cells.size() &&
           (end == begin || first + table.cells[end].end - from <= columns)) {
      ++end;
    }
    const std::size_t to = end < table.cells.size() ? table.cells[end].begin : table.columns;
    if (begin > 1) text += '\n';
    for (std::size_t i = 0; i < table.lines.size(); ++i) {
      const std::string_view line = table.lines[i];
      if (table.is_note[i] && begin > 1) continue;
      std::string row(line);
      if (!table.is_note[i] && begin > 1) {
        row = line.substr(0, first);
        row.resize(first, ' ');
        row += line.substr(std::min(from, line.size()), to - from);
      } else if (!table.is_note[i]) {
        row = line.substr(0, to);
      }
      row.erase(row.find_last_not_of(' ') + 1);
      text += row + '\n';
    }
  }
  return text;
}

// The text with the tables that are wider than `columns` in parts that are not, where one cell beside the first is
// not wider by itself. Linear.
std::string with_narrow_tables(std::string_view text, std::size_t columns) {
  const std::vector<std::string_view> lines = split_at(text, '\n');
  std::string out;
  for (std::size_t at = 0; at < lines.size();) {
    const WideTable table{std::span<const std::string_view>(lines).subspan(at)};
    const std::size_t count = std::max<std::size_t>(table.lines.size(), 1);
    if (table.lines.size() > 1 && table.columns > columns) {
      out += in_parts(table, columns);
    } else {
      for (std::size_t i = at; i < at + count; ++i) out += std::string(lines[i]) + '\n';
    }
    at += count;
  }
  return out;
}

}  // namespace

std::string shown_on(std::string_view report, const Screen& screen) {
  std::string text(report);
  const std::string_view first = report.substr(0, report.find("\n\n"));
  bool concludes = false;  // the first lines say what the report comes to
  for (const std::string_view line : split_at(first, '\n')) {
    const Mark* const mark = mark_of(line);
    concludes = concludes || (mark != nullptr && mark->is_conclusion);
  }
  if (screen.columns > 0) {
    text = wrapped(with_narrow_tables(text, screen.columns), screen.columns);
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    if (concludes && lines >= screen.rows) {
      text += "\n" + wrapped(first, screen.columns);
    }
  }
  if (!screen.has_colour) return text;
  std::string out;
  Painter painter;
  for (const std::string_view line : split_at(text, '\n')) out += painter.paint(line) + "\n";
  return out;
}

// ---- progress text ----

namespace {

constexpr std::size_t kMostBar = 20;  // columns between the brackets
constexpr std::size_t kLeastBar = 8;

std::string amount_text(double amount, std::string_view unit) {
  const auto whole = static_cast<std::uint64_t>(std::llround(amount));
  return unit == "bytes" ? bytes_text(whole) : count_text(whole);
}

std::string bar_of(double share, std::size_t columns) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(columns));
  return "[" + std::string(full, '#') + std::string(columns - full, '.') + "] ";
}

// "25%, 52 MiB of 208 MiB, 71 MiB/s, 3 s left"
std::string numbers_of(const WorkDone& work, double share, double seconds) {
  const auto done = static_cast<double>(work.done);
  const std::string of_unit = work.unit == "bytes" ? "" : " " + std::string(work.unit);
  std::string text = std::to_string(static_cast<int>(share * 100)) + "%, " +
                     amount_text(done, work.unit) + " of " +
                     amount_text(static_cast<double>(work.total), work.unit) + of_unit;
  if (work.done == 0 || seconds <= 0) return text;
  const double rate = done / seconds;
  const std::string per_second = rate < 10 && work.unit != "bytes"
                                     ? std::to_string(std::lround(rate * 60)) + " a minute"
                                     : amount_text(rate, work.unit) + "/s";
  return text + ", " + per_second + ", " + time_left_text(seconds / share - seconds) + " left";
}

}  // namespace

std::string time_left_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(std::clamp(seconds, 0.0, 1e9)));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return count_text(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

std::string progress_line(const WorkDone& work, std::string_view subject, double seconds,
                          std::size_t columns) {
  const double share =
      work.total == 0
          ? 0
          : std::min(1.0, static_cast<double>(work.done) / static_cast<double>(work.total));
  std::string task(work.task);
  if (!subject.empty()) task += " " + fitted(escaped(subject), 40);
  const std::string numbers = numbers_of(work, share, seconds);
  const std::size_t taken = text_columns(task) + text_columns(numbers) + std::size_t{4};
  if (columns < taken + kLeastBar) {
    return fitted(task + " " + numbers, std::max<std::size_t>(columns, 4));
  }
  return task + " " + bar_of(share, std::min(kMostBar, columns - taken)) + numbers;
}

std::string log_line(const WorkDone& work, std::string_view subject, double seconds) {
  std::string text(work.task.empty() ? "starting" : work.task);
  if (!subject.empty()) text += " " + escaped(subject);
  if (work.total > 0) {
    text += ": " + amount_text(static_cast<double>(work.done), work.unit) + " of " +
            amount_text(static_cast<double>(work.total), work.unit);
    if (work.unit != "bytes") text += " " + std::string(work.unit);
  }
  return text + ", " + time_left_text(seconds) + " so far";
}

// ---- worth words ----

namespace {

std::string_view criterion_name(WorthCriterion::Kind kind) {
  constexpr std::array<std::string_view, 4> kWords = {"speedup", "work", "partitions",
                                                      "flops_per_byte"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::uint64_t whole(double number) { return static_cast<std::uint64_t>(number); }

std::string speedup_text(double speedup) {
  if (speedup < 1) return rate_text(1 / speedup) + " times as slow as the CPU alone";
  return rate_text(speedup) + " times as fast as the CPU alone";
}

std::string criterion_text(const WorthVerdict& verdict, const Coverages& coverage,
                           const WorthCriterion& criterion) {
  const bool is_of_nodes = verdict.basis == WorkBasis::nodes;
  switch (criterion.kind) {
    case WorthCriterion::Kind::speedup:
      return speedup_text(criterion.value);
    case WorthCriterion::Kind::work:
      if (coverage.nodes.acc <= 0) return "nothing is on the accelerator";
      if (criterion.value <= 0) return "none of the work is on the accelerator";
      return (verdict.is_at_least ? "at least " : "") + percent_text(criterion.value) + " of the " +
             (is_of_nodes ? "nodes are" : "work is") + " on the accelerator";
    case WorthCriterion::Kind::partitions:
      return counted(whole(criterion.value), "round trip") + " to the accelerator for " +
             (is_of_nodes ? counted(whole(verdict.acc_work), "node")
                          : flops_text(verdict.acc_work)) +
             (criterion.yes > 0 || criterion.answer != Worth::maybe
                  ? ""
                  : ", less than a call costs (" +
                        (is_of_nodes ? counted(whole(verdict.call_work), "node")
                                     : flops_text(verdict.call_work)) +
                        "): --costs decides");
    case WorthCriterion::Kind::intensity:
      return rate_text(criterion.value) + " FLOPs for each byte over the link";
  }
  return {};
}

std::string_view basis_name(WorkBasis basis) {
  constexpr std::array<std::string_view, 4> kWords = {"flops", "flops_at_first_sizes", "nodes",
                                                      "times"};
  return kWords[static_cast<std::size_t>(basis)];
}

std::string_view answer_word(Worth answer) {
  return answer == Worth::yes ? "YES" : answer == Worth::maybe ? "MAYBE" : "NO";
}

std::string sentence(const Report& report, const WorthVerdict& verdict) {
  std::string text;
  bool is_about_partitions = false;
  if (verdict.other_opset > 0) {
    text = counted(verdict.other_opset, "node") + " on the CPU " +
           (verdict.other_opset == 1 ? "is" : "are") + " refused for the opset alone, " +
           opsets_text(report.graph) +
           ", which was not measured (cleave explain says which it takes)";
  }
  if (verdict.open_sizes > 0) {
    text += (text.empty() ? "" : "; ") + std::string("rules of ") +
            counted(verdict.open_sizes, "node") + " on the CPU fail while sizes are open";
  }
  if (verdict.merged > 0) {
    text += (text.empty() ? "" : "; ") + std::string("ONNX Runtime takes ") +
            counted(verdict.merged, "node") +
            " on the CPU out of the graph first, such as Identity (--as onnxruntime judges so)";
  }
  // What was not measured makes the answer uncertain. The criteria that say no are then told beside it, as they are
  // what those nodes could change.
  const bool is_unmeasured = verdict.other_opset + verdict.open_sizes + verdict.merged > 0;
  const Worth said = is_unmeasured ? Worth::no : verdict.answer;
  for (const WorthCriterion& criterion : verdict.criteria) {
    if (criterion.answer != said) continue;
    is_about_partitions |= criterion.kind == WorthCriterion::Kind::partitions ||
                           criterion.kind == WorthCriterion::Kind::speedup;
    text +=
        (text.empty() ? "" : "; ") + criterion_text(verdict, report.preview.coverage, criterion);
  }
  if (verdict.basis == WorkBasis::flops_at_first && verdict.acc_work > 0) {
    text += " (at " + first_sizes_text(*report.open_sizes) + ")";
  }
  if (verdict.blamed_partitions > 0 && is_about_partitions) {
    const auto& devices = report.split.partition.devices;
    const auto cpu = std::ranges::count(devices, Device::cpu);
    text += "; " + escaped(verdict.blamed) + " alone makes " +
            count_text(verdict.blamed_partitions) + " of " +
            counted(static_cast<std::uint64_t>(cpu), "CPU partition") + " (cleave advise)";
  }
  return text;
}

std::optional<WorthVerdict> judge(const Report& report) {
  return judge_worth({.graph = report.graph,
                      .split = report.split,
                      .preview = report.preview,
                      .lists = report.lists,
                      .facts = report.facts,
                      .time = report.time,
                      .sizes = report.open_sizes,
                      .launch_us = report.options.machine.launch_us});
}

}  // namespace

std::string_view answer_name(Worth answer) {
  return answer == Worth::yes ? "yes" : answer == Worth::maybe ? "maybe" : "no";
}

std::string worth_text(const Report& report) {
  const auto said = verdict_of(report);
  if (!said) return {};
  return "worth it: " + std::string(answer_word(said->verdict.answer)) + ": " + said->why;
}

const Fields<WorthCriterion> kCriterionFields = {
    kOneLine,
    {{"name", [](auto& one) { return criterion_name(one.kind); },
      words("speedup work partitions flops_per_byte")},
     {"value", the<&WorthCriterion::value>},
     {"yes", the<&WorthCriterion::yes>, "The least value of a yes; of partitions the most."},
     {"maybe", the<&WorthCriterion::maybe>, "The same of a maybe."},
     {"answer", [](auto& one) { return answer_name(one.answer); }, words("yes maybe no")}}};

const Fields<VerdictSaid> kVerdictFields = {
    kLines,
    {{"answer", [](auto& said) { return answer_name(said.verdict.answer); }, words("yes maybe no")},
     {"why", the<&VerdictSaid::why>},
     {"basis", [](auto& said) { return basis_name(said.verdict.basis); },
      "What is counted as work: FLOPs, those at the first sizes of `open_sizes`, nodes where FLOPs "
      "are not known; nothing where times are.",
      words("flops flops_at_first_sizes nodes times")},
     {"criteria", the<&VerdictSaid::verdict, &WorthVerdict::criteria>, kCriterionFields}}};

std::optional<VerdictSaid> verdict_of(const Report& report) {
  auto verdict = judge(report);
  if (!verdict) return std::nullopt;
  std::string why = sentence(report, *verdict);
  return VerdictSaid{*std::move(verdict), std::move(why)};
}

}  // namespace cleave
