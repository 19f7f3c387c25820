// cli/cmd_support.cc
