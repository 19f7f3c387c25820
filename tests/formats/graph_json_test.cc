// formats/graph_json_test.cc
