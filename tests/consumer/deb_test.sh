#!/usr/bin/env bash
# deb_test.sh ROOT BUILD FOLDER   the archive of the sources, and the package that cpack makes for Debian: what is in it,
# what it needs, and whether it runs
set -euo pipefail
root=$1 build=$2 folder=$3
. "$root/tests/consumer/jobs.sh"
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder"
if [ -e "$root/.git" ]; then
  cpack --config "$build/CPackSourceConfig.cmake" -B . > source.log || { cat source.log; exit 1; }
  tar -tzf strake-*.tar.gz > sources
  git -C "$root" ls-tree -r --name-only HEAD | sed "s|^|$(head -n 1 sources | cut -d / -f 1)/|" | sort > committed
  grep -v '/$' sources | sort | diff committed -
fi

cpack --config "$build/CPackConfig.cmake" -G DEB -B . -D CPACK_DEBIAN_COMPRESSION_TYPE=none > cpack.log || { cat cpack.log; exit 1; }
deb=$(ls strake_*.deb)
depends=$(dpkg-deb -f "$deb" Depends)
echo "Depends: $depends"
grep -q 'libc6 (>= ' <<< "$depends"
if grep -E 'openmpi|mpich' <<< "$depends"; then exit 1; fi
[ "$(dpkg-deb -f "$deb" Suggests)" = "openmpi-bin | mpich" ]

dpkg-deb -x "$deb" unpacked
for file in bin/strake lib/strake/libstrake-preload.so lib/strake/libstrake-heap.so share/doc/strake/LICENSE share/doc/strake/LICENSE.chartjs include/strake/copy.hpp \
  share/man/man1/strake.1 share/man/man1/strake-run.1 share/bash-completion/completions/strake share/strake/machines/summit.json; do
  [ -f "unpacked/usr/$file" ] || { echo "$file is not in the package"; exit 1; }
done
while read -r flavor _; do
  [ -f "unpacked/usr/lib/strake/libstrake-mpi-$flavor.so" ]
done < "$build/mpi-launchers.txt"
check_jobs "$PWD/unpacked/usr/bin/strake" "$root" "$build"
