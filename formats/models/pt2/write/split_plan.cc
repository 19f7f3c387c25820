// Steps, each of which needs the ones before:
//   1. the order of the partitions, by data and by in-place writes
//   2. checks, constants and repeated nodes, then what each partition reads and does not make
//   3. which state is native and which the caller keeps
//   4. outputs: what other partitions, mutations and the program's outputs read
//   5. inputs, those from the archive first, each kind in the program's order
#include "formats/models/pt2/write/split_plan.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/capped_list.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/pt2/reader.h"

namespace cleave {
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
    const Pt2Node& node = program_.nodes[number];
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      const Pt2Argument& argument = program_.arguments[a];
      for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
        visit(effects_.read_as[r]);
      }
    }
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
      const auto first =
          std::find_if(nodes.begin(), nodes.end(), [&](std::uint32_t n) { return has_part(n); });
      if (first == nodes.end()) continue;
      const auto is_elsewhere = [&](std::uint32_t node) {
        return has_part(node) && part_of_[node] != part_of_[*first];
      };
      const auto other = std::find_if(nodes.begin(), nodes.end(), is_elsewhere);
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
      std::sort(body.begin(), body.end());
      std::sort(plan.repeated.begin(), plan.repeated.end());
      for (const std::uint32_t value : seen) {
        const std::uint32_t maker = program_.values[value].maker;
        if (maker == kNoPt2 || !here.contains(maker)) needs_[part].push_back(value);
      }
      std::sort(needs_[part].begin(), needs_[part].end(),
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
    return found == readers_.end() ||
           std::all_of(found->second.begin(), found->second.end(),
                       [&](Part reader) { return reader == part_of(maker); });
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
        (readers != readers_.end() &&
         std::any_of(readers->second.begin(), readers->second.end(),
                     [&](Part reader) { return rank_[reader] > rank_[writer]; }));
    if (is_read_later) add_output(writer, rewrite.value);
  }

  bool is_returned(std::uint32_t value) const {
    return std::any_of(program_.outputs.begin(), program_.outputs.end(), [&](const auto& output) {
      return std::any_of(output.refs.begin(), output.refs.end(),
                         [&](const Pt2Ref& ref) { return effects_.newest[ref.value] == value; });
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
        if (std::find(wanted.begin(), wanted.end(), value) == wanted.end()) wanted.push_back(value);
      }
      std::sort(wanted.begin(), wanted.end(),
                [this](std::uint32_t a, std::uint32_t b) { return comes_before(a, b); });
      for (const std::uint32_t value : wanted) {
        const bool is_own = is_from_archive(value) && !held_.contains(value);
        (is_own ? plan.lifted_inputs : plan.inputs).push_back(value);
      }
    }
  }

  const Pt2Model& model_;
  const Pt2Program& program_;
  const Pt2Effects& effects_;
  const Partition& partition_;
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

}  // namespace cleave
