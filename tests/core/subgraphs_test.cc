// core/subgraphs_test.cc
