// formats/dot_test.cc
