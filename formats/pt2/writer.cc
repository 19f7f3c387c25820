// Writes the parts of a split program.

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/base/process.h"
#include "formats/pt2/internal.h"
#include "formats/pt2/pt2.h"

namespace cleave {

// ---- split plan ----
//
// Steps, each of which needs the ones before:
//   1. the order of the partitions, by data and by in-place writes
//   2. checks, constants and repeated nodes, then what each partition reads and does not make
//   3. which state is native and which the caller keeps
//   4. outputs: what other partitions, mutations and the program's outputs read
//   5. inputs, those from the archive first, each kind in the program's order

namespace {

constexpr std::string_view kWayOut =
    "decompose the program before it is saved, which makes it functional: "
    "ep = ep.run_decompositions({})";

class SplitPlanner {
 public:
  SplitPlanner(const Pt2Model& model, const Partition& partition)
      : model_(model), program_(model.program), effects_(model.effects), partition_(partition) {
    const std::size_t count = program_.nodes.size();
    part_of_.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const NodeId node = model.placed(i);
      part_of_[i] = node == kNone<NodeId> ? kNone<PartId> : partition.part_of[node];
      is_piece_ = is_piece_ || (node != kNone<NodeId> && part_of_[i] == kNone<PartId>);
    }
    bodies_.resize(partition.count());
    needs_.resize(partition.count());
    outputs_.resize(partition.count());
    is_output_.resize(partition.count());
    rank_.resize(partition.count());
    plan_of_.resize(partition.count());
  }

  Result<Pt2Plan> plan() {
    check_tokens();
    check_whole();
    if (!is_bad()) order_parts();
    if (!is_bad()) place_checks();
    if (!is_bad()) repeat_nodes();
    if (!is_bad()) find_state();
    if (!is_bad()) find_outputs();
    if (!is_bad()) find_inputs();
    if (is_bad()) return std::move(error_);
    Pt2Plan plan{.state = state_, .mutations = std::move(mutations_)};
    for (const std::uint32_t part : order_) plan.parts.push_back(std::move(plan_of_[part]));
    return plan;
  }

 private:
  using Part = std::uint32_t;

  bool is_bad() const { return !error_.message.empty(); }
  void fail(std::string message, std::vector<std::string> notes = {}) {
    if (!is_bad()) error_ = {std::move(message), std::nullopt, std::move(notes)};
  }
  Part part_of(std::uint32_t node) const { return index(part_of_[node]); }
  bool has_part(std::uint32_t node) const { return part_of_[node] != kNone<PartId>; }
  std::string name_of(Part part) const { return escaped_in_quotes(partition_.names[part]); }
  std::string value_name(std::uint32_t value) const {
    return escaped_in_quotes(program_.values[value].name);
  }
  const Pt2Input* input_of(std::uint32_t value) const {
    const std::uint32_t input = program_.values[value].input;
    return input == kNoPt2 ? nullptr : &program_.inputs[input];
  }
  bool is_from_archive(std::uint32_t value) const {
    const Pt2Input* const input = input_of(value);
    return input != nullptr && is_lifted(input->kind);
  }

  // Calls visit(value) for each value that the node reads.
  void each_read(std::uint32_t number, const auto& visit) const {
    each_ref(program_, program_.nodes[number], [&](std::uint32_t r) {
      if (!model_.known_sizes.contains(effects_.read_as[r])) visit(effects_.read_as[r]);
    });
  }

  void check_tokens() {
    for (const Pt2Input& input : program_.inputs) {
      if (input.kind != Pt2InputKind::token) continue;
      fail(
          "the program passes tokens, which order its effects: no partition can take one as an "
          "input",
          {"save it before it is decomposed, or without operators that have effects"});
    }
  }

  void check_whole() {
    for (const Pt2Whole& whole : effects_.whole) {
      const std::vector<std::uint32_t>& nodes = whole.nodes;
      const auto first = std::ranges::find_if(nodes, [&](std::uint32_t n) { return has_part(n); });
      if (first == nodes.end()) continue;
      const auto is_elsewhere = [&](std::uint32_t node) {
        return has_part(node) && part_of_[node] != part_of_[*first];
      };
      const auto other = std::ranges::find_if(nodes, is_elsewhere);
      if (other == nodes.end()) continue;
      const auto name = [&](std::uint32_t node) {
        return escaped_in_quotes(program_.nodes[node].name);
      };
      return fail(whole_text(whole) + " are in several partitions, " + name_of(part_of(*first)) +
                      " and " + name_of(part_of(*other)) + ": " +
                      capped_list(nodes, 6, name, ", ..."),
                  whole.is_vmap ? std::vector<std::string>()
                                : std::vector<std::string>{std::string(kWayOut)});
    }
  }

