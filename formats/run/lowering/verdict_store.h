// Known verdicts: those of this run, those in the journal of a killed run, and those in the cache
// shared by all runs.
//
//   journal   one line of JSON for each verdict, written when it is added; a last line that is cut off
//             is dropped. A run that was killed loses the compiles that were running. Other lines name
//             the run's temporary folders, which the next run removes. The journal is locked, so
//             that only one run at a time uses it.
//   cache     one file for each verdict, named by its key: cleave's version, backend file, the
//             backend's version, piece, and what was compared how. Timeouts and crashes are not kept
//             unless failures are trusted, since they may have other causes than the piece.
//
// Both may have been damaged since: a line with a field that cleave would not have written is no
// verdict.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "formats/base/io/journal_file.h"
#include "formats/run/backend/attempt.h"

namespace cleave {

// $XDG_CACHE_HOME/cleave/lower, else ~/.cache/cleave/lower; "" when neither is set.
std::string default_verdict_cache();

// The number of verdicts in the journal at `path`; 0 when there is none.
std::size_t count_journaled(const std::string& path);

class VerdictStore {
 public:
  // Folders of the cache are made when they are needed; "": no cache.
  explicit VerdictStore(std::string cache_folder, bool trusts_failures = false)
      : cache_(std::move(cache_folder)), trusts_failures_(trusts_failures) {}
  VerdictStore(const VerdictStore&) = delete;
  VerdictStore& operator=(const VerdictStore&) = delete;

  // Reads the journal and continues it; removes temporary folders that its earlier runs left when
  // they were killed. `folders`: absolute paths of those that this run has made. Error: the file is
  // not such a journal, cannot be written, or another run uses it.
  Status<Error> open_journal(const std::string& path, const std::vector<std::string>& folders = {});

  // The known verdict for the key. One from the journal is not a cache hit, since this run made it.
  // nullopt: the caller must ask and then add() the verdict; other threads that look for the key
  // wait for it, so that no piece is compiled twice.
  std::optional<Attempt> find(const std::string& key);
  // Adds a verdict, once for each key. The journal gets it when it is the compiler's answer: a fault
  // on our side, or of a run that is being stopped, is none. Error: the journal cannot be written.
  Status<Error> add(const std::string& key, const Attempt& attempt);
  // Lets another thread ask, if the verdict was not added.
  void release(const std::string& key);

 private:
  std::string cache_path(const std::string& key) const;
  std::optional<Attempt> find_in_cache(const std::string& key) const;

  bool is_worth_keeping(LowerVerdict verdict) const;

  std::string cache_;
  bool trusts_failures_;
  std::optional<JournalFile> journal_;
  std::mutex mutex_;
  std::condition_variable added_;
  std::unordered_set<std::string> asked_;          // by a thread that has not added the verdict yet
  std::unordered_map<std::string, Attempt> seen_;  // in this run
  // from the previous run, and not asked for yet
  std::unordered_map<std::string, Attempt> journaled_;
};

// Releases a key for which find() knew nothing, when the caller's scope ends, however it ends.
class AskedKey {
 public:
  AskedKey(VerdictStore& store, std::string key) : store_(store), key_(std::move(key)) {}
  ~AskedKey() { store_.release(key_); }
  AskedKey(const AskedKey&) = delete;
  AskedKey& operator=(const AskedKey&) = delete;

 private:
  VerdictStore& store_;
  std::string key_;
};

}  // namespace cleave
