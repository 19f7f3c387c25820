// A list holds the regions left to search; a culprit puts the rest of its region back on it. Every
// region is convex: the partition is; the descendants of an item within a convex set are; and so is
// the rest, since no path enters it from them.
#include "core/lowering/search.h"

#include <optional>
#include <utility>

#include "core/lowering/failing_prefix.h"
#include "core/lowering/hints.h"
#include "core/lowering/minimize.h"

namespace cleave {
namespace {

struct Region {
  ItemSet items;
  Remedies remedies = {};
  std::size_t good = 0;  // number of first items known to pass together
};

// An item that may be to blame.
struct Suspect {
  std::uint32_t item;
  FoundBy by;
  std::string signature;  // how it must fail alone; empty: in any way
  std::size_t good = 0;   // number of items before it in the region known to pass together
};

class Search {
 public:
  Search(const FailedPartition& failed, const Oracle& oracle, const SearchOptions& options)
      : order_(failed.order),
        options_(options),
        names_(failed.graph, nodes_of(failed.order, all_items(failed.order))),
        questions_(order_, names_, oracle, options.limits),
        hints_(failed.graph, failed.order) {
    Region whole{.items = all_items(order_), .remedies = failed.remedies};
    questions_.know(whole.items, whole.remedies, failed.answer);
    regions_.push_back(std::move(whole));
  }

  SearchResult run() {
    result_.is_complete = true;
    while (!regions_.empty()) {
      if (result_.findings.size() >= options_.most_findings || questions_.is_spent()) {
        result_.is_complete = false;
        break;
      }
      const Region region = std::move(regions_.back());
      regions_.pop_back();
      look_into(region);
    }
    result_.runs = questions_.runs();
    return std::move(result_);
  }

 private:
  void look_into(const Region& region) {
    const JudgedAnswer failure = questions_.ask(region.items, region.remedies);
    if (failure.passes()) return;
    if (!failure.fails()) {
      result_.is_complete = false;
      return;
    }
    if (is_cured(region)) return;
    if (find_alone(region, failure) || options_.effort == SearchEffort::hint) return;
    // If the failure changes with the cut, any failure is accepted.
    if (!find_by_prefix(region, failure.signature) && !find_by_prefix(region, {})) {
      report(region, failure, {.kind = FindingKind::unexplained, .within = nodes(region.items)});
      result_.is_complete = false;
    }
  }

  std::vector<NodeId> nodes(const ItemSet& items) const { return nodes_of(order_, items); }

  void report(const Region& region, const JudgedAnswer& failure, Finding finding) {
    if (finding.kind != FindingKind::remedy) finding.remedies = region.remedies;
    finding.signature = failure.signature;
    finding.how = failure.answer.how;
    finding.message = failure.answer.message;
    finding.runs = questions_.runs();
    result_.findings.push_back(std::move(finding));
  }

  // ---- hypotheses ----

  // The first remedy, beyond those that the region has, with which the items pass.
  std::optional<Remedies> cure_of(const ItemSet& items, const Remedies& present) {
    for (const Remedies& hypothesis : options_.hypotheses) {
      const Remedies tried = present | hypothesis;
      if (tried == present) continue;
      if (questions_.ask(items, tried).passes()) return tried;
    }
    return std::nullopt;
  }

  bool is_cured(const Region& region) {
    const auto cure = cure_of(region.items, region.remedies);
    if (!cure) return false;
    report(region, questions_.ask(region.items, region.remedies),
           {.kind = FindingKind::remedy,
            .by = FoundBy::hypothesis,
            .nodes = nodes(region.items),
            .within = nodes(region.items),
            .remedies = *cure});
    return true;
  }

  // ---- one item alone ----

  bool find_alone(const Region& region, const JudgedAnswer& failure) {
    if (options_.is_known_culprit) {
      for (const std::uint32_t item : region.items) {
        if (!options_.is_known_culprit(order_.first_node(item))) continue;
        if (accept_alone(region, {item, FoundBy::known, failure.signature})) return true;
      }
    }
    std::size_t asked = 0;
    for (const std::uint32_t item : hints_.in(failure.answer.message, region.items)) {
      if (asked == options_.most_hints) break;
      if (questions_.has_passed(item, region.remedies)) continue;
      ++asked;
      if (accept_alone(region, {item, FoundBy::hint, failure.signature})) return true;
    }
    return false;
  }

