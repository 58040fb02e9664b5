"""The command `headscope`."""
from __future__ import annotations

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "bin" / "headscope"  # in a wheel


def main() -> None:
    """Replace this process by the program, with the same arguments."""
    try:
        os.execv(PROGRAM, ["headscope", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"headscope: {PROGRAM}: expected the program, got: {error.strerror}")
