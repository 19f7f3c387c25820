#include "tests/fuzz/writing.h"

#include <unistd.h>

#include <filesystem>

#include "tests/fuzz/demands.h"
#include "tests/fuzz/rendering.h"

namespace cleave::fuzz {
namespace {

constexpr std::size_t kWriteOneIn = 8;

void demand_writable(const LoadedModel& model, const std::vector<SupportList>& lists,
                     const Writing& writing) {
  const auto split = split_graph({model.graph, lists, op_facts(model)}, {});
  demand(split.has_value(), "a graph is split");
  const std::string path = scratch() + "/out";
  auto folder = OutputFolder::create(path, true);
  demand(folder.has_value(), "there is room for a folder");
  const std::vector<std::string> files = writing.write(model, *split, *folder);
  if (files.empty()) return;
  demand(folder->commit().has_value(), "the folder is put into place");
  for (const std::string& file : files) {
    const auto source = SourceFile::open(path + "/" + file);
    demand(source.has_value(), "what was written is there");
    demand(writing.is_readable(*source), "what was written can be read");
  }
  std::filesystem::remove_all(path);
}

}  // namespace

const std::string& scratch() {
  static const std::string path = [] {
    const bool has_memory = std::filesystem::is_directory("/dev/shm");
    std::filesystem::path folder =
        has_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    folder /= "cleave-fuzz-" + std::to_string(::getpid());
    std::filesystem::create_directory(folder);
    return folder.string();
  }();
  return path;
}

void demand_split_and_written(const LoadedModel& model, std::string_view bytes,
                              const Writing& writing) {
  const auto lists = some_support(model.graph, bytes.size());
  demand_good_split(model, lists);
  std::size_t sum = 0;
  for (const char c : bytes) sum = sum * 31 + static_cast<unsigned char>(c);
  if (sum % kWriteOneIn == 0) demand_writable(model, lists, writing);
}

}  // namespace cleave::fuzz
