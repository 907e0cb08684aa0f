"""Run a command that ends with whoever started it: tether.py PARENT [--user UID] COMMAND…

Where the kernel can (Linux), it sends SIGTERM to the command as soon as its parent is gone, even
when that one was killed outright. A small program of its own, because the same from a
`preexec_fn` is unsafe once a process has threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    parent, *arguments = arguments
    if arguments[0] == "--user":
        _become(int(arguments[1]))
        arguments = arguments[2:]
    if sys.platform == "linux":
        # After the change of user, which would clear it.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != int(parent):  # it was quicker than the line above
            sys.exit("The process that started this one is gone.")
    os.execvp(arguments[0], arguments)


def _become(uid: int) -> None:
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


if __name__ == "__main__":
    main(sys.argv[1:])