  // Parts in call order: of the ready ones, the one whose first node is first.
  void order_parts() {
    const auto count = static_cast<Part>(partition_.count());
    std::vector<std::vector<Part>> next(count);
    std::vector<std::uint32_t> waits(count, 0), first(count, kNoPt2);
    std::set<std::pair<Part, Part>> edges;
    const auto add = [&](std::uint32_t from, std::uint32_t to) {
      if (!has_part(from) || !has_part(to) || part_of_[from] == part_of_[to]) return;
      if (!edges.emplace(part_of(from), part_of(to)).second) return;
      next[part_of(from)].push_back(part_of(to));
      ++waits[part_of(to)];
    };
    for (std::uint32_t i = 0; i < part_of_.size(); ++i) {
      if (!has_part(i)) continue;
      bodies_[part_of(i)].push_back(i);
      first[part_of(i)] = std::min(first[part_of(i)], i);
      each_read(i, [&](std::uint32_t value) {
        const std::uint32_t maker = program_.values[value].maker;
        if (maker != kNoPt2) add(maker, i);
      });
    }
    for (const Pt2Order& order : effects_.order) add(order.before, order.after);
    using Ready = std::pair<std::uint32_t, Part>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (Part part = 0; part < count; ++part) {
      if (waits[part] == 0) ready.emplace(first[part], part);
    }
    while (!ready.empty()) {
      const Part part = ready.top().second;
      ready.pop();
      rank_[part] = static_cast<std::uint32_t>(order_.size());
      order_.push_back(part);
      for (const Part follower : next[part]) {
        if (--waits[follower] == 0) ready.emplace(first[follower], follower);
      }
    }
    if (order_.size() == count) return;
    for (const Pt2Order& order : effects_.order) {
      const bool is_stuck = has_part(order.before) && has_part(order.after) &&
                            part_of_[order.before] != part_of_[order.after] &&
                            waits[part_of(order.before)] > 0 && waits[part_of(order.after)] > 0;
      if (is_stuck) return fail_to_order(order);
    }
    fail("partitions wait for each other");
  }

  void fail_to_order(const Pt2Order& order) {
    const auto node = [&](std::uint32_t number) {
      return "node " + escaped_in_quotes(program_.nodes[number].name);
    };
    fail("partitions " + name_of(part_of(order.before)) + " and " + name_of(part_of(order.after)) +
             " wait for each other: " + node(order.before) + " must run before " +
             node(order.after) + ", since both use " + shared_memory_text(model_, order),
         order.value == kNoPt2 ? std::vector<std::string>()
                               : std::vector<std::string>{std::string(kWayOut)});
  }

  // A check goes to the last part that makes what it reads; one that reads only what the program is
  // given, to the first that reads that, too.
  void place_checks() {
    if (order_.empty()) return;
    for (std::uint32_t i = 0; i < part_of_.size(); ++i) {
      if (model_.roles[i] != Pt2Role::check) continue;
      Part home = kNoPt2;
      bool is_made_outside = false;
      each_read(i, [&](std::uint32_t value) {
        const std::uint32_t maker = program_.values[value].maker;
        if (maker == kNoPt2 || model_.roles[maker] == Pt2Role::constant) return;
        is_made_outside = is_made_outside || !has_part(maker);
        if (!has_part(maker)) return;
        if (home == kNoPt2 || rank_[part_of(maker)] > rank_[home]) home = part_of(maker);
      });
      if (is_made_outside) continue;
      if (home == kNoPt2) home = first_part_that_reads(i);
      if (home == kNoPt2) continue;
      part_of_[i] = id_at<PartId>(home);
      bodies_[home].push_back(i);
    }
  }

  // The first part that reads a value that the check reads; else the first part, or none of a piece.
  Part first_part_that_reads(std::uint32_t check) {
    if (first_reader_.empty()) {
      first_reader_.resize(program_.values.size(), kNoPt2);
      for (const Part part : order_) {
        for (const std::uint32_t node : bodies_[part]) {
          each_read(node, [&](std::uint32_t value) {
            if (first_reader_[value] == kNoPt2) first_reader_[value] = part;
          });
        }
      }
    }
    Part first = is_piece_ ? kNoPt2 : order_.front();
    each_read(check, [&](std::uint32_t value) {
      if (first_reader_[value] != kNoPt2) first = first_reader_[value];
    });
    return first;
  }

  bool can_cross(std::uint32_t value) const {
    const Pt2ValueKind kind = program_.values[value].kind;
    return kind == Pt2ValueKind::tensor || kind == Pt2ValueKind::sym_int;
  }

