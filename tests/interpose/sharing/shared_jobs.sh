#!/usr/bin/env bash
# Jobs that share memory: two at once under one name, ranks that take no part, ranks that are killed.
#   shared_jobs.sh INTERPOSER FAILING PROGRAM LAUNCHER FLAG…    FAILING: the library of failing_calls.c; the launcher's flags
#                                                               are for two ranks
set -u
interposer=$1 failing=$2 program=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
pairs() { python3 -c "import json, sys; print(json.load(open(sys.argv[1]))['shared_memory']['pairs'])" "$1"; }
start() {
  local name=$1
  shift
  "$@" env LD_PRELOAD="$interposer" STRAKE_JOB="shared-jobs-$$" STRAKE_SHARE=1 STRAKE_PROFILE=none \
    STRAKE_SUMMARY_JSON="$folder/$name.json" "$program" >"$folder/$name.txt" 2>&1
}
check() {
  grep -qx ok "$folder/$1.txt" || fail "$1: $(tail -n 5 "$folder/$1.txt")"
  [ "$(pairs "$folder/$1.json")" = "$2" ] || fail "$1: $(pairs "$folder/$1.json") pairs share, not $2"
}
# The directory of these jobs (job/directory.hpp), if it is there.
directory=$(python3 - "shared-jobs-$$" <<'NUMBER'
import os, sys
number = 0xcbf29ce484222325
for byte in sys.argv[1].encode():
    number = (number ^ byte) * 0x100000001b3 % 2**64
print(f"/dev/shm/strake-{os.geteuid()}-{number:016x}")
NUMBER
)
left() { ls -d "$directory" 2>/dev/null; }

# Two jobs under one name, at the same time: each shares within itself. Where the cores are busy with something else, a
# rank may hear of another one only after its last message: that is no fault, unless it is always so.
for ((turn = 0; turn < 3; ++turn)); do
  start one "$@" &
  start two "$@"
  wait
  [ "$(pairs "$folder/one.json")$(pairs "$folder/two.json")" = 22 ] && break
done
check one 2
check two 2

# A rank that takes no part gets and sends all by MPI.
cat >"$folder/apart" <<'RANK'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && export STRAKE_SHARE=0
exec "$@"
RANK
chmod +x "$folder/apart"
"$@" env LD_PRELOAD="$interposer" STRAKE_JOB="shared-jobs-$$" STRAKE_SHARE=1 STRAKE_PROFILE=none \
  STRAKE_SUMMARY_JSON="$folder/apart.json" "$folder/apart" "$program" >"$folder/apart.txt" 2>&1
check apart 0

# Where memory or descriptors can't be had, all goes by MPI.
calls="memfd_create ftruncate sendmsg"
case "$*" in *mpich*) ;; *) calls="$calls madvise" ;; esac  # UCX, in MPICH, takes madvise from who is preloaded
for call in $calls; do
  "$@" env LD_PRELOAD="$interposer:$failing" FAILING=$call STRAKE_JOB="shared-jobs-$$" STRAKE_PROFILE=none \
    STRAKE_SUMMARY_JSON="$folder/$call.json" "$program" >"$folder/$call.txt" 2>&1
  check $call 0
done

[ -z "$(left)" ] || fail "left behind by jobs that have ended: $(left)"

# What ranks that are killed leave, whatever they were doing, the next job removes.
for delay in 0.05 0.15 0.3 0.5; do
  rm -f "$folder/pids"
  "$@" env LD_PRELOAD="$interposer" STRAKE_JOB="shared-jobs-$$" STRAKE_SHARE_LIMIT=993 STRAKE_PROFILE=none \
    sh -c 'echo $$ >>"$1"; exec "$2"' _ "$folder/pids" "$program" >"$folder/killed.txt" 2>&1 &
  job=$!
  until [ -s "$folder/pids" ] && [ "$(wc -l <"$folder/pids")" -ge 2 ]; do sleep 0.05; done
  sleep $delay
  kill -9 "$(head -n 1 "$folder/pids")" 2>/dev/null
  wait "$job"
done
for ((turn = 0; turn < 100; ++turn)); do
  [ -z "$(left)" ] && break
  sleep 0.1  # until the last of them has ended
  "$@" env LD_PRELOAD="$interposer" STRAKE_JOB="shared-jobs-$$-next" STRAKE_PROFILE=none "$program" >"$folder/next.txt" 2>&1
done
[ -z "$(left)" ] || fail "left behind by ranks that were killed: $(left)"

[ $failures = 0 ] && echo ok
exit $((failures > 0))
