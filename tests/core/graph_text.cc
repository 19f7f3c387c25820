// core/graph_text.cc
