#include "cli/options/gate_args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/options/options.h"
#include "core/base/quantity.h"
#include "core/base/words.h"

namespace cleave {
namespace {

std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
}

double share_of(const std::string& option, const std::string& text) {
  if (const auto share = parse_share(text)) return *share;
  std::string why = in_quotes(text) + " is not a share from 0 to 1";
  if (parse_share(text + "%")) {
    why += ": did you mean " + text + "%?";
  } else {
    why += ": write 0.95 or 95%";
  }
  refuse_option(option, why);
}

void add_count(CLI::App& app, const char* name, std::optional<std::uint64_t>& to, const char* help,
               const char* type) {
  app.add_option(name, to, help)->type_name(type)->check(whole_number());
}

}  // namespace

void GateArgs::add_to(CLI::App& app, const ListsRequest& lists) {
  GateLimits& limits = request.limits;
  app.add_option_function<std::vector<std::string>>(
         "--min-coverage",
         [this, &lists](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_coverage(text, lists.targets());
         },
         "minimum share on the accelerator, of nodes (0.95, 95%), flops or params (flops=0.9); of "
         "one of several targets npu=90% or npu:flops=90%; repeatable")
      ->type_name("[WHAT=]SHARE")
      ->allow_extra_args(false);
  add_count(app, "--max-acc-subgraphs", limits.acc_subgraphs,
            "maximum number of accelerator subgraphs", "N");
  add_count(app, "--max-cpu-nodes", limits.cpu_nodes, "maximum number of nodes on the CPU", "N");
  add_count(app, "--max-unchecked", limits.unchecked,
            "maximum number of nodes accepted by rules that leave a condition unchecked", "N");
  app.add_option_function<std::string>(
         "--max-boundary-bytes",
         [&limits](const std::string& text) {
           limits.boundary_bytes = parse_bytes(text);
           if (limits.boundary_bytes) return;
           refuse_option("--max-boundary-bytes",
                         in_quotes(text) + " is not a size: write 64MiB, or a number of bytes");
         },
         "maximum bytes into and out of accelerator subgraphs, e.g. 64MiB")
      ->type_name("BYTES");
  app.add_option_function<std::string>(
         "--min-qps",
         [&limits](const std::string& text) {
           const auto qps = parse_number(text);
           if (!qps || !std::isfinite(*qps) || *qps < 0) {
             refuse_option("--min-qps", in_quotes(text) + " is not a number of 0 or more");
           }
           limits.qps = qps;
         },
         "minimum QPS that the link allows")
      ->type_name("QPS");
  app.add_option_function<std::string>(
         "--max-latency",
         [&limits](const std::string& text) {
           const auto seconds = parse_duration(text);
           if (!seconds) refuse_option("--max-latency", "\"" + text + "\" is no time: write 20ms");
           limits.latency_us = *seconds * 1e6;
         },
         "longest time of an inference, e.g. 20ms (see --costs, --target)")
      ->type_name("TIME");
  app.add_flag("--faster-than-cpu", limits.faster_than_cpu,
               "an inference must take less time than on the CPU alone");
  app.add_option(
         "--require", request.require,
         "node (a name or glob) or op that must be on the accelerator, or with npu: on that "
         "one of several targets; repeatable")
      ->type_name("NODE|OP")
      ->allow_extra_args(false)
      ->check(CLI::Validator(names_no_node, ""));
  app.add_flag("--no-unknown-shapes", limits.no_unknown_shapes,
               "the shape of every tensor must be known (--dim binds symbolic dims)");
  CLI::Option* const earlier = app.add_option("--baseline", baseline,
                                              "earlier results: a baseline, or one report; without "
                                              "other limits no node may be new on the CPU")
                                   ->type_name("FILE");
  set_file_role(earlier, FileRole::updated);
  add_count(app, "--max-new-cpu-nodes", limits.new_cpu_nodes,
            "maximum number of nodes on the CPU that were not there in the baseline", "N");
  app.add_option_function<std::string>(
         "--allow-regression",
         [&limits](const std::string& text) {
           limits.regression = share_of("--allow-regression", text);
         },
         "coverage and QPS may fall below the baseline's by this share of them, and latency may "
         "rise, "
         "e.g. 0.5%")
      ->type_name("SHARE");
  app.add_flag("--update-baseline", update_baseline,
               "write the results to the baseline instead of comparing with it");
}

void GateArgs::add_coverage(const std::string& text, const std::vector<std::string>& targets) {
  const std::size_t equals = text.find('=');
  std::string what = equals == std::string::npos ? "nodes" : text.substr(0, equals);
  const std::string share = equals == std::string::npos ? text : text.substr(equals + 1);
  // "npu", "npu:flops": of a target.
  const std::string written = what;
  const std::size_t colon = what.find(':');
  std::string target = what.substr(0, colon);
  const bool is_of_target = std::find(targets.begin(), targets.end(), target) != targets.end();
  if (!is_of_target) {
    target.clear();
  } else {
    what = colon == std::string::npos ? "nodes" : what.substr(colon + 1);
  }
  const std::optional<GateKind> kind =
      what == "nodes"    ? std::optional(GateKind::min_node_coverage)
      : what == "flops"  ? std::optional(GateKind::min_flops_coverage)
      : what == "params" ? std::optional(GateKind::min_parameter_coverage)
                         : std::nullopt;
  if (!kind) {
    std::string why = in_quotes(written) + " is not nodes, flops or params";
    for (std::size_t i = 0; i < targets.size() && targets.size() > 1; ++i) {
      why += (i == 0 ? ", nor a target: " : ", ") + targets[i];
    }
    refuse_option("--min-coverage", why);
  }
  const double least = share_of("--min-coverage", share);
  GateLimits& limits = request.limits;
  if (is_of_target && targets.size() > 1) {
    limits.target_coverage.push_back({target, *kind, least});
  } else {
    (*kind == GateKind::min_node_coverage    ? limits.node_coverage
     : *kind == GateKind::min_flops_coverage ? limits.flops_coverage
                                             : limits.parameter_coverage) = least;
  }
}

bool GateArgs::asks_anything() const {
  const GateLimits& limits = request.limits;
  return limits.node_coverage || limits.flops_coverage || limits.parameter_coverage ||
         !limits.target_coverage.empty() || limits.acc_subgraphs || limits.cpu_nodes ||
         limits.unchecked || limits.boundary_bytes || limits.qps || limits.latency_us ||
         limits.faster_than_cpu || limits.no_unknown_shapes || !request.require.empty() ||
         !baseline.empty();
}

CheckRequest GateArgs::effective_request() const {
  CheckRequest effective = request;
  if (!baseline.empty() && !effective.limits.new_cpu_nodes && !effective.limits.regression) {
    effective.limits.new_cpu_nodes = 0;
  }
  return effective;
}

}  // namespace cleave
