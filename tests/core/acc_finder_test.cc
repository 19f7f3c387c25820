// core/acc_finder_test.cc
