// formats/report_test.cc
