// The report on parts or stages for people: the result, the table, then what they share.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "core/cost/cost.h"
#include "core/stages/stage_boundary.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/stages/stages_report.h"
#include "formats/report/words/page.h"
#include "formats/report/words/report_values.h"
#include "formats/report/words/value_text.h"

namespace cleave {
namespace {

constexpr std::size_t kMostStages = 64;
constexpr std::size_t kMostOnPage = 10'000;
constexpr std::size_t kWidestName = 24;  // in the tables
constexpr std::size_t kMostShared = 10;

class StagesText {
 public:
  StagesText(const StagesReport& report, std::size_t most_stages)
      : report_(report),
        most_stages_(most_stages),
        graph_(report.graph),
        partition_(report.partition),
        boundaries_(report.boundaries),
        numbers_(report.numbers),
        depends_on_(report.depends_on) {}

  std::string write() {
    write_headline();
    if (report_.balance) {
      write_balanced_stages();
      write_balance();
    } else {
      write_stages();
    }
    if (report_.schedule) page_.add(schedule_text(*report_.schedule));
    write_unknown();
    write_skips();
    write_shared();
    write_passed();
    write_backward();
    page_.add(notes_text(report_.notes));
    return page_.take();
  }
  std::vector<PageTable> tables() { return std::move(tables_); }

 private:
  std::string name_text(PartId part) const { return escaped(partition_.name(part)); }

  void write_headline() {
    const std::string word(report_.part_word);
    page_.line(model_name(report_.model) + ": " + counted(partition_.members.size(), "node") +
               " in " + counted(partition_.count(), word, word + "s"));
    if (!report_.balance) return;
    std::vector<std::string> names;
    for (const PartId part : partition_.parts()) names.push_back(name_text(part));
    page_.lines(balance_conclusions(*report_.balance, names));
  }

  // ---- the table ----

  std::string device_text(PartId part) const {
    const std::string& device = report_.devices[index(part)];
    return device.empty() ? "-" : fitted(escaped(device), 16);
  }

  std::string needs_text(PartId part) const {
    std::vector<std::string> names;
    for (const PartId other : depends_on_[part]) names.push_back(fitted(name_text(other), 24));
    return names.empty() ? "-" : some_of(names, 30);
  }

  // The device follows the name if any stage has one.
  std::vector<std::string> row_of(PartId part) const {
    const PartNumbers& numbers = numbers_.parts[part];
    std::vector<std::string> row = {name_text(part)};
    if (!report_.devices.empty()) row.push_back(device_text(part));
    row.push_back(count_text(partition_.nodes(part).size()));
    row.push_back(work_text(numbers));
    row.push_back(bytes_text(numbers.parameter_bytes));
    row.push_back(crossing_text(graph_, boundaries_.inputs[part], numbers.input_bytes));
    row.push_back(crossing_text(graph_, boundaries_.outputs[part], numbers.output_bytes));
    row.push_back(needs_text(part));
    return row;
  }

  void write_stages() {
    if (partition_.count() == 0) return;
    std::vector<std::string> headings = {std::string(report_.part_word)};
    std::vector<Align> aligns = {Align::left};
    if (!report_.devices.empty()) {
      headings.emplace_back("device");
      aligns.push_back(Align::left);
    }
    for (const char* heading : {"nodes", "work", "parameters", "in", "out"}) {
      headings.emplace_back(heading);
      aligns.push_back(Align::right);
    }
    headings.emplace_back("needs");
    aligns.push_back(Align::left);
    KeptTable table(headings, aligns);
    table.text().wrap_first(kWidestName);
    CappedList list(most_stages_);
    for (const PartId part : partition_.parts()) {
      if (list.shows_next()) table.add_row(row_of(part));
    }
    page_.table(table.text());
    tables_.push_back(table.page());
    page_.rest(list, "... and # more (see --json)");
  }

  void write_balanced_stages() {
    if (partition_.count() == 0) return;
    std::vector<std::string> headings = {std::string(report_.part_word),
                                         "nodes",
                                         "load",
                                         "of the bottleneck",
                                         "parameters",
                                         "memory",
                                         "in",
                                         "out"};
    std::vector<Align> aligns(headings.size(), Align::right);
    aligns[0] = aligns[3] = Align::left;
    if (!report_.devices.empty()) {
      headings.insert(headings.begin() + 1, "device");
      aligns.insert(aligns.begin() + 1, Align::left);
    }
    KeptTable table(headings, aligns);
    table.text().wrap_first(kWidestName);
    CappedList list(most_stages_);
    for (const PartId part : partition_.parts()) {
      if (list.shows_next()) table.add_row(balanced_row(part));
    }
    page_.table(table.text());
    tables_.push_back(table.page());
    page_.rest(list, "... and # more (see --json)");
  }

  std::vector<std::string> balanced_row(PartId part) const {
    const StageBalance& balance = *report_.balance;
    const StageLoad& load = balance.loads[index(part)];
    const PartNumbers& numbers = numbers_.parts[part];
    const bool has_devices = !report_.devices.empty();
    std::vector<std::string> row = {
        name_text(part),
        count_text(partition_.nodes(part).size()),
        amount_text(balance, load.load),
        share_bar(balance, load, has_devices ? 8 : 14),
        bytes_text(numbers.parameter_bytes),
        bytes_text(static_cast<std::uint64_t>(load.memory_bytes.value_or(0))),
        crossing_text(graph_, boundaries_.inputs[part], numbers.input_bytes),
        crossing_text(graph_, boundaries_.outputs[part], numbers.output_bytes)};
    if (has_devices) {
      row.insert(row.begin() + 1, fitted(escaped(report_.devices[index(part)]), 12));
    }
    return row;
  }

