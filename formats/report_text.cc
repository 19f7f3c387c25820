// formats/report_text.cc
