// The files of a split TensorFlow Lite model as tables: a partition, the root, the file that makes
// the first values of the state.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/models/tflite/write/out_table.h"
#include "formats/models/tflite/write/split_plan.h"

namespace cleave {

// Puts a new model together from parts of the one that was read: subgraphs with some of its
// operators, and only the tensors, buffers and operator codes that these use, renumbered.

// A subgraph that is being filled.
class OutSubgraph {
 public:
  explicit OutSubgraph(std::string name) : name_(std::move(name)) {}

 private:
  friend class FileBuilder;
  std::string name_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int32_t> numbers_;  // of source tensors
  std::vector<OutTable> tensors_, operators_;
  std::vector<std::int32_t> inputs_, outputs_;
  std::vector<std::pair<std::string, std::int32_t>> input_names_, output_names_;
};

class FileBuilder {
 public:
  using SubgraphId = std::uint32_t;
  FileBuilder(const TfliteModel& source, std::string description);

  SubgraphId add_subgraph(std::string name);

  // The number, in `to`, of a tensor of the source's subgraph `from`; adds it when it is new, with
  // its data if it has any.
  std::int32_t tensor(SubgraphId to, std::uint32_t from, std::uint32_t number);
  // A tensor of its own with that name, though another of the same source may be there.
  std::int32_t add_named_tensor(SubgraphId to, std::uint32_t from, std::uint32_t number,
                                std::string_view name);
  // Makes `of` another name of the tensor `same`, both of the model's subgraph.
  void set_same(SubgraphId to, std::uint32_t of, std::uint32_t same);

  // Adds operator `number` of the source's subgraph `from`, and the subgraphs that it calls. With
  // `filter`, which is asked for each of their operators, these have only some, and are not shared
  // with operators that are added later.
  using BodyFilter = std::function<bool(std::uint32_t subgraph, const TfliteOperator& op)>;
  void add_operator(SubgraphId to, std::uint32_t from, std::uint32_t number,
                    const BodyFilter& filter = {});
  // Adds an operator that calls `part` as a composite of that name.
  void add_composite(SubgraphId to, SubgraphId part, const std::string& name,
                     std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs);
  void add_input(SubgraphId to, std::int32_t tensor, std::string_view name);
  void add_output(SubgraphId to, std::int32_t tensor, std::string_view name);

  // Adds a signature with the names that inputs and outputs were added under.
  void add_signature(SubgraphId of, std::string_view key);

  OutTable finish() &&;

 private:
  OutTable operator_table(SubgraphId to, std::uint32_t from, const TfliteOperator& op);
  std::vector<std::int32_t> numbers_of(SubgraphId to, std::uint32_t from, const FlatInts& tensors);
  OutTable options_of(const TfliteOperator& op, const std::vector<TfliteBody>& bodies);
  std::int32_t body(std::uint32_t subgraph);
  void fill_bodies(const BodyFilter& filter);
  std::int64_t code(std::uint32_t source);
  std::int64_t buffer(std::uint32_t source);
  std::int64_t buffer_of(const TfliteTensor& tensor);
  std::int64_t add_buffer(const TfliteBytes& bytes);
  void add_metadata();

  const TfliteModel& source_;
  std::string description_;
  std::vector<OutSubgraph> subgraphs_;
  std::vector<OutTable> codes_, buffers_, signatures_, metadata_;
  std::vector<std::uint32_t> code_numbers_, buffer_numbers_, body_numbers_;  // by source number
  std::map<std::uint32_t, std::int64_t> external_numbers_;                   // by id
  std::vector<std::uint32_t> open_bodies_;                                   // not filled yet
  std::int64_t composite_code_ = -1;
};

// One partition: its operators, between them reads and writes of the variables that it keeps.
OutTable tflite_part(const TfliteModel& model, const TflitePart& part, const std::string& name,
                     const std::string& description);

// Whether a partition can be a composite of the root. LiteRT wants a composite to have inputs and
// outputs, made by its operators, and sets variable tensors inside it to zeros in each call. Sizes that it
// finds before a call (SHAPE, RANK) do not come out of a composite: what reads them there gets other numbers.
bool can_be_composite(const TfliteModel& model, const TflitePart& part);

// The whole model: a main subgraph that calls each partition as a composite, "cleave.<name>", with
// the partition as its decomposition. Operators of partitions that cannot be one are in the main
// subgraph itself. It keeps all state as the model does. `plan` has no native variables.
OutTable tflite_root(const TfliteModel& model, const TflitePlan& plan,
                     const std::vector<std::string>& names, const std::string& description);

// Those of `variables` that the model sets up, in this order; empty if there is none.
std::vector<std::uint32_t> variables_with_start(const TfliteModel& model,
                                                const std::vector<std::uint32_t>& variables);

// A model without inputs whose outputs are the first values of these variables, under the names
// that the partitions have for them.
OutTable tflite_init(const TfliteModel& model, const std::vector<std::uint32_t>& variables,
                     const std::string& description);

// All partitions in one file, and the first values of the state if there are any: a subgraph for
// each, with a signature of its name. No subgraph calls the others.
OutTable tflite_bundle(const TfliteModel& model, const TflitePlan& plan,
                       const std::vector<std::string>& names, const TfliteInit& init,
                       const std::string& description);

}  // namespace cleave
