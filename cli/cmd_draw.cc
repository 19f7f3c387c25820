// cli/cmd_draw.cc
