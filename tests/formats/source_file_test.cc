// formats/source_file_test.cc
