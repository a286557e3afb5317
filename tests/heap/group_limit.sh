#!/usr/bin/env bash
# group_limit.sh PROGRAM…   runs it in a control group with 512 MiB of memory; exit code 77 where no such group can be made.
set -euo pipefail
root=/sys/fs/cgroup
if [ -e $root/cgroup.controllers ]; then
  group=$root/strake-heap-$$ file=memory.max
else
  group=$root/memory/strake-heap-$$ file=memory.limit_in_bytes
fi
mkdir "$group" 2> /dev/null || exit 77
trap 'rmdir "$group"' EXIT
echo $((512 << 20)) 2> /dev/null > "$group/$file" || exit 77
bash -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$group" "$@"
