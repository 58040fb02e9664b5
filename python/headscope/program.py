"""The command `headscope` of this package."""
from __future__ import annotations

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "bin" / "headscope"


def main() -> None:
    """Become the program, with the arguments of this process."""
    os.execv(PROGRAM, ["headscope", *sys.argv[1:]])


if __name__ == "__main__":
    main()
