#include "cli/options/config_file.h"

#include <algorithm>
#include <sstream>

namespace cleave {
namespace {

constexpr std::size_t kMostConfigBytes = 4'000'000;

std::string with_dashes(std::string_view name) {
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  return dashed;
}

std::string_view trimmed(std::string_view text, std::string_view ends) {
  const std::size_t begin = text.find_first_not_of(ends);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(ends) + 1 - begin);
}

}  // namespace

std::vector<CLI::ConfigItem> ConfigFile::from_config(std::istream& text) const {
  std::string bytes(kMostConfigBytes + 1, '\0');
  text.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(text.gcount()));
  if (bytes.size() > kMostConfigBytes) {
    throw CLI::ConfigError("the configuration file has more than " +
                           std::to_string(kMostConfigBytes) + " bytes");
  }
  std::istringstream held(bytes);
  std::vector<CLI::ConfigItem> read = CLI::ConfigTOML::from_config(held);
  for (CLI::ConfigItem& item : read) item.name = with_dashes(item.name);
  return read;
}

std::uint64_t offset_of_key(std::string_view text, std::string_view key) {
  constexpr std::string_view kBlank = " \t\r", kBrackets = "[] \t\r", kQuotes = "\"' \t\r";
  std::string section;  // with its dot
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(text.substr(begin, end - begin), kBlank);
    if (line.starts_with('[') && line.ends_with(']')) {
      section = std::string(trimmed(line, kBrackets)) + ".";
      if (section == "default.") section.clear();
    } else if (section + with_dashes(trimmed(line.substr(0, line.find('=')), kQuotes)) == key) {
      return begin + static_cast<std::uint64_t>(line.data() - (text.data() + begin));
    }
    begin = end + 1;
  }
  return text.npos;
}

}  // namespace cleave
