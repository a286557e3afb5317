"""Starts benchmarks: which MPI libraries a build has programs for, and how their ranks are launched."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

FLAVORS = {"openmpi": "Open MPI", "mpich": "MPICH"}
TIMEOUT_S = 1800  # a whole run of one benchmark takes seconds; a hung one must not hang the driver


class BenchmarkFailed(Exception):
    """A benchmark ended with an error, or printed what it should not."""


def cache_entry(build, name):
    """Value of an entry of the build's CMakeCache.txt, or None."""
    cache = pathlib.Path(build) / "CMakeCache.txt"
    if cache.exists():
        for line in cache.read_text().splitlines():
            if line.startswith(name + ":"):
                return line.split("=", 1)[1]
    return None


class Library:
    """One MPI library that the build has benchmarks for."""

    def __init__(self, build, flavor):
        self.build = pathlib.Path(build)
        self.flavor = flavor
        self.title = FLAVORS[flavor]
        mpirun = cache_entry(build, f"STRAKE_MPI_{flavor}_MPIRUN")
        self.mpirun = mpirun or shutil.which(f"mpirun.{flavor}") or "mpirun"
        flags = cache_entry(build, f"STRAKE_MPI_{flavor}_MPIRUN_FLAGS")
        self.flags = [f for f in (flags or "").split(";") if f]
        self.interposer = self.build / "lib" / f"libstrake-mpi-{flavor}.so"

    def program(self, benchmark):
        return self.build / "bin" / f"bench_{benchmark}_{self.flavor}"

    def command(self, benchmark, ranks, arguments, strake, settings):
        """The command line; with `strake`, the interposer is loaded into the ranks and into nothing else."""
        command = [self.mpirun, *self.flags, "-n", str(ranks)]
        if strake:
            # The job's name is the promise of `strake run` that every rank is preloaded.
            variables = {"LD_PRELOAD": str(self.interposer), "STRAKE_JOB": f"bench-{os.getpid()}"}
            variables.update(settings)
            command += ["env", *[f"{name}={value}" for name, value in variables.items()]]
        return [*command, str(self.program(benchmark)), *arguments]


def find_libraries(build, wanted):
    """The libraries of `wanted` (all when empty) that the build has benchmarks for."""
    libraries = [Library(build, f) for f in FLAVORS if not wanted or f in wanted]
    return [library for library in libraries if library.program("pack").exists()]


def run_lines(command, environment=None):
    """Runs a command and gives the lines that it printed. Raises BenchmarkFailed."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise BenchmarkFailed(f"no end after {TIMEOUT_S} s: {' '.join(command)}") from error
    except OSError as error:
        raise BenchmarkFailed(f"cannot start {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise BenchmarkFailed(f"status {done.returncode}: {' '.join(command)}\n{done.stderr.strip()}")
    if done.stderr.strip():
        print(done.stderr.strip(), file=sys.stderr)
    return done.stdout.splitlines()


def run_json(command, environment=None):
    """The JSON lines that a command printed (none, where a filter leaves none). Raises BenchmarkFailed."""
    return [json.loads(line) for line in run_lines(command, environment) if line.startswith("{")]


def run_benchmark(library, benchmark, ranks, arguments, strake, settings):
    """One run. Raises BenchmarkFailed too if the interposer is not where it should be, or is where it should not."""
    command = library.command(benchmark, ranks, arguments, strake, settings)
    lines = run_json(command)
    loaded = {line["interposer"] for line in lines}
    if lines and loaded != {library.interposer.name if strake else ""}:
        raise BenchmarkFailed(f"interposers {sorted(loaded)} were in the ranks of: {' '.join(command)}")
    for line in lines:
        line["flavor"] = library.flavor
        line["with"] = "strake" if strake else "plain"
    return lines
