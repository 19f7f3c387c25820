// cli/cmd_split.cc
