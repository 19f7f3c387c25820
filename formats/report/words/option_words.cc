#include "formats/report/words/option_words.h"

#include "core/base/number_text.h"
#include "formats/report/words/report_values.h"

namespace cleave {

std::string option_text(const OptionTrial& trial) {
  switch (trial.kind) {
    case OptionTrial::Kind::fold:
      return "--fold write";
    case OptionTrial::Kind::opset:
      return "cleave fix --opset " + std::to_string(trial.opset);
    case OptionTrial::Kind::extend:
      return "--extend auto";
    case OptionTrial::Kind::host_shapes:
      return "--host-shapes";
    case OptionTrial::Kind::allow_non_tensor:
      return "--allow-non-tensor";
    case OptionTrial::Kind::start:
      return "--start fewest";
    case OptionTrial::Kind::min_acc_size:
      return "--min-acc-module-size " + std::to_string(trial.min_acc_size);
    case OptionTrial::Kind::place_by_cost:
      return "--place cost";
    case OptionTrial::Kind::keep:
      return "--keep-acc-subgraphs " + std::to_string(trial.most_kept);
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
  const bool has_flops = now.flops.total > 0 && then.flops.total > 0;
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

}  // namespace cleave