  // What a part reads and does not make, each once; makers of values that cannot cross join the
  // part.
  void repeat_nodes() {
    for (Part part = 0; part < bodies_.size() && !is_bad(); ++part) {
      std::vector<std::uint32_t>& body = bodies_[part];
      std::unordered_set<std::uint32_t> here(body.begin(), body.end());
      std::unordered_set<std::uint32_t> seen;
      Pt2Part& plan = plan_of_[part];
      std::vector<std::uint32_t> constants;
      for (std::size_t i = 0; i < body.size(); ++i) {
        each_read(body[i], [&](std::uint32_t value) {
          const std::uint32_t maker = program_.values[value].maker;
          if (maker != kNoPt2 && here.contains(maker)) return;
          if (maker != kNoPt2 && model_.roles[maker] == Pt2Role::constant) {
            here.insert(maker);
            constants.push_back(maker);
          } else if (maker == kNoPt2 || can_cross(value)) {
            seen.insert(value);
          } else if (program_.values[value].kind == Pt2ValueKind::custom_obj) {
            fail("part " + name_of(part) + " reads " + value_name(value) +
                 ", an object that a node of another partition makes: objects cannot cross");
          } else {
            here.insert(maker);
            plan.repeated.push_back(maker);
          }
        });
        if (i + 1 < body.size()) continue;
        append_new(plan.repeated, body);
        append_new(constants, body);
      }
      std::ranges::sort(body);
      std::ranges::sort(plan.repeated);
      for (const std::uint32_t value : seen) {
        const std::uint32_t maker = program_.values[value].maker;
        if (maker == kNoPt2 || !here.contains(maker)) needs_[part].push_back(value);
      }
      std::ranges::sort(needs_[part],
                        [this](std::uint32_t a, std::uint32_t b) { return comes_before(a, b); });
    }
    for (const Part part : order_) {
      for (const std::uint32_t value : needs_[part]) readers_[value].push_back(part);
    }
  }

  // Adds the nodes that joined since the last call; their reads are examined, too.
  static void append_new(const std::vector<std::uint32_t>& joined,
                         std::vector<std::uint32_t>& body) {
    std::unordered_set<std::uint32_t> known(body.begin(), body.end());
    for (const std::uint32_t node : joined) {
      if (known.insert(node).second) body.push_back(node);
    }
  }

  // Inputs of the program first, in its order; then by maker and result.
  bool comes_before(std::uint32_t a, std::uint32_t b) const {
    const Pt2Value& left = program_.values[a];
    const Pt2Value& right = program_.values[b];
    if (left.input != right.input) return left.input < right.input;
    if (left.maker != right.maker) return left.maker < right.maker;
    return a < b;
  }

  static std::string_view mutation_of(Pt2OutputKind kind) {
    switch (kind) {
      case Pt2OutputKind::buffer_mutation:
        return "buffer";
      case Pt2OutputKind::parameter_mutation:
        return "parameter";
      case Pt2OutputKind::user_input_mutation:
        return "user_input";
      default:
        return {};
    }
  }

  // The input that a mutation writes; kNoPt2 when it names none.
  std::uint32_t target_of(const Pt2Output& output) const {
    const bool is_user = output.kind == Pt2OutputKind::user_input_mutation;
    for (const Pt2Input& input : program_.inputs) {
      if (input.value == kNoPt2) continue;
      const bool fits = is_user ? input.kind == Pt2InputKind::user_input &&
                                      program_.values[input.value].name == output.target
                                : is_lifted(input.kind) && input.target == output.target;
      if (fits) return input.value;
    }
    return kNoPt2;
  }

  bool is_native(const Pt2Output& output, std::uint32_t target) const {
    const std::uint32_t maker = program_.values[output.refs.front().value].maker;
    if (maker == kNoPt2 || !has_part(maker)) return false;
    const auto found = readers_.find(target);
    return found == readers_.end() || std::ranges::all_of(found->second, [&](Part reader) {
             return reader == part_of(maker);
           });
  }

  // Finds the state that the caller keeps: what a mutation, or an in-place write of another part,
  // changes.
  void find_state() {
    for (std::uint32_t i = 0; i < program_.outputs.size(); ++i) {
      const Pt2Output& output = program_.outputs[i];
      if (mutation_of(output.kind).empty() || is_made_elsewhere(output)) continue;
      const std::uint32_t target = target_of(output);
      if (target == kNoPt2)
        return fail("the signature mutates " + escaped_in_quotes(output.target) +
                    ", which is not an input of the program");
      if (is_native(output, target)) {
        const Part part = part_of(program_.values[output.refs.front().value].maker);
        plan_of_[part].native_mutations.push_back(i);
        extra_needs_[part].insert(target);
        native_.insert(i);
      } else if (output.kind != Pt2OutputKind::user_input_mutation) {
        held_.insert(target);
      }
    }
    for (const Pt2WrittenInput& written : effects_.written_inputs) {
      if (parts_of(written).size() > 1 && is_from_archive(written.value)) {
        held_.insert(written.value);
      }
    }
  }

  // Whether an output is a constant, or a piece of the program does not make it.
  bool is_made_elsewhere(const Pt2Output& output) const {
    if (output.refs.empty()) return true;
    const std::uint32_t maker = program_.values[effects_.newest[output.refs.front().value]].maker;
    return is_piece_ && (maker == kNoPt2 || !has_part(maker));
  }

  std::set<Part> parts_of(const Pt2WrittenInput& written) const {
    std::set<Part> parts;
    for (const std::uint32_t node : written.nodes) {
      if (has_part(node)) parts.insert(part_of(node));
    }
    return parts;
  }

  void add_output(Part part, std::uint32_t value) {
    if (is_output_[part].insert(value).second) outputs_[part].push_back(value);
  }

