#include "formats/base/io/weight_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "formats/base/io/descriptor.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

// Why a location is refused without a lookup; empty when it is acceptable.
std::string_view fault_of_location(std::string_view location) {
  if (location.empty()) return "names no file";
  if (location.find('\0') != location.npos) return "holds a zero byte";
  const fs::path path(location);
  if (path.is_absolute()) return "is absolute: it must be relative to the model's folder";
  const auto up = [](const fs::path& step) { return step == ".."; };
  if (std::any_of(path.begin(), path.end(), up))
    return "holds \"..\": it must stay in the model's folder";
  return {};
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  const auto [at, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return at == folder.end() && rest != file.end();
}

}  // namespace

WeightFiles::WeightFiles(std::string folder, std::vector<ByteSource>& sources)
    : folder_(std::move(folder)), sources_(sources) {}

Result<WeightFiles::File, std::string> WeightFiles::add(std::string_view location) {
  if (const std::string_view fault = fault_of_location(location); !fault.empty()) {
    return std::string(fault);
  }
  std::error_code error;
  const fs::path folder = fs::canonical(folder_, error);
  if (error) return "cannot be looked up: " + error.message();
  const fs::path file = fs::canonical(folder / fs::path(location), error);
  if (error) return "cannot be opened: " + error.message();
  if (!is_inside(file, folder)) {
    return std::string("leads out of the model's folder through a link");
  }
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return "cannot be opened: " + system_words(errno);
  if (!S_ISREG(status.st_mode)) return std::string("is not a regular file");
  sources_.push_back({.fd = -1, .path = file.string(), .stamp = file_stamp(status)});
  return File{.source = static_cast<std::uint32_t>(sources_.size() - 1),
              .size = static_cast<std::uint64_t>(status.st_size)};
}

Result<WeightFiles::File, std::string> WeightFiles::find(std::string_view location) {
  if (const auto known = files_.find(std::string(location)); known != files_.end()) {
    return known->second;
  }
  Result<File, std::string> file = add(location);
  if (file) files_.emplace(location, *file);
  return file;
}

std::string fault_of_range(const WeightFiles::File& file, std::uint64_t offset,
                           std::uint64_t length) {
  if (offset > file.size) {
    return "begins at byte " + std::to_string(offset) + ", after the file's end at " +
           std::to_string(file.size);
  }
  if (length > file.size - offset) {
    return "is " + std::to_string(length) + " bytes long, but the file ends after " +
           std::to_string(file.size - offset);
  }
  return {};
}

}  // namespace cleave
