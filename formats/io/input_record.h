// The files that this process reads: its inputs, and the files that those refer to. What writes a
// file asks here first, so that no output replaces or removes an input, whatever either is called.
//
// A file is known by device and inode: a hard link or a symbolic link to an input is that input. The
// record is one list of the whole process, as that of InputWatch is. A program that writes what it
// read before calls forget_inputs() in between.
#pragma once

#include <string>

#include "formats/io/file_id.h"

namespace cleave {

// Adds the file that the path leads to; nothing where there is none, or it is no regular file.
// `shown`: what messages call it.
void record_input(const std::string& path, const std::string& shown);
inline void record_input(const std::string& path) { record_input(path, path); }
// Adds an open file.
void record_input(const FileId& file, const std::string& shown);

// What the input is called that is the file at the path, links followed; "" when that is no input.
std::string input_at_path(const std::string& path);

// The same for one of the entries of the folder; not of folders in it.
std::string input_in_folder(const std::string& folder);

void forget_inputs();

}  // namespace cleave
