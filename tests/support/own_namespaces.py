"""Where a test may mount, and have a network of its own, whoever runs it."""

import os
import sys


def enter(kinds, *cases):
    """Begins this program anew for these cases in namespaces of its own, which `kinds` has as unshare(1) does: "m", "mn". Who is not root has
    a user namespace around them. Returns when it is there."""
    if os.environ.get("PAWL_TEST_INSIDE"):
        return
    os.environ["PAWL_TEST_INSIDE"] = "1"
    os.execvp("unshare", ["unshare", f"-{'' if os.geteuid() == 0 else 'Ur'}{kinds}", sys.executable, sys.argv[0], *cases])
