// formats/graph_json_writer.cc
