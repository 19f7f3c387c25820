#include "tests/core/stages/balance_text.h"

#include <cassert>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

namespace cleave {

BalanceProblem balance_problem(std::string_view text) {
  BalanceProblem problem;
  std::vector<std::string> names;
  std::map<std::string, std::uint32_t> number;
  std::vector<std::vector<std::uint32_t>> readers;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name)) continue;
    const auto item = static_cast<std::uint32_t>(names.size());
    number[name] = item;
    names.push_back(name);
    problem.items.emplace_back();
    words >> problem.items.back().time;
    problem.nets.push_back({.producer = item, .cost = 1});
    readers.emplace_back();
    for (std::string word; words >> word;) {
      if (word == "<") continue;
      if (word[0] == '!') {
        problem.items.back().bytes = std::stod(word.substr(1));
      } else if (word[0] == '=') {
        problem.nets.back().bytes = std::stod(word.substr(1));
      } else if (word[0] == '#') {
        problem.items.back().colour = static_cast<std::uint32_t>(std::stoul(word.substr(1)));
      } else {
        const std::size_t colon = word.find(':');
        assert(number.count(word.substr(0, colon)) != 0);
        const std::uint32_t producer = number[word.substr(0, colon)];
        readers[producer].push_back(item);
        if (colon != std::string::npos) {
          problem.nets[producer].cost = std::stod(word.substr(colon + 1));
        }
      }
    }
  }
  for (const std::vector<std::uint32_t>& items : readers) {
    for (const std::uint32_t item : items) problem.consumers.add(item);
    problem.consumers.end_list();
  }
  problem.successors = successors_of_nets(problem);
  problem.item_name = [names](std::uint32_t item) { return names[item]; };
  return problem;
}

std::string stages_text(const BalanceProblem& problem, const BalanceResult& result) {
  std::string text;
  for (const BalanceStage& stage : result.stages) {
    if (!text.empty()) text += "| ";
    for (const std::uint32_t item : stage.items) text += problem.item_name(item) + " ";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace cleave
