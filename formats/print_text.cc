// formats/print_text.cc
