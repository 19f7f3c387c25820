// core/adjacency_test.cc
