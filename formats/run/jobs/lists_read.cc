#include "formats/run/jobs/lists_read.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/append.h"
#include "core/base/quotes.h"
#include "formats/lists/support/known_lists.h"
#include "formats/lists/support/list_target.h"
#include "formats/lists/support/verdict_file.h"
#include "formats/report/words/list_warnings.h"

namespace cleave {
namespace {

constexpr std::string_view kAssigned = "assigned to ";

// "OP" of "npu:OP", for the target npu; the text itself, for any target, where none is named before
// it; nullopt where it is for another target.
std::optional<std::string> denied_for(const std::string& target, const std::string& text,
                                      std::span<const std::string> targets) {
  const std::size_t colon = text.find(':');
  const bool is_domain = colon != text.npos && text.compare(colon, 2, "::") == 0;
  const std::string named = colon == text.npos || is_domain ? "" : text.substr(0, colon);
  if (std::find(targets.begin(), targets.end(), named) == targets.end()) return text;
  return named == target ? std::optional(text.substr(colon + 1)) : std::nullopt;
}

// With one target all devices of a file mean that target.
void warn_of_several_devices(const SupportList& verdicts, Diagnostics& warnings) {
  std::vector<std::string> devices;
  for (const Rule& rule : verdicts.allow) {
    if (!rule.why.starts_with(kAssigned)) continue;
    const std::string device = rule.why.substr(kAssigned.size());
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
      devices.push_back(device);
    }
  }
  if (devices.size() < 2) return;
  warnings.push_back({.severity = Severity::warning,
                      .file = verdicts.path,
                      .message = "names the devices " + escaped_in_quotes(devices[0]) + " and " +
                                 escaped_in_quotes(devices[1]) +
                                 ", and there is one target: both mean it",
                      .notes = {"to keep them apart give each a list: -s NAME=LIST -s NAME=LIST"}});
}

class ListsReader {
 public:
  explicit ListsReader(const ListsRequest& request)
      : request_(request), names_(request.targets()) {}

  Loaded<ListsRead> run() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::size_t first = read_.lists.size();
      read_paths(names_[i]);
      deny(names_[i]);
      read_verdicts(i);
      read_.targets.push_back(
          {.name = names_[i], .first_list = first, .end_list = read_.lists.size()});
    }
    if (faults_.empty()) return std::move(read_);
    faults_.insert(faults_.begin(), read_.warnings.begin(), read_.warnings.end());
    return std::move(faults_);
  }

 private:
  void read_paths(const std::string& target) {
    std::vector<SupportList> own;
    for (const std::string& text : request_.paths) {
      const ListSource source = list_source_of(text);
      if ((source.target.empty() ? kOnlyTarget : source.target) != target) continue;
      auto loaded = read_list(source.path);
      if (!loaded) {
        append(faults_, loaded.error());
        if (const std::string name = upper_case_target(text); !name.empty()) {
          faults_.back().notes.push_back("names of targets are lower-case words: write " + name +
                                         text.substr(name.size()));
        }
        continue;
      }
      append(read_.warnings, loaded->warnings);
      own.push_back(std::move(loaded->list));
      ListRole& role = own.back().role;
      if (request_.all_of && role == ListRole::any_of) role = ListRole::all_of;
      if (!request_.as) continue;
      own.back().view = *request_.as;
      own.back().is_view_given = true;
    }
    append(read_.warnings, overruled_list_warnings(own));
    append(read_.warnings, left_out_numbers(own));
    for (SupportList& list : own) read_.lists.push_back(std::move(list));
  }

  // Warns of lists whose numbers, or whose link, do not count. A target has one set of numbers and one link:
  // those of its first list that states any.
  static Diagnostics left_out_numbers(const std::vector<SupportList>& own) {
    Diagnostics warnings;
    const auto warn = [&](std::string_view what, auto numbers_of) {
      const SupportList* counts = nullptr;
      for (const SupportList& list : own) {
        const auto numbers = numbers_of(list);
        if (!numbers) continue;
        if (counts == nullptr) counts = &list;
        if (numbers == numbers_of(*counts)) continue;
        warnings.push_back({.severity = Severity::warning,
                            .file = list.path,
                            .message = "its " + std::string(what) + " is left out: that of " +
                                       escaped_in_quotes(counts->path) +
                                       ", the first list of the target that has one, counts",
                            .notes = {"where the lists are of two devices, name them: -s "
                                      "npu=LIST -s gpu=LIST"}});
      }
    };
    warn("\"target\"", list_target);
    warn("\"link\"", [](const SupportList& list) { return list.link; });
    return warnings;
  }

  // "npu" of "NPU=npu.json", as OpenVINO spells it; "" for any other text.
  static std::string upper_case_target(const std::string& text) {
    std::string name = text.substr(0, text.find('='));
    if (name.size() == text.size()) return {};
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return list_source_of(name + "=").target;
  }

  void deny(const std::string& target) {
    std::vector<std::string> denied;
    for (const std::string& text : request_.deny) {
      if (auto own = denied_for(target, text, named_targets())) denied.push_back(*std::move(own));
    }
    if (!denied.empty()) read_.lists.push_back(list_of_denials(denied));
  }

  // Those that the user named: "acc" may also be the beginning of a node's name.
  std::span<const std::string> named_targets() const {
    const auto is_named = [](const std::string& text) {
      return !list_source_of(text).target.empty();
    };
    const bool has_names = std::any_of(request_.paths.begin(), request_.paths.end(), is_named);
    return has_names ? std::span<const std::string>(names_) : std::span<const std::string>();
  }

  void read_verdicts(std::size_t target) {
    for (const std::string& path : request_.verdicts) {
      auto verdicts = read_verdict_file(path, {names_, target});
      if (!verdicts) {
        if (target == 0) append(faults_, verdicts.error());
        continue;
      }
      if (names_.size() < 2) warn_of_several_devices(*verdicts, read_.warnings);
      read_.lists.push_back(*std::move(verdicts));
    }
  }

  const ListsRequest& request_;
  const std::vector<std::string> names_;
  ListsRead read_;
  Diagnostics faults_;
};

}  // namespace

Loaded<ListsRead> read_lists(const ListsRequest& request) {
  if (const auto fine = check_targets(request); !fine) {
    return Diagnostics{{.file = {}, .message = fine.error().message, .notes = fine.error().notes}};
  }
  return ListsReader(request).run();
}

Diagnostics idle_denial_warnings(const Graph& graph, std::span<const SupportList> lists) {
  Diagnostics warnings;
  for (const SupportList& list : lists) {
    if (!is_list_of_denials(list)) continue;
    for (const std::string& what : idle_denials(graph, list)) {
      warnings.push_back({.severity = Severity::warning,
                          .file = list.path,
                          .message = escaped_in_quotes(what) +
                                     " is no op of the model and the name of no node: it denies "
                                     "nothing"});
    }
  }
  return warnings;
}

}  // namespace cleave
