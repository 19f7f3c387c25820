// core/support_test.cc
