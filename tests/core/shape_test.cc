// core/shape_test.cc
