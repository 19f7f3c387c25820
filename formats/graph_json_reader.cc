// formats/graph_json_reader.cc
