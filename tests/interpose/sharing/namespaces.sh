#!/usr/bin/env bash
# A rank in a namespace of its own shares memory with the others where it sees their directory, and only there.
#   namespaces.sh INTERPOSER PROGRAM LAUNCHER FLAG…    the launcher's flags are for two ranks
# 77: this process may make no namespaces.
set -u
interposer=$1 program=$2
shift 2
unshare -m true 2>/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/apart" <<'RANK'
#!/bin/sh
how=$1
shift
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] || exec "$@"
case $how in
  network) exec unshare -n "$@" ;;
  ipc) exec unshare -i "$@" ;;
  process) exec unshare -pf "$@" ;;
  user) exec unshare -Ur "$@" ;;
  memory) exec unshare -m sh -c 'mount -t tmpfs own /dev/shm && exec "$@"' _ "$@" ;;
esac
RANK
chmod +x "$folder/apart"
failures=0
tried=0
for how in network:2 ipc:2 process:2 user:2 memory:0; do
  # The MPI library itself may not work so.
  timeout -k 3 20 "$@" "$folder/apart" ${how%:*} "$program" >"$folder/alone" 2>&1 && grep -qx ok "$folder/alone" || continue
  tried=$((tried + 1))
  timeout -k 3 30 "$@" "$folder/apart" ${how%:*} env LD_PRELOAD="$interposer" STRAKE_JOB="namespaces-$$" STRAKE_PROFILE=none \
    STRAKE_SUMMARY_JSON="$folder/json" "$program" >"$folder/out" 2>&1
  pairs=$(python3 -c "import json, sys; print(json.load(open(sys.argv[1]))['shared_memory']['pairs'])" "$folder/json")
  echo "${how%:*}: $pairs pairs share memory"
  grep -qx ok "$folder/out" && [ "$pairs" = "${how#*:}" ] && continue
  failures=$((failures + 1))
  echo "FAILED: ${how%:*}, where ${how#*:} pairs should: $(tail -n 5 "$folder/out")"
done
[ $failures = 0 ] && [ $tried -gt 0 ]
