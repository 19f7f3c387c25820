// core/link_test.cc