  // Asks about the item alone. If it fails as required, it is reported, and the rest of the region
  // is put back on the list.
  bool accept_alone(const Region& region, const Suspect& suspect) {
    const ItemSet alone = {suspect.item};
    const JudgedAnswer& answer = questions_.ask(alone, region.remedies);
    if (judge(answer, suspect.signature) != Judgement::same) return false;
    const bool is_new = suspect.by != FoundBy::known;
    if (is_new && !is_confirmed(alone, region.remedies)) {
      report_flaky(region, answer, alone);
      return true;
    }
    Finding finding{.kind = FindingKind::culprit,
                    .by = suspect.by,
                    .nodes = nodes(alone),
                    .within = nodes(alone),
                    .is_minimal = true};
    const auto cure = cure_of(alone, region.remedies);
    if (cure) {
      finding.kind = FindingKind::remedy;
      finding.remedies = *cure;
      regions_.push_back({.items = region.items, .remedies = *cure});
    } else {
      leave(region, suspect.item, suspect.good);
    }
    report(region, answer, std::move(finding));
    return true;
  }

  void report_flaky(const Region& region, const JudgedAnswer& answer, const ItemSet& items) {
    report(region, answer, {.kind = FindingKind::flaky, .within = nodes(items)});
    result_.is_complete = false;
  }

  // True when the piece fails each time it is asked again. The message may be another: some hold a
  // time, an address, or what another thread came upon first.
  bool is_confirmed(const ItemSet& items, const Remedies& remedies) {
    for (std::uint32_t attempt = 1; attempt <= options_.confirmations; ++attempt) {
      if (!questions_.ask_again(items, remedies, attempt).fails()) return false;
    }
    return true;
  }

  // Puts back the region without the item: its descendants, and the others, of which `good` are
  // known to pass. The others are searched first.
  void leave(const Region& region, std::uint32_t item, std::size_t good) {
    ItemSet below = descendants_of(order_, region.items, item);
    ItemSet taken = below;
    taken.insert(taken.begin(), item);
    ItemSet others = without(region.items, taken);
    if (!below.empty()) regions_.push_back({std::move(below), region.remedies});
    if (others.size() > good) regions_.push_back({std::move(others), region.remedies, good});
  }

  // ---- prefixes ----

  bool find_by_prefix(const Region& region, const std::string& signature) {
    const FailingPrefix prefix = smallest_failing_prefix(
        questions_, {region.items, region.remedies, signature, region.good});
    const std::uint32_t last = region.items[prefix.length - 1];
    const std::size_t good = prefix.is_sharp ? prefix.length - 1 : region.good;
    if (accept_alone(region, {last, FoundBy::prefix, signature, good})) return true;
    if (!prefix.is_sharp) return false;
    const ItemSet items = prefix_of(region.items, prefix.length);
    const JudgedAnswer answer = questions_.ask(items, region.remedies);
    Finding finding{.kind = FindingKind::together, .nodes = nodes({last}), .within = nodes(items)};
    if (options_.effort == SearchEffort::minimal) minimize(region, signature, items, finding);
    // A smaller set that fails in the same way has already reproduced the failure.
    const bool is_reproduced = finding.within.size() < nodes(items).size();
    if (!is_reproduced && !is_confirmed(items, region.remedies)) {
      report_flaky(region, answer, items);
      return true;
    }
    report(region, answer, std::move(finding));
    leave(region, last, good);
    return true;
  }

  void minimize(const Region& region, const std::string& signature, const ItemSet& items,
                Finding& finding) {
    const auto fails = [&](const ItemSet& set) {
      return judge(questions_.ask(set, region.remedies), signature) == Judgement::same;
    };
    const Minimized least = smallest_failing_set(order_, items, fails);
    finding.by = FoundBy::reduction;
    finding.nodes = nodes(least.items);
    finding.within = finding.nodes;
    finding.is_minimal = least.is_minimal && !questions_.is_spent();
  }

  const ItemOrder& order_;
  const SearchOptions& options_;
  MessageNames names_;
  Questions questions_;
  Hints hints_;
  std::vector<Region> regions_;  // still to be searched; the last one is next
  SearchResult result_;
};

}  // namespace

SearchResult search_culprits(const FailedPartition& failed, const Oracle& oracle,
                             const SearchOptions& options) {
  return Search(failed, oracle, options).run();
}

}  // namespace cleave
