// cli/cmd_print.cc
