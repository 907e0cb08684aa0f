"""Ctrl-C and its kin: noted when they come, acted on at safe points."""

from __future__ import annotations

import signal
import time


class StopRequested(Exception):
    """A person or a supervisor asked this script to end."""


class Signals:
    """Counts the requests to stop.

    Nothing is thrown out of a handler: a process that was just started would be forgotten and
    left behind. Whoever waits calls `check` or `pause` instead.
    """

    def __init__(self) -> None:
        self.count = 0
        self.last = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self._note)

    def _note(self, number: int, frame: object) -> None:
        self.count += 1
        self.last = number

    def check(self) -> None:
        if self.count:
            raise StopRequested

    def pause(self, seconds: float) -> None:
        self.check()
        time.sleep(seconds)
        self.check()
