// formats/support_file_test.cc