  // Makes sure that the caller gets the value, from the part that makes it, or, for a value in an
  // archive, from a part that returns it.
  void hand_out(std::uint32_t value) {
    const std::uint32_t maker = program_.values[value].maker;
    if (maker != kNoPt2) {
      if (has_part(maker)) add_output(part_of(maker), value);
      return;
    }
    if (!is_from_archive(value) || held_.contains(value) || !handed_on_.insert(value).second) {
      return;
    }
    const Part part = part_to_hand_on(value);
    extra_needs_[part].insert(value);
    add_output(part, value);
  }

  Part part_to_hand_on(std::uint32_t value) const {
    for (const Pt2WrittenInput& written : effects_.written_inputs) {
      if (written.value == value) return part_of(written.last_writer);
    }
    const auto found = readers_.find(value);
    return found == readers_.end() ? order_.front() : found->second.front();
  }

  void find_outputs() {
    if (order_.empty()) return;
    for (const Part part : order_) {
      for (const std::uint32_t value : needs_[part]) {
        if (program_.values[value].maker != kNoPt2) hand_out(value);
      }
    }
    for (const Pt2Rewrite& rewrite : effects_.rewrites) hand_out_again(rewrite);
    for (std::uint32_t i = 0; i < program_.outputs.size(); ++i) add_mutation(i);
    for (const Pt2WrittenInput& written : effects_.written_inputs) add_written(written);
    for (const Pt2Part& part : plan_of_) note_native_inputs(part);
    for (std::uint32_t i = 0; i < part_of_.size() && is_piece_; ++i) {
      if (has_part(i) || model_.roles[i] != Pt2Role::node) continue;
      each_read(i, [&](std::uint32_t value) {
        const std::uint32_t maker = program_.values[value].maker;
        if (maker != kNoPt2 && has_part(maker)) hand_out(value);
      });
    }
    for (const Pt2Output& output : program_.outputs) {
      if (!mutation_of(output.kind).empty() || is_made_elsewhere(output)) continue;
      for (const Pt2Ref& ref : output.refs) hand_out(effects_.newest[ref.value]);
    }
    for (const Pt2Input& input : program_.inputs) {
      if (input.value != kNoPt2 && held_.contains(input.value)) state_.push_back(input.value);
    }
  }

  // A value that comes from outside the part that writes it: later parts get it from that one.
  void hand_out_again(const Pt2Rewrite& rewrite) {
    if (!has_part(rewrite.node)) return;
    const Part writer = part_of(rewrite.node);
    const std::uint32_t maker = program_.values[rewrite.value].maker;
    if (maker != kNoPt2 && (!has_part(maker) || part_of(maker) == writer)) return;
    const auto readers = readers_.find(rewrite.value);
    const bool is_read_later =
        (maker != kNoPt2 && is_returned(rewrite.value)) ||
        (readers != readers_.end() && std::ranges::any_of(readers->second, [&](Part reader) {
           return rank_[reader] > rank_[writer];
         }));
    if (is_read_later) add_output(writer, rewrite.value);
  }

  bool is_returned(std::uint32_t value) const {
    return std::ranges::any_of(program_.outputs, [&](const auto& output) {
      return std::ranges::any_of(
          output.refs, [&](const Pt2Ref& ref) { return effects_.newest[ref.value] == value; });
    });
  }

  void add_mutation(std::uint32_t number) {
    const Pt2Output& output = program_.outputs[number];
    if (is_made_elsewhere(output) || native_.contains(number)) return;
    const std::uint32_t value = output.refs.front().value;
    const std::string_view kind = mutation_of(output.kind);
    if (!kind.empty()) {
      hand_out(value);
      mutations_.push_back({kind, output.target, value});
    } else if (output.kind == Pt2OutputKind::gradient_to_parameter ||
               output.kind == Pt2OutputKind::gradient_to_user_input) {
      mutations_.push_back({"gradient", output.target, value});
    }
  }

  // An input that operators write in place: if only one part uses it, it belongs to that part;
  // otherwise the caller gets its newest value.
  void add_written(const Pt2WrittenInput& written) {
    const std::set<Part> parts = parts_of(written);
    if (parts.empty()) return;
    const Pt2Input& input = *input_of(written.value);
    const bool is_user = input.kind == Pt2InputKind::user_input;
    if (parts.size() == 1) {
      if (is_user) plan_of_[*parts.begin()].written_inputs.push_back(written.value);
      return;
    }
    const Part writer = part_of(written.last_writer);
    if (written.newest == written.value) {
      add_output(writer, written.value);
    } else {
      hand_out(written.newest);
    }
    const std::string_view kind = is_user                                 ? "user_input"
                                  : input.kind == Pt2InputKind::parameter ? "parameter"
                                                                          : "buffer";
    const std::string_view target = is_user ? program_.values[written.value].name : input.target;
    mutations_.push_back({kind, target, written.newest});
  }

  void note_native_inputs(const Pt2Part& part) {
    for (const std::uint32_t number : part.native_mutations) {
      const Pt2Output& output = program_.outputs[number];
      if (output.kind != Pt2OutputKind::user_input_mutation) continue;
      const auto at = static_cast<std::size_t>(&part - plan_of_.data());
      plan_of_[at].written_inputs.push_back(target_of(output));
    }
  }

