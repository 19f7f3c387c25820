// cli/model_args.cc
