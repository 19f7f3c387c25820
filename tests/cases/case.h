// A recorded case: the results of the reference systems for one graph, support list and settings.
// The README next to this file describes the format.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/lists/support.h"
#include "core/split/options.h"

namespace cleave::cases {

using Json = nlohmann::json;

enum class CaseKind { splitter, tags, split_module, shard };

struct Case {
  std::string id;
  CaseKind kind;
  std::string graph;  // native JSON, its keys in the order of the file
  Json support;
  Json settings;
  Json expected;
  Json module_param_count;  // of shard cases: by dotted module path, "" the whole model
  std::map<std::string, std::string> get_attr_targets;  // by the name of the parameter
};

// Throws nlohmann/json's exceptions when the line is not a case.
Case parse_case(const std::string& line);

// The case's support list: the reference's own rules written as cleave's.
SupportList support_list_of(const Case& recorded);
SplitOptions split_options_of(const Case& recorded);

}  // namespace cleave::cases
