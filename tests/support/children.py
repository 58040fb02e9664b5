"""Child processes that end with the test that started them."""

import ctypes
import os
import signal
import subprocess

LIBC = ctypes.CDLL(None)
PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h


def ending_with_parent(first=None):
    """A preexec_fn of subprocess: calls `first` in the child, which is then killed when this process ends."""
    parent = os.getpid()

    def prepare():
        # A change of user would take the signal back.
        if first is not None:
            first()
        LIBC.prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(127)

    return prepare


def run(command, **options):
    """subprocess.run, but the child ends with this process."""
    return subprocess.run(command, preexec_fn=ending_with_parent(), **options)
