# Sourced by scripts/demo and scripts/test: steps with a log file each and one line on the screen.

# step NAME TEXT COMMAND…   runs the command with its output in build/NAME.log; its exit code is the command's, where
# 77 means skipped.
step() {
  local name=$1 text=$2
  shift 2
  local log=build/$name.log begin=$SECONDS code=0
  mkdir -p build
  printf '%-52s ' "$text"
  "$@" > "$log" 2>&1 < /dev/null || code=$?
  if [ $code -eq 0 ]; then
    printf 'ok, %d s\n' $((SECONDS - begin))
  elif [ $code -eq 77 ]; then
    printf 'skipped: %s\n' "$(tail -n 1 "$log")"
  else
    printf 'FAILED with %d after %d s; the end of %s:\n' $code $((SECONDS - begin)) "$log"
    tail -n 40 "$log" | sed 's/^/    /'
  fi
  return $code
}
