"""check_state.py FOLDER STRAKE WRITER PRELOAD PROGRAM launch…: a job's summary, its log, strake doctor and strake explain say
the same of a profile, and a profile that says nothing changes nothing."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
strake, writer, preload, program = sys.argv[2:6]
launch = sys.argv[6:]
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
file = folder / "summary.json"


def run(profile, *more):
    file.unlink(missing_ok=True)
    settings = {"LD_PRELOAD": preload, "STRAKE_JOB": "1", "STRAKE_PROFILE": str(profile), "STRAKE_SUMMARY": "1",
                "STRAKE_SUMMARY_JSON": str(file), "STRAKE_LOG": "info", "STRAKE_TRIALS": "0", "STRAKE_SHARE": "0"}
    said = subprocess.run([*launch, "env", *(f"{k}={v}" for k, v in settings.items()), program, "256", "20"], check=True,
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    return re.search("checksum [0-9A-F]{16}", said)[0], said, json.loads(file.read_text())


def of_command(profile, *words):
    return json.loads(subprocess.run([strake, *words], check=True, text=True, stdout=subprocess.PIPE,
                                     env={**os.environ, "STRAKE_PROFILE": str(profile)}).stdout)


profiles = {}
for what in ("measured", "doubtful", "other"):
    profiles[what] = folder / f"{what}.profile"
    subprocess.run([*launch, writer, str(profiles[what]), what], check=True)
whole = profiles["measured"].read_bytes()
profiles["half"] = folder / "half.profile"
profiles["half"].write_bytes(whole[:len(whole) // 2])
profiles["newer"] = folder / "newer.profile"
profiles["newer"].write_bytes(whole[:8] + b"\2" + whole[9:])

checksum, said, without = run("none")
if without["profile"]["state"] != "off":
    sys.exit(f"without a profile: {without['profile']}")
for what, state, words in [
    ("measured", "measured", "measured with .* on node1, 2026-11-27"),
    ("doubtful", "doubtful", "doubtful: measured with .* while other processes used 1.3 of 2 CPUs; 28 of 28 results are not used"),
    ("other", "not measured", "not measured with .*, only with Other MPI 1"),
    ("half", "not measured", "not measured: .*half.profile is cut off"),
    ("newer", "not measured", "not measured: .*newer.profile was written by another version of Strake"),
]:
    profile = profiles[what]
    sum_of, said, summary = run(profile)
    text = summary["profile"]["text"]
    if summary["profile"]["state"] != state or not re.match(words, text):
        sys.exit(f"{what}: {summary['profile']}")
    if f"  profile      {text}\n" not in said:
        sys.exit(f"{what}: the summary has another sentence than {text}: {said}")
    if f"profile: {text}\n" not in said.split("strake: 2 ranks")[0]:
        sys.exit(f"{what}: the log lacks {text}: {said}")
    doctor = of_command(profile, "doctor", "--json", "--", *launch, program)
    found = [finding["text"] for finding in doctor["findings"] if finding["topic"] == "profile"]
    if found != [text]:
        sys.exit(f"{what}: doctor says {found}, the summary {text}")
    explained = of_command(profile, "explain", "--json", "vector(100,1,512,double)")["profile"]
    # It asks of any library.
    if what != "other" and explained["text"] != text:
        sys.exit(f"{what}: explain says {explained}, the summary {text}")
    advised = "measure --quick" in said
    if advised != (what != "measured") or ("when top shows that nothing else uses the CPUs" in said) != (what == "doubtful"):
        sys.exit(f"{what}: the advice: {said}")
    if sum_of != checksum:
        sys.exit(f"{what}: {sum_of}, not {checksum}")
    chose = {key: summary[key] for key in ("methods", "reasons")} != {key: without[key] for key in ("methods", "reasons")}
    if chose != (what == "measured"):
        sys.exit(f"{what}: {summary['methods']} {summary['reasons']}, without {without['methods']} {without['reasons']}")