  void find_inputs() {
    for (Part part = 0; part < bodies_.size(); ++part) {
      Pt2Part& plan = plan_of_[part];
      plan.part = id_at<PartId>(part);
      plan.nodes = std::move(bodies_[part]);
      plan.outputs = std::move(outputs_[part]);
      std::vector<std::uint32_t> wanted = needs_[part];
      for (const std::uint32_t value : extra_needs_[part]) {
        if (!contains(wanted, value)) wanted.push_back(value);
      }
      std::ranges::sort(wanted,
                        [this](std::uint32_t a, std::uint32_t b) { return comes_before(a, b); });
      for (const std::uint32_t value : wanted) {
        const bool is_own = is_from_archive(value) && !held_.contains(value);
        (is_own ? plan.lifted_inputs : plan.inputs).push_back(value);
      }
      name_tied(plan);
    }
  }

  void name_tied(Pt2Part& plan) {
    if (!plan.native_mutations.empty()) return;  // they are by name
    std::set<std::uint32_t> taken(plan.lifted_inputs.begin(), plan.lifted_inputs.end());
    for (const std::uint32_t value : plan.lifted_inputs) {
      const Pt2Input* const first = first_tied(*input_of(value));
      if (first != nullptr && taken.insert(first->value).second) {
        plan.first_names.emplace(value, first->target);
      }
    }
  }

  // The first parameter of the signature with the same data; null for what is none, or has none there.
  const Pt2Input* first_tied(const Pt2Input& input) {
    const auto entry_of = [&](const Pt2Input& one) {
      const bool is_parameter = one.kind == Pt2InputKind::parameter;
      return is_parameter ? model_.archive.weights.find(one.target) : nullptr;
    };
    for (; tied_end_ < program_.inputs.size(); ++tied_end_) {
      const Pt2Input& one = program_.inputs[tied_end_];
      if (const Pt2Entry* const entry = entry_of(one)) first_of_.try_emplace(entry->config, &one);
    }
    const Pt2Entry* const entry = entry_of(input);
    return entry == nullptr ? nullptr : first_of_.at(entry->config);
  }

  const Pt2Model& model_;
  const Pt2Program& program_;
  const Pt2Effects& effects_;
  const Partition& partition_;
  std::unordered_map<std::string_view, const Pt2Input*>
      first_of_;              // by the data's entry, of inputs
  std::size_t tied_end_ = 0;  // before this one
  Error error_;
  bool is_piece_ = false;                           // some nodes are in no part
  std::vector<PartId> part_of_;                     // by node
  std::vector<Part> order_;                         // call order
  std::vector<std::uint32_t> rank_;                 // by part: its place in the order
  std::vector<std::vector<std::uint32_t>> bodies_;  // by part
  std::vector<Part> first_reader_;                  // by value, of nodes; found when it is needed
  std::vector<std::vector<std::uint32_t>> needs_;   // by part: values
  std::map<Part, std::set<std::uint32_t>> extra_needs_;
  std::unordered_map<std::uint32_t, std::vector<Part>> readers_;  // by value, in call order
  std::set<std::uint32_t> held_;                                  // inputs that the caller keeps
  std::set<std::uint32_t> native_;                                // outputs of the program
  std::unordered_set<std::uint32_t> handed_on_;
  std::vector<std::vector<std::uint32_t>> outputs_;  // by part
  std::vector<std::unordered_set<std::uint32_t>> is_output_;
  std::vector<std::uint32_t> state_;
  std::vector<Pt2Mutation> mutations_;
  std::vector<Pt2Part> plan_of_;  // by part
};

}  // namespace

Result<Pt2Plan> plan_pt2_split(const Pt2Model& model, const Partition& partition) {
  return SplitPlanner(model, partition).plan();
}

// ---- writer ----

namespace {

// As torch writes its archives, so that tensors can be mapped.
constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kIn64 = 0xffffffff;  // larger numbers are in the zip64 field
constexpr std::uint64_t kVersion64 = 45;     // the zip version with zip64
// Bit 11: the name is UTF-8.
constexpr std::uint64_t kUtf8Flag = 0x800;
constexpr std::uint64_t kDate = 0x21;  // 1980-01-01: the same bytes every time
constexpr std::uint64_t kZip64Id = 1;
constexpr std::string_view kPaddingId = "FB";  // torch's name for its padding

void put(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i) & 0xffU);
}

// A number written with `bytes` bytes.
struct Number {
  std::uint64_t value;
  int bytes;
};
std::string packed(std::initializer_list<Number> numbers) {
  std::string out;
  for (const Number& number : numbers) put(out, number.value, number.bytes);
  return out;
}

std::uint64_t shown_size(std::uint64_t size) { return std::min(size, kIn64); }

}  // namespace

