"""Starts benchmarks: which MPI libraries a build has programs for, and how their ranks are launched."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FLAVORS = {"openmpi": "Open MPI", "mpich": "MPICH"}
NODES = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "support" / "nodes.sh"
TIMEOUT_S = 1800  # a whole run of one benchmark takes seconds; a hung one must not hang the driver


class BenchmarkFailed(Exception):
    """A benchmark ended with an error, or printed what it should not."""


class BenchmarkHung(BenchmarkFailed):
    """A benchmark did not end, or did not pass its turn on."""


class CannotRun(BenchmarkFailed):
    """A benchmark can't run on this machine (status 77)."""


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

    def launch(self, ranks, nodes):
        """The launcher and its options. Several nodes, of equally many ranks, are network namespaces of this machine."""
        if nodes > 1:
            variables = [f"RANKS_A_NODE={ranks // nodes}"]
            # Open MPI sees the ranks of one node, not that all of them share these cores.
            if ranks > len(os.sched_getaffinity(0)):
                variables.append("OMPI_MCA_mpi_yield_when_idle=1")
            return ["env", *variables, str(NODES), str(nodes), self.flavor, str(TIMEOUT_S)]
        command = [self.mpirun, *self.flags]
        # As Open MPI does by itself: jobs are compared on the same cores.
        if self.flavor == "mpich" and ranks <= len(os.sched_getaffinity(0)):
            command += ["-bind-to", "core"]
        return [*command, "-n", str(ranks)]

    def command(self, benchmark, ranks, arguments, strake, settings, nodes=1):
        """The command line; with `strake`, the interposer is loaded into the ranks and into nothing else."""
        command = self.launch(ranks, nodes)
        if strake:
            # The job's name is the promise of `strake run` that every rank is preloaded.
            preload = [self.interposer]
            if settings.get("STRAKE_SHARED_HEAP") == "1":
                preload.append(self.interposer.parent / "libstrake-heap.so")
            variables = {"LD_PRELOAD": ":".join(map(str, preload)), "STRAKE_JOB": f"bench-{os.getpid()}"}
            variables.update(settings)
            command += ["env", *[f"{name}={value}" for name, value in variables.items()]]
        return [*command, str(self.program(benchmark)), *arguments]


def find_libraries(build, wanted, benchmark="pack"):
    """The libraries of `wanted` (all when empty) that the build has `benchmark` for."""
    libraries = [Library(build, f) for f in FLAVORS if not wanted or f in wanted]
    return [library for library in libraries if library.program(benchmark).exists()]


def own_folder(folder, job):
    """Variables by which a job of Open MPI keeps its files in a folder of its own: jobs that start at the same moment
    fail now and then to make the one that they would share."""
    base = pathlib.Path(folder) / str(job)
    base.mkdir()
    return {"OMPI_MCA_orte_tmpdir_base": str(base), "PRTE_MCA_prte_tmpdir_base": str(base)}


def run_for(command, seconds, **popen):
    """Runs a command in a process group of its own, which is ended after so many seconds. Gives its status, None if it had
    to be ended, and what it printed to its two streams."""
    with subprocess.Popen(command, encoding="utf-8", errors="replace", stdout=subprocess.PIPE, start_new_session=True,
                          **popen) as process:
        try:
            output, errors = process.communicate(timeout=seconds)
            return process.returncode, output, errors
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)  # mpirun ends its ranks
            try:
                output, errors = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, errors = process.communicate()
            return None, output, errors


def run_together(commands, environment=None):
    """Runs commands side by side, benchmarks among them in turns (bench/support/turns.hpp), and gives the lines that each
    printed. Raises BenchmarkFailed as soon as one fails."""
    ring = f"strake-bench-{os.getpid()}"
    begin = dict(os.environ if environment is None else environment)
    running = []
    folder = tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True)
    try:
        for job, command in enumerate(commands):
            variables = own_folder(folder.name, job)
            if len(commands) > 1:
                variables["BENCH_TURNS"] = f"{ring},{job},{len(commands)}"
            files = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
            try:
                process = subprocess.Popen(command, stdout=files[0], stderr=files[1], env={**begin, **variables})
            except OSError as error:
                raise BenchmarkFailed(f"cannot start {command[0]}: {error.strerror}") from error
            running.append((command, process, *files))
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            ended = [process.poll() for _, process, _, _ in running]
            for (command, _, _, errors), status in zip(running, ended):
                if status not in (None, 0):
                    errors.seek(0)
                    text = errors.read().strip()
                    hung = "no turn came" in text
                    kind = BenchmarkHung if hung else CannotRun if status == 77 else BenchmarkFailed
                    raise kind(f"status {status}: {' '.join(command)}\n{text}")
            if None not in ended:
                break
            if time.monotonic() > deadline:
                raise BenchmarkHung(f"no end after {TIMEOUT_S} s: {' '.join(commands[ended.index(None)])}")
            time.sleep(0.01)
        printed = []
        for _, _, output, errors in running:
            output.seek(0)
            errors.seek(0)
            if text := errors.read().strip():
                print(text, file=sys.stderr)
            printed.append(output.read().splitlines())
        return printed
    finally:
        for _, process, output, errors in running:
            if process.poll() is None:
                process.terminate()  # mpirun ends its ranks
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            output.close()
            errors.close()
        folder.cleanup()
        for semaphore in pathlib.Path("/dev/shm").glob(f"sem.{ring}.*"):
            semaphore.unlink()


def run_lines(command, environment=None):
    """Runs a command and gives the lines that it printed. Raises BenchmarkFailed."""
    return run_together([command], environment)[0]


def json_lines(lines):
    return [json.loads(line) for line in lines if line.startswith("{")]


def run_json(command, environment=None):
    """The JSON lines that a command printed (none, where a filter leaves none). Raises BenchmarkFailed."""
    return json_lines(run_lines(command, environment))


def run_benchmarks(benchmark, ranks, arguments, runs, nodes=1):
    """One run of a benchmark for each of `runs`, (library, with Strake or not, settings), all of them in turns: the lines
    of each. On several nodes one runs after another, since turns need memory that all ranks share. Raises BenchmarkFailed
    too if the interposer is not where it should be, or is where it should not."""
    commands = [library.command(benchmark, ranks, arguments, strake, settings, nodes) for library, strake, settings in runs]
    printed = run_together(commands) if nodes == 1 else [run_lines(command) for command in commands]
    found = [json_lines(lines) for lines in printed]
    for lines, command, (library, strake, _) in zip(found, commands, runs):
        loaded = {line["interposer"] for line in lines}
        if lines and loaded != {library.interposer.name if strake else ""}:
            raise BenchmarkFailed(f"interposers {sorted(loaded)} were in the ranks of: {' '.join(command)}")
        for line in lines:
            line["flavor"] = library.flavor
            line["with"] = "strake" if strake else "plain"
    return found
