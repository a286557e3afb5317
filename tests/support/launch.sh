#!/usr/bin/env bash
# launch.sh COMMAND…: runs a job, by a launcher or a command that starts one. Where the launcher itself fails, and not the job,
# the job is run again, three times in all.
#
#   fault                            seen of                         how it is known
#   hangs when its ranks have ended  Open MPI 4.1.4 with PMIx 4.2.2  two looks, five seconds apart, find no rank where there was one;
#                                                                    six, where ranks may have ended before the first look
#   crashes when they have ended     Open MPI 4.1.4 with PMIx 4.2.2  a stack with PMIx_server_finalize on its stderr
#   an assertion about a pipe        MPICH 4.0's Hydra               "assert (!closed) failed" on its stderr
#
# A run that says FAILED, or of which a rank crashed, is the job's own failure: it is never repeated. Each repetition is a line
# of the file that TEST_LAUNCHER_FAULTS names; scripts/test counts and shows them. Standard output and error are the last run's.
set -u
folder=$(mktemp -d)
job= stopped=
trap 'rm -rf "$folder"' EXIT
trap 'stopped=1; [ -z "$job" ] || kill -TERM "$job" 2>/dev/null' TERM INT

# ranks   how many processes the launcher has, which the command may have started: -1 where there is no launcher.
ranks() {
  ps -e -o pid=,ppid=,stat=,comm= | awk -v job="$job" '
    function is_launcher(process) { return name[process] ~ /^(mpirun|mpiexec|orterun|prterun)/ }
    function visit(process,   i, list, count) {
      if (is_launcher(process) && found < 0) found = 0
      count = split(children[process], list, " ")
      for (i = 1; i <= count; ++i) {
        if (is_launcher(process) && !is_launcher(list[i])) ++found
        else visit(list[i])
      }
    }
    $3 !~ /^Z/ { name[$1] = $4; children[$2] = children[$2] " " $1 }
    END { found = -1; visit(job); print found }'
}

# end_if_hung   ends the command when its launcher has no ranks any more.
end_if_hung() {
  local most=6 gone=0
  while sleep "${LAUNCH_LOOKS_EVERY:-5}" && kill -0 "$job" 2>/dev/null; do
    case $(ranks) in
      -1) ;;
      0) gone=$((gone + 1)) ;;
      *) most=2 gone=0 ;;
    esac
    [ $gone -ge $most ] || continue
    touch "$folder/hung"
    # shellcheck disable=SC2046
    kill -KILL "$job" $(pgrep -P "$job")
  done
}

for turn in 1 2 3; do
  rm -f "$folder/hung"
  "$@" >"$folder/out" 2>"$folder/err" <&0 &
  job=$!
  end_if_hung >/dev/null 2>&1 &
  watch=$!
  wait "$job"
  status=$?
  while kill -0 "$job" 2>/dev/null; do  # a trapped signal ends `wait`, and not the job
    wait "$job"
    status=$?
  done
  kill "$watch" 2>/dev/null
  fault=
  if [ -n "$stopped" ] || [ $status -eq 0 ] || grep -qsE 'FAILED|on signal (4|6|7|8|11) ' "$folder/out" "$folder/err"; then
    break
  elif [ -e "$folder/hung" ] && [ $status -eq 137 ]; then
    fault="hung when its ranks had ended"
  else
    fault=$(grep -oE -m 1 'PMIx_server_finalize|assert \(!closed\) failed' "$folder/err")
  fi
  [ -n "$fault" ] || break
  [ -z "${TEST_LAUNCHER_FAULTS:-}" ] || echo "$1: $fault, status $status, run $turn of: $*" >>"$TEST_LAUNCHER_FAULTS"
done
[ ! -s "$folder/out" ] || cat "$folder/out"
[ ! -s "$folder/err" ] || cat "$folder/err" >&2
exit $status
