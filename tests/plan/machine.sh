#!/bin/sh
# machine.sh STRAKE   runs `strake plan` with machines that ship with it.
strake=$1
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# refused STATUS SENTENCE OPTIONS…   the command ends with this status, and says so.
refused() {
  status=$1
  sentence=$2
  shift 2
  got=0
  "$strake" plan "$@" 2> out || got=$?
  [ "$got" = "$status" ]
  grep -qF -e "$sentence" out
}
"$strake" plan --machines | tee out
for name in summit dgx-h100 gb200-nvl72 two-socket-xeon; do
  grep -q "^$name " out
  "$strake" plan --machine $name --nodes 2 --grid 1024x1024x512 --radius 2 > "$name"
  grep -q "^Links:    at least [0-9.]* us: .* of node [01]" "$name"
  grep -q "By the rates of $name: no prediction" "$name"
done
"$strake" plan --machine summit --nodes 2 --grid 1536x512x256 --radius 3 --placement node-aware --objective bottleneck --json > out
python3 - <<'END'
import json

found = json.load(open("out"))
assert found["gpu_grid"] == [3, 2, 1] and sorted(found["mapping"]) == [0, 1, 2, 3, 4, 5], found
assert 0 < found["bound_us"] < found["default_bound_us"] and found["slowest_link_us"] > 0, found
assert found["bound_link"] and found["default_bound_link"].endswith("sending"), found
# Two nodes share one face and its periodic twin: 2 sides of 512 x 256 x 3 cells and their rims, by 25 GB/s.
assert found["bound_us"] > 2 * 512 * 256 * 3 * 8 / 25e3, found
END
refused 2 'no machine is called cray; there are dgx-h100, gb200-nvl72, summit, two-socket-xeon' --machine cray --nodes 1 --grid 64x64x64
refused 2 '7 GPUs a node, but summit has 6' --machine summit --gpus-per-node 7 --nodes 1 --grid 64x64x64
refused 2 'summit has links between GPUs: they say nothing of fields in host memory (--host)' --machine summit --host --nodes 1 --grid 64x64x64
refused 2 '--bandwidth excludes --machine' --machine summit --bandwidth x --nodes 1 --grid 64x64x64
refused 2 '--objective requires --machine or --bandwidth' --gpus-per-node 6 --objective bottleneck --nodes 1 --grid 64x64x64
refused 2 '--gpus-per-node is required' --nodes 1 --grid 64x64x64
refused 2 'none.json can'"'"'t be read' --machine ./none.json --nodes 1 --grid 64x64x64
echo '{"name": "mine"}' > mine.json
refused 2 'mine.json: title: missing' --machine mine.json --nodes 1 --grid 64x64x64
