#include "formats/run/lowering/part_artefacts.h"

#include <filesystem>

#include "formats/base/io/sha256.h"
#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeepsNothing = "this backend keeps nothing";

// A name of one component that begins with the stem: a worker does not choose other places.
bool is_own_name(const std::string& name, const std::string& stem) {
  return fs::path(name).filename() == name && name.size() > stem.size() && name.starts_with(stem);
}

// Renames, or copies to another file system.
std::error_code move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return {};
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  return error;
}

class Mover {
 public:
  explicit Mover(const PlaceOfArtefacts& place) : place_(place) {}

  // Error: the file cannot be moved. A file that is not the worker's to name ends in `why`.
  Status<Error> move(const KeptFiles::File& file, PartArtefacts& artefacts) const {
    const fs::path from = fs::path(place_.work) / file.name;
    const auto source = is_own_name(file.name, place_.stem) ? SourceFile::open(from.string())
                                                            : Loaded<SourceFile>(Diagnostics{});
    if (!source || source->bytes().empty()) {
      artefacts.why = "the worker says that it wrote " + escaped_in_quotes(file.name) +
                      ", and there is no such file";
      return Done{};
    }
    artefacts.files.push_back(
        {.file = fs::path(place_.folder).filename().string() + "/" + file.name,
         .role = file.role,
         .bytes = source->bytes().size(),
         .sha256 = sha256_hex(source->bytes())});
    const fs::path to = fs::path(place_.folder) / file.name;
    if (const std::error_code error = move_file(from, to)) {
      return Error{to.string() + ": cannot be written: " + error.message()};
    }
    return Done{};
  }

 private:
  const PlaceOfArtefacts& place_;
};

}  // namespace

bool may_keep(const Backend& backend) {
  return backend.serve && backend.has(LowerStage::compile) &&
         backend.command(LowerStage::compile) == nullptr;
}

Result<PartArtefacts, Error> keep_artefacts(PieceLowerer& lowerer, const Piece& piece,
                                            const PlaceOfArtefacts& place) {
  std::error_code error;
  for (const std::string& folder : {place.work, place.folder}) {
    fs::create_directories(folder, error);
    if (error) return Error{folder + ": cannot be made: " + error.message()};
  }
  auto attempt = lowerer.keep(piece, (fs::path(place.work) / place.stem).string(), place.same);
  if (!attempt) return attempt.error();
  if (attempt->verdict == LowerVerdict::no_room) {
    return Error{"there is no space left for the backend's output"};
  }
  PartArtefacts artefacts;
  if (attempt->verdict != LowerVerdict::lowered) {
    artefacts.why = "it was not compiled again: " + verdict_words(*attempt) + ": " +
                    first_line(attempt->message, 200);
  } else if (attempt->kept.files.empty()) {
    artefacts.why = attempt->kept.note.empty() ? kKeepsNothing : attempt->kept.note;
  }
  const Mover mover(place);
  for (const KeptFiles::File& file : attempt->kept.files) {
    if (!artefacts.why.empty()) break;
    if (auto moved = mover.move(file, artefacts); !moved) return moved.error();
  }
  if (!artefacts.why.empty()) artefacts.files.clear();
  artefacts.inputs = std::move(attempt->kept.inputs);
  artefacts.outputs = std::move(attempt->kept.outputs);
  artefacts.target = std::move(attempt->kept.target);
  fs::remove_all(place.work, error);
  return artefacts;
}

}  // namespace cleave
