#!/usr/bin/env python3
"""scripts/bench: see front.py for what a person sees, figures.py for what is measured."""

import os
import signal
import subprocess
import sys

import build
import figures
import front


def interrupted_once(*_):
    # A second Ctrl-C must not interrupt the clean-up after the first.
    signal.signal(signal.SIGINT, lambda *_: None)
    raise KeyboardInterrupt


def main():
    os.chdir(build.ROOT)
    signal.signal(signal.SIGINT, interrupted_once)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return front.main(sys.argv[1:], figures.GROUPS, build.prepare, sys.stdout, sys.stderr)
    except subprocess.CalledProcessError as error:
        print(f"scripts/bench: nothing was measured: '{' '.join(map(str, error.cmd))}' failed; its reason is above", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
