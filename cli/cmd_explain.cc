// cli/cmd_explain.cc
