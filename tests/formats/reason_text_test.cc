// formats/reason_text_test.cc
