// MoveJournal: makes a set of files that is moved into a folder appear completely or not at all,
// even when the process is killed between two moves. Before the first move it records which files
// are to be moved and which they replace; it is removed with the temporary folder when all are in
// place. The next run that writes there undoes a journal whose process is gone.
//
//   models/.cleave-4711-0/moves.journal      the journal, in the temporary folder
//   models/.cleave-4711-0/root.onnx          a new file before its move, an old one after it
//   models/root.onnx
//
// Files are identified by device, inode, size and time of change, so that undoing moves no file
// that is not part of the set: the system may reuse the inode of a removed file. The journal
// survives a kill, but not a crash of the system (no file is synced to disk).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "formats/base/io/descriptor.h"
#include "formats/base/io/file_id.h"
#include "formats/base/io/file_stamp.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

class MoveJournal {
 public:
  // Begins a journal for moving `names` from the folder `from`, which is inside `to`, to `to`, and
  // for removing `removed` from `to`. The journal is open and locked while this object lives.
  static Loaded<MoveJournal> begin(const std::string& from, const std::string& to,
                                   std::span<const std::string> names,
                                   std::span<const std::string> removed);

  // False when a file to be replaced or removed was a different file by then; that file is now in
  // `from` under its name, possibly with "-old" appended.
  bool replaced_what_it_says() const;
  // Removes the journal, after the moves are done or undone.
  void end();

  // Identifies a file wherever it is moved.
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

// Restores what killed runs left half-done in the folder, and removes their temporary folders.
// Refuses while another run writes there, and when a file cannot be restored.
Status<Diagnostics> undo_unfinished_moves(const std::string& folder);

}  // namespace cleave
