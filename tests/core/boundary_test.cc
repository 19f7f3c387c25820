// core/boundary_test.cc
