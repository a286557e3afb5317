# Sourced by scripts that build: steps with a log file each and one line on the screen.

# Options of CMake where all is compiled once: a dozen files are compiled as one, which takes half the time. GCC looks less often
# for memory that it can use again, which saves an eighth of its time and takes up to 1 GB in each process.
compiled_once=(-D CMAKE_UNITY_BUILD=ON -D CMAKE_UNITY_BUILD_BATCH_SIZE=12
  -D CMAKE_CXX_FLAGS="--param=ggc-min-expand=1000 --param=ggc-min-heapsize=600000")
# if_new FOLDER OPTIONS…   sets `options` to these where the folder was not configured yet. One that was keeps compiling files as
# one, or each by itself, which a preset would change.
if_new() {
  options=("${@:2}")
  [ -f "$1/CMakeCache.txt" ] || return 0
  local as_one
  as_one=$(sed -n 's/^CMAKE_UNITY_BUILD:[A-Z]*=//p' "$1/CMakeCache.txt")
  options=(-D CMAKE_UNITY_BUILD="${as_one:-OFF}")
}

# progress_of LOG   the last "[12/345]" of ninja, or "12/345" of ctest, in the log.
progress_of() {
  tail -c 8000 "$1" 2> /dev/null | grep -oE '^(\[[0-9]+/[0-9]+\]| *[0-9]+/[0-9]+ Test)' | tail -n 1 | tr -d ' Test'
}

# watch_step LOG LINE   shows how far a step is, until it is killed: on a terminal each second in place, else every half
# minute as a word more on the line.
watch_step() {
  local now seen= ticks=0
  while sleep 1 > /dev/null 2>&1 && kill -0 $$ 2> /dev/null; do
    now=$(progress_of "$1")
    [ "$now" != "$seen" ] || continue
    if [ -t 1 ]; then
      printf '\r%s%s\e[K' "$2" "$now"
      seen=$now
    elif [ $((++ticks)) -ge 30 ]; then
      printf '%s ' "$now"
      seen=$now ticks=0
    fi
  done
}

# step NAME TEXT COMMAND…   runs the command with its output in build/NAME.log; its exit code is the command's, where
# 77 means skipped.
step() {
  local name=$1 text=$2
  shift 2
  local log=build/$name.log begin=$SECONDS code=0 line watcher again=
  mkdir -p build
  printf -v line '%-52s ' "$text"
  printf '%s' "$line"
  : > "$log"
  watch_step "$log" "$line" &
  watcher=$!
  "$@" > "$log" 2>&1 < /dev/null || code=$?
  kill $watcher
  wait $watcher 2> /dev/null
  [ ! -t 1 ] || again=$'\r'$line$'\e[K'
  if [ $code -eq 0 ]; then
    printf '%sok, %d s\n' "$again" $((SECONDS - begin))
  elif [ $code -eq 77 ]; then
    printf '%sskipped: %s\n' "$again" "$(tail -n 1 "$log")"
  else
    printf '%sFAILED with %d after %d s; the end of %s:\n' "$again" $code $((SECONDS - begin)) "$log"
    tail -n 40 "$log" | sed 's/^/    /'
  fi
  return $code
}
