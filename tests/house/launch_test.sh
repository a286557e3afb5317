#!/usr/bin/env bash
# launch_test.sh LAUNCH: what tests/support/launch.sh makes of launchers that fail by themselves, and of jobs that do.
set -u
launch=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TEST_LAUNCHER_FAULTS=$folder/faults LAUNCH_LOOKS_EVERY=0.2
failures=0
# expect STATUS FAULTS RUNS ACTION…   of a launcher whose first run does ACTION, and whose others print "ranks" and return 3.
expect() {
  rm -f "$folder/faults" "$folder/runs"
  cat >"$folder/mpirun" <<LAUNCHER
#!/bin/bash
echo run >>"$folder/runs"
[ "\$(wc -l <"$folder/runs")" -gt 1 ] || { ${*:4}; }
echo ranks
exit 3
LAUNCHER
  chmod +x "$folder/mpirun"
  timeout 20 "$launch" env "$folder/mpirun" -n 2 program >"$folder/out" 2>"$folder/err"
  local status=$? faults=0
  [ ! -e "$folder/faults" ] || faults=$(wc -l <"$folder/faults")
  [ "$status $faults $(wc -l <"$folder/runs")" = "$1 $2 $3" ] && return
  echo "FAILED, '${*:4}': status $status, $faults faults, $(wc -l <"$folder/runs") runs: $(cat "$folder/out" "$folder/err")"
  failures=$((failures + 1))
}
# A launcher whose ranks have ended, and that goes on.
ln -s "$(command -v sleep)" "$folder/orterun"
hang="sleep 0.5; exec $folder/orterun 600"
expect 3 0 1 "echo ranks; exit 3"
expect 0 0 1 "echo ranks; exit 0"
expect 5 0 1 "echo 'a rank failed' >&2; exit 5"
expect 3 1 2 "echo 'x.c:1: assert (!closed) failed' >&2; exit 255"
expect 3 1 2 "echo '[ 3] libpmix.so(PMIx_server_finalize+0x1)' >&2; exit 139"
expect 139 0 1 "echo 'FAILED rank 0' >&2; echo 'PMIx_server_finalize' >&2; exit 139"
expect 0 0 1 "echo 'assert (!closed) failed' >&2; exit 0"
expect 3 1 2 "$hang"
expect 3 1 2 "exec $folder/orterun 600"
expect 4 0 1 "sleep 1.5; exit 4"
expect 137 3 3 "true; } ; { echo run >>$folder/more; $hang"

# A signal ends the job, and starts no other.
cat >"$folder/mpirun" <<LAUNCHER
#!/usr/bin/env bash
echo run >>"$folder/runs"
trap 'echo PMIx_server_finalize >&2; exit 1' TERM
while :; do sleep 0.1; done
LAUNCHER
rm -f "$folder/runs"
timeout -k 10 1 "$launch" "$folder/mpirun" >/dev/null 2>&1
runs=$(wc -l <"$folder/runs")
[ "$runs" = 1 ] || { echo "FAILED, ended by a signal: $runs runs" && failures=$((failures + 1)); }
[ $failures = 0 ] && echo ok
exit $((failures > 0))