void ZipPieces::add_header(std::string_view name, std::uint64_t size, std::uint32_t crc) {
  const std::uint64_t at = pieces_.size();
  const std::string path = root_ + "/" + std::string(name);
  const bool is_large = size >= kIn64;
  std::string extra;
  if (is_large) extra = packed({{kZip64Id, 2}, {16, 2}, {size, 8}, {size, 8}});
  constexpr std::uint64_t kHeaderSize = 30;
  const std::uint64_t end = at + kHeaderSize + path.size() + extra.size() + 4;
  const std::uint64_t padding = (kAlignment - end % kAlignment) % kAlignment;
  extra += kPaddingId;
  put(extra, padding, 2);
  extra.append(padding, 'Z');
  pieces_.add(packed({{0x04034b50, 4},
                      {is_large ? kVersion64 : 0, 2},
                      {kUtf8Flag, 2},
                      {0, 2},  // stored
                      {0, 2},
                      {kDate, 2},
                      {crc, 4},
                      {shown_size(size), 4},
                      {shown_size(size), 4},
                      {path.size(), 2},
                      {extra.size(), 2}}) +
              path + extra);
  entries_.push_back({path, at, size, crc});
}

void ZipPieces::add(std::string_view name, std::string_view data) {
  add_header(name, data.size(), zip_crc(data));
  pieces_.add(data);
}

void ZipPieces::add_copy(std::string_view name, const Pt2Record& record) {
  add_header(name, record.size, record.crc);
  pieces_.add_range(0, record.offset, record.size);
}

std::string ZipPieces::directory() const {
  std::string out;
  for (const Entry& entry : entries_) {
    std::string large;
    if (entry.size >= kIn64) large += packed({{entry.size, 8}, {entry.size, 8}});
    if (entry.header >= kIn64) put(large, entry.header, 8);
    if (!large.empty()) large = packed({{kZip64Id, 2}, {large.size(), 2}}) + large;
    out += packed({{0x02014b50, 4},
                   {0, 2},
                   {large.empty() ? 0 : kVersion64, 2},
                   {kUtf8Flag, 2},
                   {0, 2},  // stored
                   {0, 2},
                   {kDate, 2},
                   {entry.crc, 4},
                   {shown_size(entry.size), 4},
                   {shown_size(entry.size), 4},
                   {entry.name.size(), 2},
                   {large.size(), 2},
                   {0, 2},  // comment
                   {0, 2},  // volume
                   {0, 2},  // attributes
                   {0, 4},
                   {shown_size(entry.header), 4}});
    out += entry.name + large;
  }
  return out;
}

BytePieces ZipPieces::finish() && {
  const std::uint64_t at = pieces_.size();
  const std::string entries = directory();
  const std::uint64_t end = at + entries.size();
  const std::uint64_t count = entries_.size();
  const std::uint64_t shown_count = std::min<std::uint64_t>(count, 0xffff);
  pieces_.add(entries);
  pieces_.add(packed({{0x06064b50, 4},
                      {44, 8},
                      {0x31e, 2},
                      {kVersion64, 2},
                      {0, 4},
                      {0, 4},
                      {count, 8},
                      {count, 8},
                      {entries.size(), 8},
                      {at, 8}}));
  pieces_.add(packed({{0x07064b50, 4}, {0, 4}, {end, 8}, {1, 4}}));
  pieces_.add(packed({{0x06054b50, 4},
                      {0, 2},
                      {0, 2},
                      {shown_count, 2},
                      {shown_count, 2},
                      {shown_size(entries.size()), 4},
                      {shown_size(at), 4},
                      {0, 2}}));
  return std::move(pieces_);
}

// Steps of writing a split:
// 1. plan the split ("split plan" above);
// 2. write an archive for each partition and one for the root, or all of them into one archive;
// 3. describe the chain of calls for the manifest.

namespace {

constexpr std::string_view kBundleFile = "bundle.pt2";
constexpr std::string_view kRootFile = "root.pt2";
constexpr std::string_view kMainModel = "model";
constexpr std::string_view kWeights = "data/weights/";
constexpr std::string_view kConstants = "data/constants/";

// Names that are valid Python attributes, since modules are attributes, and distinct: "a-b" and
// "a.b" become "a_b" and "a_b_1".
std::vector<std::string> module_names(const std::vector<std::string>& names) {
  std::vector<std::string> modules;
  std::set<std::string> taken = {std::string(kMainModel)};
  for (const std::string& name : names) {
    std::string module = name.empty() || is_digit(name[0]) ? "_" + name : name;
    std::ranges::replace_if(
        module, [](char c) { return !is_word_char(c); }, '_');
    std::string unique = module;
    for (int i = 1; !taken.insert(unique).second; ++i) unique = module + "_" + std::to_string(i);
    modules.push_back(std::move(unique));
  }
  return modules;
}

// One archive: models, each with its tables, and records that they share.
class ArchivePieces {
 public:
  ArchivePieces(const Pt2Model& model, std::string root) : model_(model), zip_(std::move(root)) {}

  // Records that are listed, but not contained: they are in other archives. Paths of the source.
  void leave_out(std::unordered_set<std::string> paths) { left_out_ = std::move(paths); }

