#!/usr/bin/env bash
# launch.sh COMMAND…: runs a job, by a launcher or a command that starts one. Where the launcher itself fails, and not the job,
# it is run again, three times in all.
#
#   fault                            seen of                         how it is known
#   hangs when its ranks have ended  Open MPI 4.1.4 with PMIx 4.2.2  the launcher has had no child for five seconds
#   crashes when they have ended     Open MPI 4.1.4 with PMIx 4.2.2  a stack with PMIx_server_finalize on its stderr
#   an assertion about a pipe        MPICH 4.0's Hydra               "assert (!closed) failed" on its stderr
#
# Each fault is a line of the file that STRAKE_LAUNCHER_FAULTS names; scripts/test counts and shows them. Standard output and
# error are those of the last run.
set -u
folder=${TMPDIR:-/tmp}/launch.$$
mkdir "$folder" || exit 125
trap 'rm -rf "$folder"' EXIT
trap '[ -z "${job:-}" ] || kill -TERM "$job" 2>/dev/null' TERM INT

# childless   whether the job's launcher, which the command may have started, has no process any more.
childless() {
  local these=$job next
  while next=$(pgrep -d , -P "$these" '^(mpirun|mpiexec|orterun|prterun|strake|timeout|env)'); do these=$next; done
  ! pgrep -P "$these" >/dev/null
}

# end_if_childless   ends the command when that has been so twice, five seconds apart: at first no rank may be there yet.
end_if_childless() {
  local alone=0
  while sleep "${LAUNCH_LOOKS_EVERY:-5}" && kill -0 "$job" 2>/dev/null; do
    childless || { alone=0 && continue; }
    [ $((++alone)) = 2 ] || continue
    touch "$folder/hung"
    kill -KILL "$job" $(pgrep -P "$job")
  done
}

for turn in 1 2 3; do
  rm -f "$folder/hung"
  "$@" >"$folder/out" 2>"$folder/err" <&0 &
  job=$!
  end_if_childless >/dev/null 2>&1 &
  watch=$!
  wait "$job"
  status=$?
  while kill -0 "$job" 2>/dev/null; do  # a trapped signal ends `wait`, and not the job
    wait "$job"
    status=$?
  done
  kill "$watch" 2>/dev/null
  fault=
  if [ -e "$folder/hung" ]; then
    fault="hung when its ranks had ended"
  elif [ $status -ne 0 ]; then
    fault=$(grep -oE -m 1 'PMIx_server_finalize|assert \(!closed\) failed' "$folder/err")
  fi
  [ -n "$fault" ] || break
  [ -z "${STRAKE_LAUNCHER_FAULTS:-}" ] || echo "$1: $fault, status $status, run $turn of: $*" >>"$STRAKE_LAUNCHER_FAULTS"
done
[ ! -s "$folder/out" ] || cat "$folder/out"
[ ! -s "$folder/err" ] || cat "$folder/err" >&2
exit $status
