// formats/report_json.cc
