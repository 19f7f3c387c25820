#include "core/graph/state.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

// A model by its inputs and outputs alone, each "name: type": one node reads all of one and makes all of the other.
Graph model_of(std::string_view inputs, std::string_view outputs) {
  std::string text, names, made, listed;
  const auto each = [](std::string_view list, const auto& take) {
    while (!list.empty()) {
      const std::size_t end = std::min(list.find("; "), list.size());
      const std::string_view one = list.substr(0, end);
      take(one.substr(0, one.find(':')), one);
      list.remove_prefix(std::min(end + 2, list.size()));
    }
  };
  each(inputs, [&](std::string_view name, std::string_view whole) {
    text += "input " + std::string(whole) + "\n";
    names += (names.empty() ? "" : ", ") + std::string(name);
  });
  each(outputs, [&](std::string_view name, std::string_view whole) {
    made += (made.empty() ? "" : ", ") + std::string(whole);
    listed += (listed.empty() ? "" : ", ") + std::string(name);
  });
  return graph_from_text(text + made + " = f(" + names + ")\noutput " + listed);
}

// "a>b grows 2, c> constant"; what is open after " ? "
std::string state_of(const Graph& graph, const StateRequest& request = {}) {
  const auto found = find_state(graph, request);
  if (!found) return "! " + found.error().message;
  std::string text;
  const auto name = [&](ValueId value) { return std::string(graph.value(value).name); };
  for (const StatePair& pair : found->pairs) {
    text += (text.empty() ? "" : ", ") + name(pair.input) + ">" +
            (pair.output == kNone<ValueId> ? "" : name(pair.output));
    if (pair.kind == StateKind::replaced) continue;
    text += " " + std::string(state_kind_name(pair.kind));
    if (pair.kind != StateKind::constant) text += " " + std::to_string(pair.axis);
  }
  for (const OpenState& open : found->open) {
    text += " ? " + name(open.input) + (open.is_by_sizes ? " by sizes" : "");
    for (const ValueId candidate : open.candidates) text += " " + name(candidate);
  }
  return text;
}

struct Case {
  std::string_view inputs, outputs, state;
};

TEST_CASE("State is found by the names that exporters give it") {
  const Case cases[] = {
      {"input_ids: int64[B,T]; past_key_values.0.key: float32[B,4,P,32]",
       "logits: float32[B,T,9]; present.0.key: float32[B,4,R,32]",
       "past_key_values.0.key>present.0.key grows 2"},
      {"past_0: float32[2,B,4,P,32]; past_1: float32[2,B,4,P,32]",
       "present_0: float32[2,B,4,Q,32]; present_1: float32[2,B,4,Q,32]",
       "past_0>present_0 grows 3, past_1>present_1 grows 3"},
      {"past_key_self_0: float32[1,4,P,32]; past_key_cross_0: float32[1,4,9,32]",
       "present_key_self_0: float32[1,4,Q,32]",
       "past_key_self_0>present_key_self_0 grows 2, past_key_cross_0> constant"},
      {"in_n_layer_self_k_cache: float32[4,5]; n_layer_cross_k: float32[4,5]",
       "out_n_layer_self_k_cache: float32[4,5]",
       "in_n_layer_self_k_cache>out_n_layer_self_k_cache, n_layer_cross_k> constant"},
      {"x: float32[N,45]; cached_key_0: float32[64,N,128]; processed_lens: int64[N]",
       "out: float32[N,16]; new_cached_key_0: float32[Slice_0,N,128]; new_processed_lens: int64[N]",
       "cached_key_0>new_cached_key_0, processed_lens>new_processed_lens"},
      {"state0: float32[1,2]; state1: float32[1,2]",
       "next_state0: float32[1,2]; next_state1: float32[1,2]",
       "state0>next_state0, state1>next_state1"},
      {"cache_last_channel: float32[1,2]; cache_last_channel_len: int64[1]",
       "cache_last_channel_next: float32[1,2]; cache_last_channel_next_len: int64[1]",
       "cache_last_channel>cache_last_channel_next, "
       "cache_last_channel_len>cache_last_channel_next_len"},
      {"att_cache: float32[1,2]; chunk: float32[1,9]",
       "r_att_cache: float32[1,2]; output: float32[1,9]", "att_cache>r_att_cache"},
      {"in_cache0: float32[1,2]", "out_cache0: float32[1,2]", "in_cache0>out_cache0"},
      {"in: int64[1]; state0_in: float32[1,2]", "out: int64[1]; state0_out: float32[1,2]",
       "state0_in>state0_out"},
      {"instate0: float32[1,2]", "outstate0: float32[1,2]", "instate0>outstate0"},
      {"past_key_0_in: float32[8,1,64,4095]", "past_key_0_out: float32[8,1,64,1]",
       "past_key_0_in>past_key_0_out appended 3"},
      {"src: float32[1,3,H,W]; r1i: float32[1,16,a,b]",
       "fgr: float32[1,3,H,W]; r1o: float32[1,16,c,d]", "r1i>r1o"},
      {"input: float32[1,576]; state: float32[2,1,128]; h: float32[4]; c: float32[4]",
       "output: float32[1,1]; stateN: float32[2,1,128]; hn: float32[4]; cn: float32[4]",
       "state>stateN, h>hn, c>cn"},
  };
  for (const Case& one : cases) {
    CHECK(state_of(model_of(one.inputs, one.outputs)) == one.state);
  }
}

