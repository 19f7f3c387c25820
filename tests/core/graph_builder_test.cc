// core/graph_builder_test.cc
