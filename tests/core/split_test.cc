// core/split_test.cc
