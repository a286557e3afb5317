#!/bin/sh
# Acts as Slurm's srun does: one task with the variables of --export, on top of the environment.
if [ "$1" = --version ]; then
  echo "slurm 23.02.4"
  exit 0
fi
case $1 in
  --export=ALL,*) list=${1#--export=ALL,}; shift ;;
  *) echo "srun: no --export" >&2; exit 9 ;;
esac
IFS=,
exec env $list "$@"
