"""together_test.py FOLDER: what together.py makes of cases that crash, hang and fail, with a script for a launcher."""

import pathlib
import stat
import subprocess
import sys

LAUNCHER = """#!/usr/bin/env python3
# launcher -n RANKS programs --together LIST FOLDER: each case does what its first argument says, on every rank.
import os, pathlib, sys, time
ranks, listed, folder = int(sys.argv[2]), sys.argv[5], pathlib.Path(sys.argv[6])
with (folder.parent / "launches").open("a") as file: file.write("launch\\n")
told = [(folder / f"ranks.{rank}").open("w", buffering=1) for rank in range(ranks)]
for line in pathlib.Path(listed).read_text().splitlines():
    case, _, _, action = line.split()
    for rank in range(ranks):
        (folder / f"{case}.{rank}.out").write_text(f"{case} on {rank}\\n")
        (folder / f"{case}.{rank}.err").write_text("")
        told[rank].write(f"begin {case}\\n")
        if action == "skip": sys.exit(77)
        if action == "crash" and rank == 1: sys.exit(11)
        if action == "hang" and rank == 1: time.sleep(600)
        told[rank].write(f"end {case} {1 if action == 'fail' else 0} 0.01\\n")
sys.exit(5 if action == "badly" else 0)
"""


def outcomes(folder, actions):
    """(exit code of together.py, {case: its code}, launches) for cases that do `actions`."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("launches"):
        file.unlink()
    launcher = folder / "launcher"
    launcher.write_text(LAUNCHER)
    launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
    cases = folder / "cases"
    cases.write_text("".join(f"case{i} own program {action}\n" for i, action in enumerate(actions)))
    out = folder / "out"
    ended = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("together.py"), "2", "2", out, cases, launcher, "-n",
                            "2", "programs"], capture_output=True, text=True)
    codes = [(out / f"case{i}.code").read_text().strip() if (out / f"case{i}.code").exists() else "-"
             for i in range(len(actions))]
    launches = len((folder / "launches").read_text().splitlines())
    return ended.returncode, " ".join(codes), launches, ended.stdout


def main():
    folder = pathlib.Path(sys.argv[1])
    for actions, code, codes, launches in [
            ("pass pass", 0, "0 0", 1),
            ("pass fail pass", 0, "0 1 0", 1),
            ("pass crash pass pass", 0, "0 1 0 0", 2),
            ("hang pass crash", 0, "1 0 1", 2),
            ("skip pass", 77, "77 77", 1),
            ("pass skip pass", 0, "0 1 0", 2),
            ("pass pass badly", 1, "0 0 0", 1)]:
        found = outcomes(folder, actions.split())
        if found[:3] != (code, codes, launches):
            sys.exit(f"FAILED, '{actions}': exit code, cases' codes, launches are {found[:3]}, not {(code, codes, launches)}:\n{found[3]}")
    out = (folder / "out" / "case0.out").read_text()
    if out != "case0 on 0\ncase0 on 1\n":
        sys.exit(f"FAILED: the ranks' output is '{out}'")
    print("ok")


main()
