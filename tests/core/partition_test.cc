// core/partition_test.cc
