"""`python -m cleave` is the command `cleave`."""

from .program import main

main()
