// MoveJournal: makes a set of files that is moved into a folder appear whole or not at all, also when
// the process is killed between two moves. Before the first move it writes down which files are to be
// moved and which they replace; it goes with the temporary folder when all of them are in place. A
// journal that is still there without its process is undone by the next run that writes there.
//
//   models/.cleave-4711-0/moves.journal      the journal, in the temporary folder
//   models/.cleave-4711-0/root.onnx          a new file before its move, an old one after it
//   models/root.onnx
//
// Files are known by device, inode, size and time of change, so that undoing moves nothing that is not
// of the set: an inode alone is given to another file once its own is removed. The
// journal survives a kill; the system's own crash is not provided for (nothing is synced to disk).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "formats/io/descriptor.h"
#include "formats/io/file_id.h"
#include "formats/io/file_stamp.h"
#include "formats/text/diagnostic.h"

namespace cleave {

class MoveJournal {
 public:
  // For moving `names` from the folder `from`, which is inside `to`, to `to`, and taking `removed`
  // out of `to`. Held open and locked as long as it lives.
  static Loaded<MoveJournal> begin(const std::string& from, const std::string& to,
                                   std::span<const std::string> names,
                                   std::span<const std::string> removed);

  // False when a file that was to be replaced or removed was another one by then: what now is in
  // `from` under its name, or with "-old" behind it.
  bool replaced_what_it_says() const;
  // Removes the journal: the moves are done, or undone.
  void end();

  // What a file is known by, wherever it is moved to.
  struct FileMark {
    FileId id;  // zero: there is no file
    FileStamp stamp;

    friend bool operator==(const FileMark&, const FileMark&) = default;
  };
  // A file of the set.
  struct Move {
    std::string name;
    FileMark old_file, new_file;
  };

 private:
  MoveJournal(Descriptor fd, std::string from, std::vector<Move> moves);
  Descriptor fd_;
  std::string from_;
  std::vector<Move> moves_;
};

// Puts back what runs that were killed left half-done in the folder, and removes their temporary
// folders. Refused while another run writes there, and where a file cannot be put back.
Status<Diagnostics> undo_unfinished_moves(const std::string& folder);

}  // namespace cleave
