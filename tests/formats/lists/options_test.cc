#include "formats/lists/options.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/catch2.h"

namespace cleave {

namespace {

const Option& option_of(std::string_view key) {
  const Option* const option = find_request_option(key);
  REQUIRE(option != nullptr);
  return *option;
}

const SplitSetting& setting_of(std::string_view key) { return option_of(key).more.setting; }

SplitOptions with(std::string_view key, const SettingValue& value) {
  SplitOptions options;
  CHECK(setting_of(key).set(options, value));
  return options;
}

TEST_CASE("an option is called like the setting, with dashes") {
  CHECK(option_of("keep_qdq").name() == "--keep-qdq");
  CHECK(find_option("--output", of::split)->key() == "output");
  CHECK(find_request_option("colour") == nullptr);
}

TEST_CASE("options: one row for each name and command, in at most two lines, grouped in order") {
  std::set<std::pair<std::string_view, Commands>> seen;
  OptionGroup group = OptionGroup::model;
  for (const Option& option : option_table()) {
    INFO(option.name());
    CHECK(option.help.size() <= 200);
    CHECK(option.in != 0);
    CHECK(option.group >= group);
    group = option.group;
    for (Commands command = 1; command <= of::to; command <<= 1U) {
      if ((option.in & command) != 0) CHECK(seen.emplace(option.name(), command).second);
    }
  }
}

TEST_CASE("options: what an option needs or excludes is an option of a command that has it") {
  for (const Option& option : option_table()) {
    INFO(option.name());
    for (const std::string_view list :
         {option.more.needs, option.more.excludes, option.more.unless}) {
      for (const std::string_view name : split_names(list)) {
        CHECK(find_option(name, option.in) != nullptr);
      }
    }
    if (option.is_setting() && !option.more.by_default.empty()) {
      const std::string is = setting_text(option.more.setting.get(SplitOptions{}));
      CHECK(option.more.by_default == is);
    }
  }
}

TEST_CASE("each setting takes the value that it gives") {
  SplitOptions changed;
  changed.skip_fusion = changed.allow_non_tensor = changed.keep_qdq = true;
  changed.host_shapes = true;
  changed.place = PlaceBy::cost;
  changed.residency = Residency::on;
  changed.start = StartSide::fewest;
  changed.min_acc_size = 3;
  changed.most_kept = 2;
  changed.keep_by = KeepBy::nodes;
  changed.extend = {.which = ExtendOptions::Which::one, .subgraph = 4};
  changed.place_goal = PlaceGoal::energy;
  SplitOptions read;
  for (const Option& option : option_table()) {
    INFO(option.name());
    const SplitSetting& setting = option.more.setting;
    if (option.is_setting()) CHECK(setting.set(read, setting.get(changed)));
  }
  CHECK(read == changed);
}

TEST_CASE("counts are numbers, or the words that the setting has") {
  CHECK(with("min_acc_module_size", 3).min_acc_size == 3);
  CHECK(with("min_acc_module_size", "4").min_acc_size == 4);
  CHECK(with("min_acc_module_size", "auto").is_min_automatic);
  CHECK(with("keep_acc_subgraphs", "unlimited").most_kept == SplitOptions::kUnlimited);
  CHECK(with("keep_acc_subgraphs", nullptr).most_kept == SplitOptions::kUnlimited);
  CHECK(with("keep_acc_subgraphs", "auto").keep_only_gaining);
  CHECK(with("extend", "12").extend ==
        ExtendOptions{.which = ExtendOptions::Which::one, .subgraph = 12});
}

TEST_CASE("a value that a setting does not accept is refused in words and has no effect") {
  SplitOptions options;
  CHECK_FALSE(setting_of("start").set(options, "middle"));
  CHECK_FALSE(setting_of("min_acc_module_size").set(options, "-1"));
  CHECK_FALSE(setting_of("min_acc_module_size").set(options, nullptr));
  CHECK_FALSE(setting_of("keep_qdq").set(options, "yes"));
  CHECK_FALSE(setting_of("extend").set(options, "acc"));
  CHECK_FALSE(setting_of("extend").set(options, "2,4"));
  CHECK(options == SplitOptions{});
  CHECK(refusal_of(option_of("start")) == "is not reference, cpu, acc or fewest");
  CHECK(refusal_of(option_of("keep_qdq")) == "is neither true nor false");
  CHECK(refusal_of(option_of("extend")) == "is not a subgraph's number or name, all or auto");
}

TEST_CASE("The option --prefix is for the accelerator or a target, --non-acc-prefix for the CPU") {
  SplitRequest request;
  const Option& option = *find_option("--prefix", of::split);
  const Option& of_cpu = *find_option("--non-acc-prefix", of::split);
  for (const char* const text : {"npu_", "gpu=g", "X=y"}) {
    CHECK(set_in_request(request, option, text));
  }
  CHECK(set_in_request(request, of_cpu, "host_"));
  CHECK(request.options.acc_prefix == "X=y");
  CHECK(request.options.non_acc_prefix == "host_");
  REQUIRE(request.target_settings.size() == 1);
  CHECK(request.target_settings[0].target == "gpu");
  CHECK(request.target_settings[0].value == "g");
  for (const Option* const one : {&option, &of_cpu}) {
    const auto set = set_in_request(request, *one, "gpu=\xff");
    REQUIRE_FALSE(set);
    CHECK(set.error().message.ends_with("is not UTF-8 text, as names of partitions must be"));
  }
}

TEST_CASE("where nodes go is one word, also for energy, and the last word holds") {
  const SplitOptions by_energy = with("place", "energy");
  CHECK(by_energy.place == PlaceBy::cost);
  CHECK(by_energy.place_goal == PlaceGoal::energy);
  SplitOptions options = by_energy;
  CHECK(setting_of("place").set(options, "cost"));
  CHECK(options.place_goal == PlaceGoal::latency);
  CHECK(setting_of("place").set(options, "order"));
  CHECK(options == SplitOptions{});
  CHECK_FALSE(setting_of("place").set(options, "latency"));
}

TEST_CASE("differences between two settings are reported, except for names of parts") {
  SplitOptions now;
  now.keep_qdq = true;
  now.most_kept = 3;
  now.start = StartSide::cpu;
  now.acc_prefix = "npu_";
  CHECK(changed_settings({}, now, false) ==
        std::vector<std::string>{"keep-qdq: yes, was no", "start: cpu, was reference",
                                 "keep-acc-subgraphs: 3, was unlimited"});
  CHECK(changed_settings(now, now, false).empty());
  SplitOptions by_cost;
  by_cost.place = PlaceBy::cost;
  CHECK(changed_settings({}, by_cost, false) ==
        std::vector<std::string>{"place: cost, was priority"});
  CHECK(changed_settings({}, by_cost, true) == std::vector<std::string>{"place: cost, was order"});
}

TEST_CASE("each phase is a request with its own sizes and targets beside those that all have") {
  SplitRequest request;
  const auto give = [&](std::string_view name, const std::string& text) {
    CHECK(set_in_request(request, *find_option(name, of::split), text));
  };
  for (const char* const dim : {"B=1", "T=9"}) give("--dim", dim);
  for (const char* const list : {"npu=a.json", "gpu=b.json"}) give("--support", list);
  for (const char* const phase : {"prompt:T=64,P=0,on=npu", "x:y:1=3,on=cpu", "rest:"}) {
    give("--phase", phase);
  }
  const auto phases = phase_requests(request);
  REQUIRE(phases);
  REQUIRE(phases->size() == 3);
  using Dims = std::vector<std::pair<std::string, std::int64_t>>;
  CHECK((*phases)[0].model.bindings.dims == Dims{{"B", 1}, {"T", 64}, {"P", 0}});
  CHECK((*phases)[0].lists.deny == std::vector<std::string>{"gpu:*"});
  CHECK((*phases)[1].model.bindings.dims == Dims{{"B", 1}, {"T", 9}, {"y:1", 3}});
  CHECK((*phases)[1].lists.deny == std::vector<std::string>{"npu:*", "gpu:*"});
  CHECK((*phases)[2].model.bindings.dims == Dims{{"B", 1}, {"T", 9}});
  CHECK((*phases)[2].lists.deny.empty());
  CHECK((*phases)[0].phases.empty());
}

TEST_CASE("a phase on a target that there is not is refused, and so are two of one name") {
  SplitRequest request;
  request.phases = {{.name = "a", .targets = {"npu"}}};
  CHECK_FALSE(phase_requests(request));
  request.phases = {{.name = "a", .targets = {"acc"}}, {.name = "b", .targets = {"cpu"}}};
  const auto fine = phase_requests(request);
  REQUIRE(fine);
  CHECK(fine->back().lists.deny == std::vector<std::string>{"*"});
  request.phases[1].name = "a";
  CHECK_FALSE(phase_requests(request));
}

}  // namespace

}  // namespace cleave