  // `lifted` are the numbers of the values whose data the model contains.
  void add_model(std::string_view name, const std::string& document,
                 const std::vector<std::uint32_t>& lifted, const Pt2Record* sample_inputs,
                 const std::map<std::uint32_t, std::string_view>& first_names = {}) {
    std::string weights, constants;
    std::unordered_set<std::string_view> seen;
    for (const std::uint32_t value : lifted) {
      const Pt2Input& input = model_.program.inputs[model_.program.values[value].input];
      if (!seen.insert(input.target).second) continue;
      const auto first = first_names.find(value);
      const std::string_view called = first == first_names.end() ? input.target : first->second;
      if (!add_entry(model_.archive.weights, kWeights, input.target, called, weights)) {
        add_entry(model_.archive.constants, kConstants, input.target, called, constants);
      }
    }
    const std::string stem(name);
    zip_.add("data/weights/" + stem + "_weights_config.json", "{\"config\": {" + weights + "}}");
    zip_.add("data/constants/" + stem + "_constants_config.json",
             "{\"config\": {" + constants + "}}");
    zip_.add("models/" + stem + ".json", document);
    const std::string samples = "data/sample_inputs/" + stem + ".pt";
    if (sample_inputs != nullptr && sample_inputs->size > 0) {
      zip_.add_copy(samples, *sample_inputs);
    } else {
      zip_.add(samples, "");
    }
  }

  BytePieces finish() && {
    zip_.add("archive_format", "pt2");
    zip_.add("archive_version", "0");
    zip_.add("byteorder", "little");
    zip_.add(".data/version", "6\n");
    return std::move(zip_).finish();
  }

 private:
  // False when the table has no such entry.
  bool add_entry(const Pt2Table& table, std::string_view folder, std::string_view target,
                 std::string_view called, std::string& config) {
    const Pt2Entry* const entry = table.find(target);
    if (entry == nullptr) return false;
    if (!config.empty()) config += ", ";
    config += json_string(called) + ": " + entry->config;
    const Pt2Record& record = table.records[entry->record];
    const std::string path = std::string(folder) + record.path;
    if (left_out_.contains(path)) return true;
    if (records_.insert(path).second) zip_.add_copy(path, record);
    return true;
  }

  const Pt2Model& model_;
  ZipPieces zip_;
  std::unordered_set<std::string> records_;
  std::unordered_set<std::string> left_out_;
};

class Pt2Writer {
 public:
  Pt2Writer(const LoadedModel& model, const Partition& partition, const OutputFolder& folder,
            const Progress& progress)
      : loaded_(model),
        model_(*model.pt2()),
        partition_(partition),
        folder_(folder),
        progress_(progress),
        modules_(module_names(partition.names)),
        sources_(byte_sources(model)) {}

  Result<Pt2Written, Fault> write(const Pt2WriteOptions& options) {
    auto plan = plan_pt2_split(model_, partition_);
    if (!plan) return refusal_of(loaded_, plan.error());
    const bool is_bundle = options.files == PartFiles::bundle;
    auto done = is_bundle ? write_bundle(*plan) : write_files(*plan, options.has_empty_root);
    if (!done) return std::move(done).error();
    const std::vector<std::string> none;
    written_.chain = pt2_chain_json(
        model_, *plan, {partition_.names, written_.part_files, is_bundle ? modules_ : none});
    return std::move(written_);
  }

 private:
  std::vector<std::uint32_t> all_lifted() const {
    std::vector<std::uint32_t> values;
    for (const Pt2Input& input : model_.program.inputs) {
      if (input.value != kNoPt2 && is_lifted(input.kind)) values.push_back(input.value);
    }
    return values;
  }

  // The records that partitions hold, by path in an archive, and their bytes.
  std::unordered_map<std::string, std::uint64_t> held_records(const Pt2Plan& plan) const {
    std::unordered_map<std::string, std::uint64_t> held;
    for (const Pt2Part& part : plan.parts) {
      for (const std::uint32_t value : part.lifted_inputs) {
        const std::string_view target =
            model_.program.inputs[model_.program.values[value].input].target;
        for (const auto& [table, folder] : {std::pair(&model_.archive.weights, kWeights),
                                            std::pair(&model_.archive.constants, kConstants)}) {
          const Pt2Entry* const entry = table->find(target);
          if (entry == nullptr) continue;
          const Pt2Record& record = table->records[entry->record];
          held.emplace(std::string(folder) + record.path, record.size);
          break;
        }
      }
    }
    return held;
  }

  void add_root(ArchivePieces& archive, const Pt2Plan& plan) const {
    archive.add_model(kMainModel, pt2_root_document(model_, plan, modules_, partition_.names),
                      all_lifted(), &model_.archive.sample_inputs);
  }

