# Sourced by the tests of packages: a command of Strake as a user calls it who has installed it.
# check_jobs STRAKE ROOT BUILD   the command alone, and on a job of each MPI library, and one of mpi4py
check_jobs() {
  "$1" --version
  "$1" explain 'vector(100,1,512,double)' | grep -q '100 x 4096'
  while read -r flavor launcher flags; do
    # shellcheck disable=SC2086 # flags are words
    "$1" run --json "$flavor.json" -- "$launcher" $flags -n 2 "$3/bin/halo3d_$flavor" --n 24
    grep -q '"MPI_' "$flavor.json"
    if [ "$flavor" = openmpi ] && /usr/bin/python3 -c 'import mpi4py' 2> /dev/null; then
      # shellcheck disable=SC2086
      "$1" run --json python.json -- "$launcher" $flags -n 2 /usr/bin/python3 "$2/tests/interpose/process/python_smoke.py"
      grep -q '"MPI_' python.json
    fi
  done < "$3/mpi-launchers.txt"
}
