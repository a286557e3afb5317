#!/usr/bin/env bash
# Two nodes of two ranks each, which are network namespaces of this machine, joined by a cable, each with a /dev/shm of its
# own: messages go by shared memory within each, and by MPI between them.
#   two_nodes.sh openmpi|mpich SECONDS COMMAND…
# Runs the command on the four ranks, and ends as it does; after so many seconds the ranks are ended.
# 77: this process may make no namespaces.
set -u
flavor=$1 seconds=$2
shift 2
id=$((10#$$ % 10000))
one=strake-a$id two=strake-b$id
folder=$(mktemp -d)
clean() {
  ip netns del $one
  ip netns del $two
  rm -rf "$folder"
} 2>/dev/null
trap clean EXIT
{ ip netns add $one && ip netns add $two &&
  ip link add va$id netns $one type veth peer name vb$id netns $two; } 2>/dev/null || exit 77
for end in "$one va$id 10.77.0.1" "$two vb$id 10.77.0.2"; do
  read -r node cable address <<<"$end"
  ip -n "$node" addr add "$address/24" dev "$cable" && ip -n "$node" link set "$cable" up && ip -n "$node" link set lo up ||
    exit 1
done

# Starts a launcher's command on the node with that address, which has a host name of its own.
cat >"$folder/remote" <<REMOTE
#!/bin/sh
while case "\$1" in -*) true ;; *) false ;; esac; do shift; done
shift
exec ip netns exec $two unshare -um sh -c "mount -t tmpfs node-two /dev/shm && hostname node-two && \$*"
REMOTE
chmod +x "$folder/remote"
if [ "$flavor" = openmpi ]; then
  launch="mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 --host 10.77.0.1:2,10.77.0.2:2
    --mca plm_rsh_agent $folder/remote --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24"
else
  launch="mpirun.mpich -n 4 -ppn 2 -hosts 10.77.0.1,10.77.0.2 -launcher rsh -launcher-exec $folder/remote"
fi
# shellcheck disable=SC2086
timeout -k 3 "$seconds" ip netns exec $one unshare -u sh -c 'hostname node-one; exec "$@"' _ $launch "$@"
