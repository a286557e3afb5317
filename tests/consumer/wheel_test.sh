#!/usr/bin/env bash
# wheel_test.sh ROOT BUILD FOLDER   a wheel of what was built here, installed by pip into an environment of its own: the
# same steps as those of scripts/wheel, which compiles for older machines. Exit code 77: no package index can be reached.
set -euo pipefail
root=$1 build=$2 folder=$3
. "$root/tests/consumer/jobs.sh"
mkdir -p "$folder" && cd "$folder"
[ -x venv/bin/pip ] || python3 -m venv venv
venv/bin/pip -q install --retries 1 --timeout 20 wheel || { echo "package wheel could not be fetched"; exit 77; }
rm -rf prefix
cmake --install "$build" --component runtime --strip --prefix prefix > install.log
"$root/packaging/wheel/assemble" prefix . "$PWD/venv/bin/python"
venv/bin/pip -q install --no-index --force-reinstall strake-*.whl
PATH=$PWD/venv/bin:$PATH
[ "$(command -v strake)" = "$PWD/venv/bin/strake" ]
grep -q 'strake run' venv/share/man/man1/strake-run.1
check_jobs strake "$root" "$build"
# All of it goes again.
venv/bin/pip -q uninstall -y strake
left=$(find venv/bin/strake venv/lib/strake venv/share 2> /dev/null -type f || true)
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
