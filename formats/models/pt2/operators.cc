// The table's lines are explained in scripts/dev/torch_operators.py. They are sorted by name.
#include "formats/models/pt2/operators.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <string>

namespace cleave {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kOperators[] = {
#include "formats/models/pt2/operators.inc"
};

std::string_view name_of(std::string_view line) { return line.substr(0, line.find(' ')); }

// Calls visit(part) for each part between separators.
template <class Visit>
void each_part(std::string_view text, char separator, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// name[:alias|!alias][=default]
TorchArgument read_argument(std::string_view text) {
  TorchArgument argument;
  const std::size_t equals = text.find('=');
  if (equals != text.npos) argument.default_text = text.substr(equals + 1);
  text = text.substr(0, equals);
  const std::size_t sign = text.find_first_of(":!");
  argument.name = text.substr(0, sign);
  if (sign != text.npos) {
    argument.alias = text.substr(sign + 1);
    argument.is_written = text[sign] == '!';
  }
  return argument;
}

TorchOperator read_operator(std::string_view line) {
  TorchOperator found;
  int field = 0;
  each_part(line, ' ', [&](std::string_view part) {
    const int number = field++;
    if (number == 1 && part != "-") {
      each_part(part, ',', [&](std::string_view argument) {
        found.arguments.push_back(read_argument(argument));
      });
    } else if (number == 2 && part != "0") {
      each_part(part, ',', [&](std::string_view alias) {
        found.results.push_back(alias == "-" ? std::string_view() : alias);
      });
    } else if (number == 3) {
      found.is_random = part == "r";
    }
  });
  return found;
}

// The number, text or truth value in `text`; nullopt for "none".
std::optional<Literal> read_literal(std::string_view text) {
  if (text == "none" || text.empty()) return std::nullopt;
  if (text == "true") return Literal(std::int64_t{1});
  if (text == "false") return Literal(std::int64_t{0});
  if (text.front() == '\'') return Literal(std::string(text.substr(1, text.size() - 2)));
  std::int64_t integer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (error == std::errc() && end == text.data() + text.size()) return Literal(integer);
  double real = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), real);
  if (parsed.ec != std::errc()) return std::nullopt;
  return Literal(real);
}

}  // namespace

const TorchArgument* TorchOperator::find(std::string_view argument) const {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const TorchArgument& a) { return a.name == argument; });
  return found == arguments.end() ? nullptr : &*found;
}

std::optional<TorchOperator> find_torch_operator(std::string_view target) {
  constexpr std::string_view kOps = "torch.ops.";
  if (!target.starts_with(kOps)) return std::nullopt;
  target.remove_prefix(kOps.size());
  const auto* const line = std::lower_bound(
      std::begin(kOperators), std::end(kOperators), target,
      [](std::string_view known, std::string_view wanted) { return name_of(known) < wanted; });
  if (line == std::end(kOperators) || name_of(*line) != target) return std::nullopt;
  return read_operator(*line);
}

std::optional<AttributeValue> torch_default(std::string_view target, std::string_view argument) {
  const auto known = find_torch_operator(target);
  const TorchArgument* const found = known ? known->find(argument) : nullptr;
  if (found == nullptr) return std::nullopt;
  if (!found->default_text.starts_with('[')) {
    const auto literal = read_literal(found->default_text);
    if (!literal) return std::nullopt;
    return std::visit([](const auto& value) { return AttributeValue(value); }, *literal);
  }
  std::vector<Literal> items;
  each_part(found->default_text.substr(1, found->default_text.size() - 2), ';',
            [&](std::string_view item) {
              if (auto literal = read_literal(item)) items.push_back(*std::move(literal));
            });
  return AttributeValue(std::move(items));
}

}  // namespace cleave
