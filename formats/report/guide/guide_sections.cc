#include <algorithm>

#include "formats/report/guide/guide.h"

namespace cleave {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

std::string topic_of(std::string_view title) {
  std::string topic;
  for (const char c : lower(title)) {
    if (is_letter(c)) topic += c;
    if (c == ' ' || c == '-') topic += '-';
  }
  return topic;
}

// The number of # before a title; 0 for another line.
std::uint8_t level_of(std::string_view line) {
  const std::size_t marks = std::min(line.find_first_not_of('#'), line.size());
  const bool is_title = marks > 0 && marks <= 6 && marks < line.size() && line[marks] == ' ';
  return is_title ? static_cast<std::uint8_t>(marks) : std::uint8_t{0};
}

// The first sentence of the plain text below a title and its rule.
std::string first_sentence(std::string_view section) {
  std::string text = plain_text(section);
  for (int line = 0; line < 3; ++line)
    text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  text.erase(0, std::min(text.find_first_not_of('\n'), text.size()));
  text.erase(std::min(text.find("\n\n"), text.size()));
  std::replace(text.begin(), text.end(), '\n', ' ');
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool ends = text[at] == '.' || text[at] == '?' || text[at] == ':';
    if (ends && (at + 1 == text.size() || text[at + 1] == ' ')) return text.substr(0, at + 1);
  }
  return text;
}

// Whether a word of the text begins with `start`, both in lower case.
bool has_word(std::string_view text, std::string_view start) {
  for (std::size_t at = text.find(start); at != text.npos; at = text.find(start, at + 1)) {
    if (at == 0 || !is_letter(text[at - 1])) return true;
  }
  return false;
}

}  // namespace

std::vector<GuideSection> guide_sections(std::string_view markdown) {
  std::vector<GuideSection> sections;
  std::vector<std::size_t> starts;
  bool is_fenced = false;
  for (std::size_t at = 0, end = 0; at < markdown.size(); at = end) {
    const std::size_t line_end = std::min(markdown.find('\n', at), markdown.size());
    const std::string_view line = markdown.substr(at, line_end - at);
    end = line_end + 1;
    if (line.starts_with("```")) is_fenced = !is_fenced;
    const std::uint8_t level = is_fenced ? std::uint8_t{0} : level_of(line);
    if (level < 2) continue;
    const std::string title(line.substr(level + 1U));
    sections.push_back({topic_of(title), title, {}, level, {}});
    starts.push_back(at);
  }
  for (std::size_t i = 0; i < sections.size(); ++i) {
    std::size_t next = i + 1;
    while (next < sections.size() && sections[next].level > sections[i].level) ++next;
    const std::size_t end = next < sections.size() ? starts[next] : markdown.size();
    sections[i].text = markdown.substr(starts[i], end - starts[i]);
    sections[i].says = first_sentence(sections[i].text);
  }
  return sections;
}

std::vector<std::size_t> find_sections(const std::vector<GuideSection>& sections,
                                       const std::vector<std::string>& words) {
  std::string topic;
  std::vector<std::string> wanted;
  for (const std::string& word : words) {
    topic += (topic.empty() ? "" : "-") + topic_of(word);
    std::string text = lower(word);
    std::replace(text.begin(), text.end(), '-', ' ');
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
      end = std::min(text.find(' ', at), text.size());
      if (end > at) wanted.push_back(text.substr(at, end - at));
    }
  }
  const auto matches = [&](const auto& text_of) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < sections.size(); ++i) {
      std::string text = lower(text_of(sections[i]));
      std::replace(text.begin(), text.end(), '-', ' ');
      const bool has_all = std::all_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
        return has_word(text, word);
      });
      if (has_all) found.push_back(i);
    }
    return found;
  };
  const auto is_topic = [&](const GuideSection& section) { return section.topic == topic; };
  const auto same = std::find_if(sections.begin(), sections.end(), is_topic);
  if (same != sections.end()) return {static_cast<std::size_t>(same - sections.begin())};
  const auto in_titles = matches([](const GuideSection& section) { return section.title; });
  if (in_titles.empty()) {
    return matches([](const GuideSection& section) { return section.text; });
  }
  std::vector<std::size_t> chapters;
  std::copy_if(in_titles.begin(), in_titles.end(), std::back_inserter(chapters),
               [&](std::size_t i) { return sections[i].level == 2; });
  return chapters.size() == 1 ? chapters : in_titles;
}

}  // namespace cleave
