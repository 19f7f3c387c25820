// core/cost_test.cc
