// core/extend_test.cc