  Status<Fault> write_files(const Pt2Plan& plan, bool has_empty_root) {
    written_.part_files = file_stems(partition_.names);
    for (std::string& file : written_.part_files) file += ".pt2";
    std::vector<std::optional<Fault>> faults(plan.parts.size());
    const std::size_t failed = do_each(faults.size(), [&](std::size_t i) {
      const Pt2Part& part = plan.parts[i];
      const std::size_t number = index(part.part);
      ArchivePieces archive(model_, modules_[number]);
      archive.add_model(kMainModel, pt2_part_document(model_, part), part.lifted_inputs, nullptr,
                        part.first_names);
      auto done = write_archive(std::move(archive), written_.part_files[number]);
      if (!done) faults[i] = std::move(done).error();
      return !faults[i];
    });
    if (failed < faults.size()) return *std::move(faults[failed]);
    ArchivePieces root(model_, "root");
    std::unordered_set<std::string> left_out;
    for (const auto& [path, bytes] : held_records(plan)) {
      if (has_empty_root) left_out.insert(path);
      written_.root_copies += has_empty_root ? 0 : bytes;
    }
    root.leave_out(std::move(left_out));
    add_root(root, plan);
    return write_archive(std::move(root), std::string(kRootFile));
  }

  Status<Fault> write_bundle(const Pt2Plan& plan) {
    written_.part_files.assign(partition_.count(), std::string(kBundleFile));
    ArchivePieces archive(model_, "bundle");
    add_root(archive, plan);
    for (const Pt2Part& part : plan.parts) {
      archive.add_model(modules_[index(part.part)], pt2_part_document(model_, part),
                        part.lifted_inputs, nullptr, part.first_names);
    }
    return write_archive(std::move(archive), std::string(kBundleFile));
  }

  Status<Fault> write_archive(ArchivePieces archive, const std::string& file) {
    const BytePieces pieces = std::move(archive).finish();
    const auto told = [this](std::uint64_t bytes) {
      const std::lock_guard lock(mutex_);
      bytes_written_ += bytes;
      tell(progress_, {"writing", "bytes", bytes_written_,
                       std::max<std::uint64_t>(bytes_written_, 2 * loaded_.source.size())});
    };
    return write_pieces(pieces, sources_,
                        {folder_.path_of(file), folder_.final_path() + "/" + file}, told);
  }

  const LoadedModel& loaded_;
  const Pt2Model& model_;
  const Partition& partition_;
  const OutputFolder& folder_;
  const Progress& progress_;
  std::vector<std::string> modules_;
  std::vector<ByteSource> sources_;
  Pt2Written written_;
  std::mutex mutex_;  // of what follows
  std::uint64_t bytes_written_ = 0;
};

}  // namespace

Result<Pt2Written, Fault> write_pt2_split(const LoadedModel& model, const Partition& partition,
                                          const Pt2WriteOptions& options,
                                          const OutputFolder& folder, const Progress& progress) {
  return Pt2Writer(model, partition, folder, progress).write(options);
}

namespace {

// The part with the inputs and outputs that were asked for. What it reads besides must be given to the
// program: a truth value, for one, cannot be an input, so its makers are repeated, and read more.
Status<> put_ends(const Pt2Model& model, const PieceEnds& ends, Pt2Part& part) {
  const Pt2Program& program = model.program;
  std::vector<std::uint32_t> inputs, outputs;
  for (const ValueId value : ends.from) inputs.push_back(model.value_numbers[value]);
  for (const ValueId value : ends.to) outputs.push_back(model.value_numbers[value]);
  const std::unordered_set<std::uint32_t> asked(inputs.begin(), inputs.end());
  const std::unordered_set<std::uint32_t> nodes(part.nodes.begin(), part.nodes.end());
  for (const std::uint32_t value : asked) {
    if (value != kNoPt2 && nodes.contains(program.values[value].maker)) {
      return Error{.message = escaped_in_quotes(program.values[value].name) +
                              " cannot be an input: truth values and real numbers do not cross"};
    }
  }
  for (const std::uint32_t value : part.inputs) {
    if (asked.contains(value)) continue;
    if (program.values[value].input == kNoPt2) {
      return Error{.message = "the piece reads " + escaped_in_quotes(program.values[value].name) +
                              ", too, which is no input of the program: name it in --from"};
    }
    inputs.push_back(value);
  }
  part.inputs = std::move(inputs);
  part.outputs = std::move(outputs);
  return Done{};
}

}  // namespace

Result<Pt2PieceValues, Fault> write_pt2_piece(const LoadedModel& model, const Partition& piece,
                                              const OutputPath& output, const PieceEnds* ends) {
  const Pt2Model& source = *model.pt2();
  auto plan = plan_pt2_split(source, piece);
  if (!plan) return refusal_of(model, plan.error());
  Pt2Part& part = plan->parts.front();
  if (ends != nullptr) {
    if (const auto put = put_ends(source, *ends, part); !put) {
      return refusal_of(model, put.error());
    }
  }
  ArchivePieces archive(source, module_names(piece.names).front());
  archive.add_model(kMainModel, pt2_part_document(source, part), part.lifted_inputs, nullptr,
                    part.first_names);
  auto written = write_pieces(std::move(archive).finish(), byte_sources(model), output);
  if (!written) return std::move(written).error();
  return Pt2PieceValues{std::move(part.inputs), std::move(part.outputs)};
}

}  // namespace cleave
