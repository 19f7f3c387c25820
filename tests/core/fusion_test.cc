// core/fusion_test.cc
