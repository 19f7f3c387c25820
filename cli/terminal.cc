// cli/terminal.cc
