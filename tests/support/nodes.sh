#!/usr/bin/env bash
# Nodes of two ranks each (RANKS_A_NODE: another number; RANKS_DEALT=1: ranks are dealt to the nodes in turns; RANKS: so many in all), which are network namespaces of this machine, joined by a bridge, each with a /dev/shm of its
# own: messages go by shared memory within each, and by MPI over TCP between them.
#   nodes.sh NODES openmpi|mpich SECONDS COMMAND…
# Runs the command on the ranks, and ends as it does; after so many seconds the ranks are ended.
# 77: this process may make no namespaces.
set -u
ranks=${RANKS_A_NODE:-2}
nodes=$1 flavor=$2 seconds=$3
shift 3
id=strake-$((10#$$ % 10000))
folder=$(mktemp -d)
clean() {
  for ((i = 0; i <= nodes; i++)); do ip netns del "$id-$i"; done
  rm -rf "$folder"
} 2>/dev/null
trap clean EXIT
# Namespace 0 has the bridge alone.
{ ip netns add "$id-0" && ip -n "$id-0" link add bridge type bridge && ip -n "$id-0" link set bridge up; } 2>/dev/null || exit 77
hosts=()
for ((i = 1; i <= nodes; i++)); do
  { ip netns add "$id-$i" && ip -n "$id-$i" link add cable type veth peer name "end$i" netns "$id-0"; } 2>/dev/null || exit 77
  ip -n "$id-0" link set "end$i" master bridge up && ip -n "$id-$i" addr add "10.77.0.$i/24" dev cable &&
    ip -n "$id-$i" link set cable up && ip -n "$id-$i" link set lo up || exit 1
  hosts+=("10.77.0.$i")
done

# Starts a launcher's command on the node with that address, which has a host name of its own.
cat >"$folder/remote" <<REMOTE
#!/bin/sh
while case "\$1" in -*) true ;; *) false ;; esac; do shift; done
node=\${1##*.}
shift
exec ip netns exec $id-\$node unshare -um sh -c "mount -t tmpfs node-\$node /dev/shm && hostname node-\$node && \$*"
REMOTE
chmod +x "$folder/remote"
if [ "$flavor" = openmpi ]; then
  list=$(printf "%s:$ranks," "${hosts[@]}")
  launch="mpirun.openmpi --allow-run-as-root --oversubscribe -n ${RANKS:-$((ranks * nodes))} --host ${list%,}
    ${RANKS_DEALT:+--map-by node} --mca plm_rsh_agent $folder/remote --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24"
else
  list=$(printf '%s,' "${hosts[@]}")
  launch="mpirun.mpich -n ${RANKS:-$((ranks * nodes))} -ppn ${RANKS_DEALT:-$ranks} -hosts ${list%,} -launcher rsh -launcher-exec $folder/remote"
fi
# shellcheck disable=SC2086
timeout -k 3 "$seconds" ip netns exec "$id-1" unshare -u sh -c 'hostname node-1; exec "$@"' _ $launch "$@"
