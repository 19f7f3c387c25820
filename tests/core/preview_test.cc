// core/preview_test.cc
