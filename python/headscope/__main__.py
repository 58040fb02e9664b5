"""`python -m headscope`: the command `headscope`."""
from .program import main

main()
