// cli/cmd_preview.cc
