// The record of files that this process reads: its inputs, and the files that those refer to. Code
// that writes a file checks the record first, so that no output replaces or removes an input under
// any name.
//
// A file is identified by device and inode: a hard link or a symbolic link to an input is that
// input. Where the file system tells when a file was made, that counts, too: the inode of a removed
// file is soon another file's. There is one record per process, as in InputWatch. A program that
// writes files it read earlier calls forget_inputs() in between.
#pragma once

#include <string>

#include "formats/base/text/diagnostic.h"

namespace cleave {

// Adds the file that the path leads to, if it is a regular file and no temporary of this process.
// `shown` is its name in messages.
void record_input(const std::string& path, const std::string& shown);
inline void record_input(const std::string& path) { record_input(path, path); }
// Adds an open file.
void record_open_input(int file, const std::string& shown);
// Adds every file in the folder and in folders within, apart from temporaries. Error: what cannot be
// looked at.
Status<Diagnostics> record_inputs_below(const std::string& folder);

// The shown name of the input at the path, following links; "" when it is not an input.
std::string input_at_path(const std::string& path);

// The same for any entry of the folder, at any depth. Links to folders are not entered. Error: what
// cannot be looked at, so that an input may be there.
Loaded<std::string> input_in_folder(const std::string& folder);

void forget_inputs();

}  // namespace cleave
