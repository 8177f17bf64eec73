"""Namespaces in which a test may mount, and has a network of its own, also for an ordinary user."""

import os
import sys


def enter(kinds, *cases):
    """Starts this program again for these cases in namespaces of its own. `kinds` are flags of unshare(1): "m", "mn". An ordinary user also gets
    a user namespace around them. Returns when the program runs in them."""
    if os.environ.get("PAWL_TEST_INSIDE"):
        return
    os.environ["PAWL_TEST_INSIDE"] = "1"
    os.execvp("unshare", ["unshare", f"-{'' if os.geteuid() == 0 else 'Ur'}{kinds}", sys.executable, sys.argv[0], *cases])
