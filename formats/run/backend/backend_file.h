// Backend files: `cleave.backend`, a JSON object that describes a compiler (backend.h).
//
//   {"format": "cleave.backend", "version": 1, "name": "tract",
//    "serve": {"argv": ["python3", "{here}/tract_worker.py"]}}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/base/text/diagnostic.h"
#include "formats/run/backend/backend.h"

namespace cleave {

struct LoadedBackend {
  Backend backend;
  std::vector<Diagnostic> warnings;
};

// Reads one file. On error: every fault with its line and column, at most 20.
Loaded<LoadedBackend> read_backend_file(const std::string& path);
// Parses a text as if read from `path`.
Loaded<LoadedBackend> parse_backend(const std::string& path, std::string_view bytes);

// The short form of --backend, `NAME='cmd {model} -o {out}'`: a backend with one compile command.
// The text is split into words as a shell does it, but without a shell. Error: what is wrong with
// it.
Result<Backend, std::string> parse_short_backend(std::string_view text);
// True for a text in the short form rather than a path.
bool is_short_backend(std::string_view text);

// Splits words as a shell would: blanks, '...', "..." and \. nullopt when a quote is not closed.
std::optional<std::vector<std::string>> shell_words(std::string_view text);

// Where backend files are found by name: $CLEAVE_BACKENDS (folders separated by ":"), those
// installed with the program, and samples/backends of the sources that it was built in. Never the
// working folder: that may be anybody's, and backend files name commands.

// The folders that exist, in the order of search.
std::vector<std::string> backend_folders();

// The folder with cleave's own samples and scripts, {cleave} in words of commands; "" when it is not known.
// `here`: the folder of the backend file, which may be one of cleave's own.
std::string cleave_folder(const std::string& here);

// The paths of the *.json files in these folders, sorted by name within each folder.
std::vector<std::string> backend_files();

// The backend that --backend gives: a file, a short form, or the name of a file in one of the
// folders without ".json", or the name that such a file states.
Loaded<LoadedBackend> find_backend(const std::string& text);

}  // namespace cleave
