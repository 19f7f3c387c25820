#include "cli/options/stage_args.h"

#include "cli/options/whole_number.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

namespace cleave {
namespace {

std::optional<Sharing> parse_sharing(std::string_view text) {
  if (text == "replicate") return Sharing::replicate;
  if (text == "transmit") return Sharing::transmit;
  return std::nullopt;
}

}  // namespace

void StageArgs::add_to(CLI::App& app) {
  app.add_option_function<std::vector<std::string>>(
         "--shared-params",
         [this](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_sharing(text);
         },
         "parameters that several stages use: replicate (default; each holds a copy) or transmit "
         "(the first holds it and passes it on); NAME=... for one of them; repeatable")
      ->type_name("[NAME=]replicate|transmit")
      ->allow_extra_args(false);
  app.add_flag("--relay", boundary_.relay,
               "pass values that skip stages through the stages in between");
  app.add_option_function<std::string>(
         "--device-map", [this](const std::string& text) { add_devices(text); },
         "devices of stages: 0=cuda:0,1=cuda:1")
      ->type_name("STAGE=DEVICE,...");
  app.add_option_function<std::string>(
         "--loss-output", [this](const std::string& text) { loss_ = text; },
         "add the backward pass of this output: its name, or JSON of what the model returns with "
         "true at the loss (default: the output \"loss\")")
      ->type_name("SPEC")
      ->expected(0, 1);
  app.add_option_function<std::size_t>(
         "--stage", [this](const std::size_t& stage) { only_ = stage; },
         "print this stage alone, counted from 0; with --json as a model")
      ->check(whole_number())
      ->type_name("I");
}

void StageArgs::add_sharing(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const auto sharing = parse_sharing(equals == text.npos ? text : text.substr(equals + 1));
  if (!sharing || equals == 0) {
    throw CLI::ValidationError("--shared-params", "\"" + text +
                                                      "\" is neither replicate nor transmit, nor "
                                                      "of the form NAME=transmit");
  }
  if (equals == text.npos) {
    boundary_.sharing = *sharing;
  } else {
    boundary_.sharing_of.emplace_back(text.substr(0, equals), *sharing);
  }
}

void StageArgs::add_device(std::size_t stage, std::string device) {
  const auto same = std::find_if(devices_.begin(), devices_.end(),
                                 [&](const auto& known) { return known.first == stage; });
  if (same != devices_.end()) {
    throw CLI::ValidationError("--device-map", "stage " + std::to_string(stage) + " is given \"" +
                                                   same->second + "\" and \"" + device +
                                                   "\": name one device for each stage");
  }
  devices_.emplace_back(stage, std::move(device));
}

void StageArgs::add_devices(const std::string& text) {
  std::string_view rest = text;
  while (true) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    std::size_t stage = 0;
    const char* const end = entry.data() + entry.size();
    const auto [at, error] = std::from_chars(entry.data(), end, stage);
    if (error != std::errc() || at + 1 >= end || *at != '=') {
      throw CLI::ValidationError("--device-map",
                                 "\"" + std::string(entry) + "\" is not of the form 0=cuda:0");
    }
    add_device(stage, std::string(at + 1, end));
    if (entry.size() == rest.size()) return;
    rest.remove_prefix(entry.size() + 1);
  }
}

Result<std::vector<std::string>> StageArgs::devices(std::size_t stage_count) const {
  std::vector<std::string> devices(devices_.empty() ? 0 : stage_count);
  for (const auto& [stage, device] : devices_) {
    if (stage >= stage_count) {
      return Error{"--device-map names stage " + std::to_string(stage) + ", but there are " +
                   std::to_string(stage_count) + ", counted from 0"};
    }
    devices[stage] = device;
  }
  return devices;
}

}  // namespace cleave
