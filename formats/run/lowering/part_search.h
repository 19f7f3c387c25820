// PartSearch: the culprit search on one partition that a backend does not lower, with the remedies
// that may help it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "formats/run/lowering/lowering_pool.h"

namespace cleave {

enum class CulpritSearch : std::uint8_t { none, hint, node, minimal };

struct SearchSettings {
  CulpritSearch culprits = CulpritSearch::node;
  std::size_t most_findings = 5;
  std::size_t most_runs = 64;   // of the backend, for one partition
  double most_seconds = 0;      // for one partition; 0: no limit
  bool pins_shapes = true;      // needs a reference
  bool freezes_values = false;  // needs a reference
  bool assumes_sizes = false;   // of open inputs, to pin shapes without a reference
};

// A partition that failed, and how it failed.
struct PartFailure {
  LoweredPart& part;
  const PieceResult& result;
};

struct PartFindings {
  std::vector<LowerFinding> findings;  // round is not set
  bool is_remedied = false;            // the partition as a whole compiles with a remedy
  bool blames_nothing = false;  // values differ, and no node is to blame: it says nothing of others
};

// The result as an answer to the culprit search.
Answer answer_of(const PieceResult& result);

class PartSearch {
 public:
  // All must outlive this. `asked` is called before each question with the number of backend runs.
  PartSearch(const Graph& graph, LoweringPool& pool, const SearchSettings& settings)
      : graph_(graph), pool_(pool), settings_(settings) {}

  // Searches for culprits. If a remedy works, the part gets its result. Call it in a job of `lane`.
  //
  // With assumed sizes a part only compiles if the model gets such sizes: it needs them, and is not
  // lowered.
  PartFindings search(const PartFailure& failed, std::size_t lane,
                      const std::function<void(std::size_t runs)>& asked) const;

 private:
  PartFindings take_left(const PartFailure& failed, PieceLowerer& lowerer) const;
  bool may_pin() const;
  void drop_if_assumed(Finding& finding, const Oracle& plain) const;
  void drop_if_untyped(Finding& finding) const;
  void mark_open(LowerFinding& found) const;
  void change_cuts(FailedPartition& partition, const Oracle& oracle) const;
  void confirm(const LoweredPart& part, PieceLowerer& lowerer, PartFindings& found) const;
  static void take_second_try(LoweredPart& part, PieceLowerer& lowerer, const PartFindings& found);
  static bool fails_again(Piece piece, std::uint32_t times, PieceLowerer& lowerer);
  std::vector<Remedies> hypotheses(std::size_t backend) const;
  bool take_remedy(LoweredPart& part, Finding& finding, PieceLowerer& lowerer) const;

  const Graph& graph_;
  LoweringPool& pool_;
  const SearchSettings& settings_;
};

}  // namespace cleave