  void write_balance() {
    const std::string curve =
        curve_text(*report_.balance, report_.devices.empty() ? "stages" : "devices");
    if (!curve.empty()) page_.add('\n' + curve);
    if (!report_.balance->assumptions.empty()) page_.blank();
    for (const std::string& line : report_.balance->assumptions) page_.add(wrapped(line, 0, 11));
  }

  // The options that would make unknown bytes known.
  void write_unknown() {
    const auto is_unknown = [&](ValueId value) {
      return graph_.value(value).is_tensor() && !value_bytes(graph_, value);
    };
    const auto& inputs = boundaries_.inputs.items;
    const auto& outputs = boundaries_.outputs.items;
    if (std::none_of(inputs.begin(), inputs.end(), is_unknown) &&
        std::none_of(outputs.begin(), outputs.end(), is_unknown)) {
      return;
    }
    const std::string dims = size_options_text(report_.model, graph_);
    if (dims.empty()) return;
    page_.blank();
    page_.line("? is not known: to know more give " + dims);
  }

  // ---- what they share ----

  void write_skips() {
    if (!report_.skips || report_.skips->costs.values == 0) return;
    const SkipCosts& costs = report_.skips->costs;
    const auto sent = [&](std::size_t transfers, std::uint64_t bytes) {
      const bool none_known = costs.unknown_sizes == costs.values;
      return counted(transfers, "transfer") + ", " +
             (none_known ? "size unknown" : bytes_text(bytes)) +
             (!none_known && costs.unknown_sizes > 0 ? "+" : "");
    };
    const std::string direct = sent(costs.direct_transfers, costs.direct_bytes);
    const std::string relay = sent(costs.relay_transfers, costs.relay_bytes);
    page_.heading(counted(costs.values, "value skips", "values skip") + " a stage or more");
    page_.add("  direct  " + direct + (report_.skips->relayed ? "" : "  (chosen)") + '\n');
    page_.add("  relay   " + relay + (report_.skips->relayed ? "  (chosen)" : "") + '\n');
  }

  void write_shared() {
    const std::vector<SharedParameter> shared = find_shared_parameters(graph_, boundaries_);
    if (shared.empty()) return;
    page_.heading(counted(shared.size(), "parameter is", "parameters are") +
                  " copied into several " + std::string(report_.part_word) + "s");
    const auto copy_name = [&](const auto& copy) { return name_text(copy.first); };
    const auto line = [&](const SharedParameter& one) {
      return wrapped(
          escaped(graph_.value(one.parameter).name) + ": " + some_of(one.copies, 80, copy_name), 2,
          4);
    };
    page_.add(capped_list(shared, kMostShared, line, "  ... and # more (see --json)\n", ""));
  }

  // A parameter that its stage passes to others.
  struct Passed {
    ValueId parameter;
    PartId from;
    std::vector<std::string> to;
  };

  // The parameters that are passed on, in the order in which parts first read them.
  std::vector<Passed> find_passed() const {
    std::vector<Passed> passed;
    PerValue<PartId> giver(graph_.value_count(), kNone<PartId>);
    std::map<ValueId, std::size_t> places;
    for (const PartId part : partition_.parts()) {
      for (const ValueId value : boundaries_.inputs[part]) {
        if (!graph_.is_parameter(value) || giver[value] == kNone<PartId>) continue;
        const auto place = places.try_emplace(value, passed.size());
        if (place.second) passed.push_back({value, giver[value], {}});
        passed[place.first->second].to.push_back(name_text(part));
      }
      for (const ValueId value : boundaries_.outputs[part]) giver[value] = part;
    }
    return passed;
  }

  void write_passed() {
    const std::vector<Passed> passed = find_passed();
    if (passed.empty()) return;
    page_.heading(counted(passed.size(), "parameter is", "parameters are") +
                  " passed on by the stage that holds " + (passed.size() == 1 ? "it" : "them"));
    const auto line = [&](const Passed& one) {
      return wrapped(escaped(graph_.value(one.parameter).name) + ": " + name_text(one.from) +
                         " to " + some_of(one.to, 80),
                     2, 4);
    };
    page_.add(capped_list(passed, kMostShared, line, "  ... and # more (see --json)\n", ""));
  }

  void write_backward() {
    if (report_.backward == nullptr) return;
    std::size_t calls = 0;
    for (const auto& step : report_.backward->steps) {
      if (std::holds_alternative<StageBackward>(step)) ++calls;
    }
    const std::size_t sums = report_.backward->steps.size() - calls;
    page_.blank();
    page_.line("backward from " + escaped_in_quotes(graph_.value(report_.backward->loss).name) +
               ": " + counted(calls, "stage") + " called backwards, " +
               counted(sums, "gradient is a sum", "gradients are sums"));
  }

  const StagesReport& report_;
  const std::size_t most_stages_;
  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  const Preview& numbers_;
  const PerPartLists<PartId>& depends_on_;
  Page page_;
  std::vector<PageTable> tables_;
};

}  // namespace

std::string stages_text(const StagesReport& report) {
  return StagesText(report, kMostStages).write();
}

std::vector<PageTable> stages_tables(const StagesReport& report) {
  StagesText whole(report, kMostOnPage);
  whole.write();
  return whole.tables();
}

}  // namespace cleave
