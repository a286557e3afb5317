"""How a check of the tree runs: `NAME.py FOLDER` prints its faults, `NAME.py --self-test` tests the check itself."""

import sys


def run(check, self_test):
    """The exit status."""
    if "--self-test" in sys.argv:
        self_test()
        return 0
    faults = check(sys.argv[1])
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0
