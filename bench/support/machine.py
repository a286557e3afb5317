"""Says what the numbers were measured on."""

import os
import pathlib
import platform
import subprocess
import sys


def first_line(path, default="unknown"):
    try:
        return pathlib.Path(path).read_text().splitlines()[0].strip()
    except (OSError, IndexError):
        return default


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def caches():
    """Sizes of the first processor's caches: "L1d 48K, L2 1024K, L3 32768K"."""
    found = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if first_line(index / "type") != "Instruction":
            level = first_line(index / "level")
            found.append(f"L{level}{'d' if level == '1' else ''} {first_line(index / 'size')}")
    return ", ".join(found) or "unknown"


def memory_gib():
    kib = int(first_line("/proc/meminfo", "MemTotal: 0 kB").split()[1])
    return round(kib / 2**20)


def busy():
    """Whether other work holds more than a quarter of the cores: times of several ranks then say nothing."""
    return os.getloadavg()[0] > 0.25 * len(os.sched_getaffinity(0))


def begin(driver, root, quick):
    """Tells benchmarks their revision, and people that this machine is busy. Gives the load."""
    load = os.getloadavg()[0]
    if busy() and not quick:
        print(f"{driver}: this machine is busy (load {load:.1f}): ranks that wait for a core show as slow messages",
              file=sys.stderr)
    os.environ.setdefault("BENCH_GIT", revision(root))
    return load


def revision(root):
    """Revision of the sources: BENCH_GIT where it is set, else what git says, else empty."""
    return os.environ.get("BENCH_GIT") or output_of("git", "--no-optional-locks", "-C", str(root), "describe",
                                                     "--always", "--dirty")


def describe(driver, root, results):
    """The lines of a table about this machine, the libraries that `results` came from, and the driver's command."""
    libraries = sorted({line["mpi"] for line in results})
    cpus = sorted({line["host_cpu"] for line in results})
    # [always] madvise never: the word in brackets is in force.
    pages = first_line("/sys/kernel/mm/transparent_hugepage/enabled", "[unknown]")
    about = [
        ("CPU", f"{', '.join(cpus)}, {len(os.sched_getaffinity(0))} cores, {caches()}"),
        ("memory", f"{memory_gib()} GiB, transparent huge pages: {pages.split('[')[-1].split(']')[0]}"),
        ("system", f"Linux {platform.release()}, {platform.libc_ver()[0]} {platform.libc_ver()[1]}"),
        ("MPI", ", ".join(libraries)),
        ("load before", ", ".join(sorted({f"{line['load_before']:.1f}" for line in results}))),
        ("revision", revision(root) or "unknown"),
        ("command", f"`{' '.join([f'bench/{driver}', *sys.argv[1:]])}`"),
    ]
    return ["| | |", "|:--|:--|", *[f"| {what} | {value} |" for what, value in about]]
