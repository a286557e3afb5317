#!/bin/sh
# install_deps_test.sh ROOT FOLDER   scripts/install-deps on a machine without apt: with all that is needed, and without
# one library and one command.
set -eu
root=$1 folder=$2
rm -rf "$folder" && mkdir -p "$folder/all" "$folder/less"
for path in /usr/local/bin /usr/bin /bin; do
  for program in "$path"/*; do
    name=${program##*/}
    [ "$name" = apt-get ] || [ -e "$folder/all/$name" ] || ln -s "$program" "$folder/all/$name"
  done
done
output=$(PATH=$folder/all "$root/scripts/install-deps" build 2>&1) && code=0 || code=$?
echo "$output"
[ $code -eq 0 ]

# A compiler that does not find fmt, and no ninja.
cp -P "$folder"/all/* "$folder/less"
rm "$folder/less/c++" "$folder/less/ninja"
printf '#!/bin/sh\nread -r line; case $line in *fmt*) exit 1;; esac\n' > "$folder/less/c++"
chmod +x "$folder/less/c++"
output=$(PATH=$folder/less "$root/scripts/install-deps" build 2>&1) && code=0 || code=$?
echo "$output"
[ $code -eq 1 ]
[ "$output" = "There is no apt-get here. Missing, by their names in Debian: ninja-build libfmt-dev" ]
