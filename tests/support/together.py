"""Runs cases that share a launch, one after another, and says what came of each.

  together.py SECONDS RANKS FOLDER LIST command…     the launcher's, up to the executable's own options

LIST has a line for each case (together.hpp). FOLDER gets, for each case:
  CASE.out     what its ranks printed, in the order of ranks
  CASE.err     what they said of faults
  CASE.code    its exit code
and `run`, which names the run of CTest that made all that: run.sh takes results of its own run only. A case that crashes, or
takes more than SECONDS, costs its own result: the cases after it are launched again. Exit code: 0, where every launch ended
well or a case is to blame; 77, where no device is here.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time


SUPPORT = pathlib.Path(__file__).resolve().parent


def parent():
    """The process that started this one, as run.sh names it: a number may be given again, its start time is another."""
    number = os.getppid()
    fields = pathlib.Path(f"/proc/{number}/stat").read_text().rsplit(") ", 1)[1].split()
    return f"{number} {fields[19]}"


class Launch:
    """One job with the cases that are left."""

    def __init__(self, seconds, folder, cases, command):
        self.seconds, self.folder, self.cases = seconds, folder, cases
        for file in folder.glob("ranks.*"):
            file.unlink()
        listed = folder / "list"
        listed.write_text("".join(f"{line}\n" for line in cases.values()))
        self.command = [str(SUPPORT / "launch.sh"), *command, "--together", str(listed), str(folder)]

    def told(self):
        """For each rank the lines it wrote so far."""
        return [file.read_text().splitlines() for file in sorted(self.folder.glob("ranks.*"))]

    def run(self):
        """The exit code of the launcher; None, where nothing moved for too long."""
        process = subprocess.Popen(self.command, stdout=(self.folder / "launcher").open("w"), stderr=subprocess.STDOUT,
                                   start_new_session=True)
        lines, moved = 0, time.monotonic()
        while True:
            try:
                return process.wait(timeout=1)
            except subprocess.TimeoutExpired:
                now = sum(map(len, self.told()))
                if now != lines:
                    lines, moved = now, time.monotonic()
                elif time.monotonic() - moved > self.seconds:
                    process.send_signal(signal.SIGTERM)  # both launchers pass it on to the ranks
                    try:
                        process.wait(timeout=10)
                    except subprocess.TimeoutExpired:
                        pass
                    try:
                        os.killpg(process.pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                    process.wait()
                    return None

    def ended(self, ranks):
        """The exit code and seconds of each case that every rank has ended."""
        codes = {}
        for lines in self.told():
            for line in lines:
                if line.startswith("end "):
                    _, case, code, seconds = line.split()
                    codes.setdefault(case, []).append((int(code), float(seconds)))
        return {case: (max(code for code, _ in found), max(seconds for _, seconds in found))
                for case, found in codes.items() if len(found) == ranks}

    def begun(self):
        """The case that some rank was in."""
        begun = [line.split()[1] for lines in self.told() for line in lines[-1:] if line.startswith("begin ")]
        return min(begun, key=list(self.cases).index) if begun else None


def main():
    # Without a network that UCX knows, its windows fail in Open MPI, with or without the interposer.
    os.environ.setdefault("OMPI_MCA_osc", "^ucx")
    seconds, ranks, folder, listed, command = float(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4], sys.argv[5:]
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    left = {line.split()[0]: line for line in pathlib.Path(listed).read_text().splitlines()}
    (folder / "run").write_text(parent() + "\n")

    def settle(case, code, took, said=""):
        files = lambda kind: sorted(folder.glob(f"{case}.[0-9]*.{kind}"), key=lambda file: int(file.name.split(".")[-2]))
        for kind in ("out", "err"):
            text = "".join(file.read_text(errors="replace") for file in files(kind))
            (folder / f"{case}.{kind}").write_text(text + (said if kind == "err" else ""))
            for file in files(kind):
                file.unlink()
        (folder / f"{case}.code").write_text(f"{code}\n")
        print(f"{took:7.2f} s  {case}{'' if code == 0 else f'  FAILED with {code}'}")
        del left[case]

    def skip():
        for case in list(left):
            settle(case, 77, 0)
        return 77

    everything = len(left)
    if subprocess.run([SUPPORT / "has_gpu.sh", *command]).returncode != 0:
        return skip()
    while left:
        launch = Launch(seconds, folder, dict(left), command)
        code = launch.run()
        said = (folder / "launcher").read_text(errors="replace")
        ended = launch.ended(ranks)
        if code == 77 and not ended and len(launch.cases) == everything:
            return skip()
        for case, (result, took) in ended.items():
            settle(case, result, took)
        if code == 0 and not left:
            break
        case = launch.begun()
        if case is None:
            print(f"{' '.join(launch.command)}\nended with {code}, in no case:\n{said}")
            return 1
        how = f"hung for {seconds:.0f} s" if code is None else f"ended the launcher with {code}"
        settle(case, 1, 0, f"{how}, as number {len(launch.cases) - len(left)} of a launch:\n{said}")
        print(f"launched again after {case}, which {how}")
    return 0


sys.exit(main())
