// cli/cmd_convert.cc
