#include "formats/report/words/open_size_words.h"

#include <cmath>
#include <cstdint>

#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {
namespace {

constexpr std::size_t kMostTerms = 3;

using UnitText = std::string (*)(double);

std::string bytes_of(double bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); }

// Below this a rounded factor would be far from the true one.
bool is_readable(const Polynomial::Term& term) {
  const double size = std::abs(term.factor);
  return size >= 100 || size == std::floor(size);
}

bool is_readable(const Polynomial& polynomial, std::size_t most_terms) {
  if (polynomial.terms.size() > most_terms) return false;
  for (const Polynomial::Term& term : polynomial.terms) {
    if (!is_readable(term)) return false;
  }
  return true;
}

std::string product_text(const Polynomial& polynomial, const OpenSizes& sizes, UnitText unit) {
  std::string text;
  for (const Polynomial::Term& term : polynomial.terms) {
    if (!text.empty() || term.factor < 0) {
      text += std::string(text.empty() ? "" : " ") + (term.factor < 0 ? "-" : "+") +
              (text.empty() ? "" : " ");
    }
    text += unit(std::abs(term.factor));
    for (std::size_t i = 0; i < term.powers.size(); ++i) {
      for (std::uint8_t power = 0; power < term.powers[i]; ++power) {
        text += " x " + escaped(sizes.names[i]);
      }
    }
  }
  return text.empty() ? unit(0) : text;
}

std::string cell(const OpenNumber& number, const OpenSizes& sizes, UnitText unit) {
  const std::string more = number.is_partial ? "+" : "";
  if (number.exact && is_readable(*number.exact, 1)) {
    return product_text(*number.exact, sizes, unit) + more;
  }
  return unit(number.at_first) + " @" + more;
}

}  // namespace

namespace {

// "N=1": dims for which only this size fits.
std::string pinned_text(const OpenSizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes.pinned) {
    text += (text.empty() ? "" : ", ") + escaped(name) + "=" + std::to_string(size);
  }
  return text;
}

}  // namespace

std::string open_flops_text(const OpenSizes& sizes, const OpenNumber& flops) {
  const std::string least = flops.is_partial ? "at least " : "";
  if (flops.exact && is_readable(*flops.exact, kMostTerms)) {
    const std::string pinned = pinned_text(sizes);
    return least + product_text(*flops.exact, sizes, flops_text) +
           (pinned.empty() ? "" : " at " + pinned);
  }
  return least + flops_text(flops.at_first) + " at " + first_sizes_text(sizes);
}

std::string open_flops_cell(const OpenNumber& flops, const OpenSizes& sizes) {
  return cell(flops, sizes, flops_text);
}

std::string open_bytes_cell(const OpenNumber& bytes, const OpenSizes& sizes) {
  return cell(bytes, sizes, bytes_of);
}

std::string first_sizes_text(const OpenSizes& sizes) {
  std::string text = pinned_text(sizes);
  for (std::size_t i = 0; i < sizes.names.size(); ++i) {
    text += (text.empty() ? "" : ", ") + escaped(sizes.names[i]) + "=" +
            std::to_string(sizes.grid.first[i]);
  }
  return text;
}

std::string steps_text(const OpenSizes& sizes) {
  if (!sizes.is_for_steps) return {};
  std::string text;
  for (std::size_t i = 0; i < sizes.names.size(); ++i) {
    if (sizes.grid.step[i] == 1) continue;
    text += (text.empty() ? "" : ", ") + escaped(sizes.names[i]) + " in steps of " +
            std::to_string(sizes.grid.step[i]);
  }
  return text;
}

void write_open_number(JsonText& json, std::string_view key, const OpenNumber& number,
                       const OpenSizes& sizes) {
  json.begin_object(key, JsonText::Layout::one_line);
  json.key("expression");
  number.exact ? json.text(expression_text(*number.exact, sizes.names)) : json.null();
  json.number("at_first", number.at_first);
  json.flag("is_partial", number.is_partial);
  json.end_object();
}

void write_open_dims(JsonText& json, const OpenSizes& sizes) {
  json.begin_object("dims");
  for (std::size_t i = 0; i < sizes.names.size(); ++i) {
    json.text_key(sizes.names[i]);
    json.begin_object(JsonText::Layout::one_line);
    json.number("first", sizes.grid.first[i]);
    json.number("step", sizes.grid.step[i]);
    json.end_object();
  }
  for (const auto& [name, size] : sizes.pinned) {
    json.text_key(name);
    json.begin_object(JsonText::Layout::one_line);
    json.number("first", size);
    json.number("step", 0);
    json.end_object();
  }
  json.end_object();
  json.flag("is_for_steps", sizes.is_for_steps);
}

}  // namespace cleave
