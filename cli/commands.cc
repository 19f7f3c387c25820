// cli/commands.cc