TEST_CASE("What only looks like state is none") {
  const Case cases[] = {
      {"input: float32[1,3,64,64]", "output: float32[1,3,64,64]", ""},
      {"rai: float32[4]; ri: float32[2]", "rao: float32[4]; ro: float32[2]", ""},
      {"x_in: float32[4]; mask_in: float32[4]", "x_out: float32[4]; mask_out: float32[4]", ""},
      {"noisy_input: float32[4]; condition: float32[4]", "denoised_output: float32[4]", ""},
      {"keypoints0: float32[4]; keypoints1: float32[4]",
       "matches0: float32[4]; matches1: float32[4]", ""},
      {"sample: float32[4]; encoder_hidden_states: float32[4]", "out_sample: float32[4]", ""},
      {"param: float32[4]; exp_avg: float32[4]", "new_param: float32[4]; new_exp_avg: float32[4]",
       ""},
      {"hidden_states: float32[1,1,64]", "output_hidden_states: float32[1,1,64]", ""},
      {"past_key: float32[1,4,7,32]", "present_key: float16[1,4,8,32]", ""},
      {"past_key: float32[1,4,7,32]", "present_key: float32[1,5,8,32]", ""},
      {"past_key: float32[1,4,7,32]", "present_key: float32[4,8,32]", ""},
  };
  for (const Case& one : cases) {
    CHECK(state_of(model_of(one.inputs, one.outputs)) == one.state);
  }
}

TEST_CASE("What is not one to one is no pair, and has candidates") {
  CHECK(state_of(model_of("state: float32[4]", "new_state: float32[4]; next_state: float32[4]")) ==
        " ? state new_state next_state");
  CHECK(state_of(model_of("past_key: float32[1,P]", "cat_1: float32[1,Q]; logits: float32[9]")) ==
        " ? past_key by sizes cat_1");
}

TEST_CASE("State that the user names is taken, and other state is not") {
  const Graph graph = model_of("a.0: float32[4]; a.1: float32[4]; past_k: float32[2]; n: int64[1]",
                               "b.0: float32[4]; b.1: float32[4]; present_k: float32[2]");
  CHECK(state_of(graph, {.pairs = {{"a.*", "b.*"}}}) == "a.0>b.0, a.1>b.1");
  CHECK(state_of(graph, {.pairs = {{"a.0", "b.1"}, {"n", ""}}}) == "a.0>b.1, n> constant");
  CHECK(state_of(graph, {.is_off = true}).empty());
  CHECK(state_of(graph, {.pairs = {{"a.*", "b.0"}}}) ==
        "! --state a.*=b.0: give one * in both names, or none");
  CHECK(state_of(graph, {.pairs = {{"x", "b.0"}}}) ==
        "! --state x=b.0: the model has no input \"x\"");
  CHECK(state_of(graph, {.pairs = {{"a.0", "x"}}}) ==
        "! --state a.0=x: the model has no output \"x\"");
  CHECK(state_of(graph, {.pairs = {{"x.*", "b.*"}}}) ==
        "! --state x.*=b.*: no input and output of the model match");
  CHECK(state_of(graph, {.pairs = {{"a.0", "b.0"}, {"a.1", "b.0"}}}) ==
        "! --state a.1=b.0: \"a.1\" or its output is in two pairs");
  CHECK(
      state_of(graph, {.pairs = {{"n", "b.0"}}}).ends_with("one cannot be the other's next value"));
}

TEST_CASE("A state that some operators write takes memory once, one that Concat makes twice") {
  const auto held = [](std::string_view node) {
    const Graph graph = graph_from_text(
        "input past_k: float32[1,7]\ninput new: float32[1,1]\npresent_k: float32[1,7] = " +
        std::string(node) + "(past_k, new)\noutput present_k");
    const auto found = find_state(graph, {});
    return held_state_bytes(graph, found->pairs.at(0));
  };
  CHECK(held("ScatterND") == 28);
  CHECK(held("torch.ops.aten.index_put.default") == 28);
  CHECK(held("Concat") == 56);
}

TEST_CASE("An output that is listed twice is also a result") {
  const Graph graph = graph_from_text(
      "input past_k: float32[4]\npresent_k: float32[4] = f(past_k)\noutput present_k, present_k");
  CHECK(find_state(graph, {})->pairs.at(0).is_result);
}

}  // namespace

}  // namespace cleave
