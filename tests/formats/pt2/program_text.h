// Programs of torch.export archives for tests, built line by line: user inputs x and y, state, and
// nodes "result = op(argument, ...)" of aten's operators, or of others by their full names,
// "=torch.ops.mine.op.default". Arguments are named self, other, ... in
// turn; "alpha={"as_int":2}" is a keyword with that JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/split/split.h"
#include "formats/pt2/pt2.h"

namespace cleave {

class ProgramText {
 public:
  ProgramText& node(const std::string& result, const std::string& op,
                    const std::vector<std::string>& arguments,
                    const std::vector<std::string>& more_results = {});
  // The type of a value: one dim of this size, an expression as sympy writes it.
  ProgramText& size(const std::string& name, const std::string& expression);
  // The type of a value: a tensor of these sizes and strides.
  ProgramText& strided(const std::string& name, const std::vector<std::int64_t>& sizes,
                       const std::vector<std::int64_t>& strides);
  // A node that makes the number `name` of x, and that number as sympy writes it.
  ProgramText& number(const std::string& name, const std::string& expression);
  // The range of a symbol, as JSON.
  ProgramText& range(const std::string& symbol, const std::string& json);
  // State that the program takes as the value `name`.
  ProgramText& parameter(const std::string& name, const std::string& target);
  ProgramText& buffer(const std::string& name, const std::string& target);
  // After a run the buffer `target` is `value`.
  ProgramText& mutation(const std::string& value, const std::string& target);
  // The calls of modules precede the graph in the document.
  ProgramText& modules_first();

  // The document with these outputs of the user.
  std::string json(const std::vector<std::string>& outputs) const;
  // The model with these outputs of the user; fails the test when it cannot be read. It is valid
  // until the next call.
  const Pt2Model& model(const std::vector<std::string>& outputs);

 private:
  std::string nodes_, types_, numbers_, ranges_, state_, state_specs_, mutated_, mutation_specs_;
  bool has_modules_first_ = false;
  std::string text_;
  Pt2Model model_;
};

// The nodes "a b | c" in parts "part0" and "part1".
Partition partition_of(const Pt2Model& model, const std::string& nodes);

}  // namespace cleave
