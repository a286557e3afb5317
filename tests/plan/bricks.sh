#!/bin/sh
# bricks.sh STRAKE   runs `strake plan --bricks`, and compares what it prints.
strake=$1
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# refused SENTENCE OPTIONS…   the command ends with status 2, and says so.
refused() {
  sentence=$1
  shift
  got=0
  "$strake" plan "$@" 2> out || got=$?
  [ "$got" = 2 ]
  grep -qF -e "$sentence" out
}
job='--nodes 2 --gpus-per-node 4 --ghost 8'
# shellcheck disable=SC2086
"$strake" plan --bricks 8x8x8 --grid 512x512x512 $job | tee out
grep -q '^2 x 2 x 2 parts of 64 x 64 x 64 bricks; the largest has 32 x 32 x 32 bricks$' out
grep -q '^Bricks:   27000 inside, 5768 at the surface, 6536 of ghosts, 8 x 8 x 8 cells deep$' out
grep -q '^Memory:   153.5 MiB, 16.6 % of it ghosts$' out
grep -q '^Messages: to 26 neighbours$' out
grep -q '^Layout  *42  *26771456$' out
grep -q '^Basic  *98  *26771456$' out
grep -q '^MemMap  *64 KiB  *26  *29323264  *2551808$' out
grep -q '^MemMap has 42 mappings; a process may have [0-9]* here (vm.max_map_count)$' out
# shellcheck disable=SC2086
"$strake" plan --bricks 4x4x4x4x4 --grid 32x32x32x32x32 --quantities 2 $job --json | tee out
python3 - <<'END'
import json

found = json.load(open("out"))
assert found["parts"] == [1, 1, 2, 2, 2] and found["largest_part"] == [8, 8, 4, 4, 4], found
assert found["messages"]["memmap"] == found["neighbours"] == 242 and found["own_neighbours"] == 8, found
assert found["brick_bytes"] == 2 * 8 * 4**5 and found["ghost_cells"] == [8] * 5, found
assert found["sent_bytes"] == found["ghosts"] * found["brick_bytes"], found
assert found["padding_bytes"]["4096"] == 0 and found["max_map_count"] > 0, found
END
"$strake" plan --bricks | tee out
[ "$(wc -l < out)" = 7 ]
grep -q '^ *3  *26  *42  *42  *98$' out
"$strake" plan --bricks 8x8x8 --json | grep -q '"brick_bytes": 4096'
refused 'a grid of 100 cells along axis 0 with bricks of 8: it has to be a multiple of the brick, such as 96 or 104' --bricks 8x8 --grid 100x64 --nodes 1 --gpus-per-node 1
refused '0 nodes of 1 places: from 1 to 1048576 in all' --bricks 8 --grid 64 --nodes 0 --gpus-per-node 1
refused 'not with --radius: --ghost is the depth of its ghosts' --bricks 8 --grid 64 --nodes 1 --gpus-per-node 1 --radius 2
for wrong in '--placement default' --host '--machine summit' '--svg x' '--sweep 1:2' --machines; do
  # shellcheck disable=SC2086
  refused "not with ${wrong%% *}" --bricks 8 --grid 64 $wrong
done
refused 'excludes' --bricks 8 --graph x --nodes 1 --gpus-per-node 1
refused '--grid is required' --bricks 8 --nodes 1
refused '--nodes is required' --bricks 8 --grid 64
refused '--gpus-per-node is required' --bricks 8 --grid 64 --nodes 1
refused 'with --grid it has a shape' --grid 64 --nodes 1 --gpus-per-node 1 --bricks
refused '--quantities: with --bricks it needs a shape' --bricks --quantities 2
refused '8xx8 is not of the form 8x8x8' --bricks 8xx8
refused '--ghost requires --bricks' --grid 64 --nodes 1 --gpus-per-node 1 --ghost 2
refused '4 axes; more than three go with --bricks' --grid 4x4x4x4 --nodes 1 --gpus-per-node 1
