"""`python -m cleave` is the command `cleave`; `run` and `verify` run models in this Python."""

import sys

if sys.argv[1:2] in (["run"], ["verify"]):
    from .scripts import run

    run("cleave", "runner.py")
else:
    from .program import main

    main()
