// What a model is made of, before any support list: its ops with counts, types and FLOPs, what is
// not known and which option would tell, and how much of it each list that is known accepts.
#pragma once

#include <string>
#include <vector>

#include "core/support/support_list.h"
#include "formats/model_file.h"

namespace cleave {

struct InspectedList {
  std::string name;
  std::size_t accepted = 0;   // nodes
  std::size_t unchecked = 0;  // of these, by rules that leave a condition unchecked
};

// Linear in the nodes, times the rules that name the same op.
InspectedList inspect_list(const LoadedModel& model, const SupportList& list);

std::string inspect_text(const LoadedModel& model, const std::vector<InspectedList>& lists);

// cleave.inspect version 1.
std::string inspect_json(const LoadedModel& model, const std::vector<InspectedList>& lists);

}  // namespace cleave
