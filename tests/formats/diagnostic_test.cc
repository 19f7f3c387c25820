// formats/diagnostic_test.cc
