// Options of commands that run compilers: which ones, against which reference, and how far a culprit
// is searched for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/exit_code.h"
#include "formats/lowering/part_search.h"

namespace CLI {
class App;
}

namespace cleave {

// --reference, --inputs, --seed
struct ReferenceArgs {
  std::string name;
  std::vector<std::string> inputs;
  std::uint64_t seed = 0;

  void add_to(CLI::App& app);
  // The reference, `name` or else ONNX Runtime. Prints why there is none.
  std::optional<Backend> load() const;
  // Prints which of the inputs is not there; false when one is not.
  bool has_inputs() const;
};

struct BackendArgs {
  std::vector<std::string> names;
  ReferenceArgs reference;
  PoolOptions pool;
  SearchSettings search;

  // --backend, which must be given, and all others but those of the search.
  void add_to(CLI::App& app);
  // --culprit, --search-runs, --search-time, --pin-shapes, --freeze-shape-values
  void add_search_to(CLI::App& app);
  // --compare, --strict-ties, --int-tolerance
  void add_compare_to(CLI::App& app);

  // Reads the backends, and the reference where one is asked for or needed, into `pool`. Prints what
  // is wrong; then nullopt.
  std::optional<std::vector<Backend>> load();
  // The rest of `pool`; `work`: an absolute folder that is there.
  void set_up(const std::string& work);

 private:
  std::string launcher_, cache_;
  std::size_t jobs_ = 0;
  std::optional<std::int64_t> integers_;
  bool is_uncached_ = false;
};

}  // namespace cleave
