#!/usr/bin/env python3
"""Whether the loads of the reading kernels are in the machine code: usage cuobjdump plug-in.

The compiler drops a load whose value nothing uses, and moves it behind the condition that hides its
use; either would make the benchmark measure nothing.
"""
import re
import subprocess
import sys

# Kernel: the load that it must do, and how many of them at the least, unrolled ones and the rest.
WANTED = {"read_kernel": (r"LDG\.E\.128", 5), "copy_kernel": (r"LDG\.E\.128", 5),
          "read_words_kernel": (r"LDG\.E", 5), "chase_kernel": (r"LD(G)?\.E\.64", 1)}


def functions(code):
    """Name and lines of each kernel."""
    for part in re.split(r"^\s*Function : ", code, flags=re.M)[1:]:
        name, _, body = part.partition("\n")
        yield name.strip(), body.splitlines()


def faults_in(name, lines, load, least):
    loads = [i for i, line in enumerate(lines) if re.search(r"\b" + load, line)]
    if len(loads) < least:
        yield f"{name}: {len(loads)} loads {load}, not {least}"
    # The stores that the sink hides come last: no load may wait for its condition.
    stores = [i for i, line in enumerate(lines) if re.search(r"\b(ATOM|ATOMG|RED|REDG)\.", line)]
    if loads and stores and min(loads) > min(stores):
        yield f"{name}: its first load comes after the dummy store"


def main():
    code = subprocess.run([sys.argv[1], "--dump-sass", sys.argv[2]], check=True, text=True,
                          capture_output=True).stdout
    found = dict.fromkeys(WANTED, 0)
    faults = []
    for name, lines in functions(code):
        for kernel, (load, least) in WANTED.items():
            if re.search(rf"\d{kernel}", name):
                found[kernel] += 1
                faults += faults_in(name, lines, load, least)
    faults += [f"{kernel} is not in {sys.argv[2]}" for kernel, times in found.items() if not times]
    print("\n".join(faults) or f"all loads are there: {', '.join(WANTED)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
