# Sourced by the other scripts: sets the project's folder, and defines steps, which print what they do and
# how long it took. A step's output goes to build/logs/<name>.log; if the step fails, its end is shown.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/build/logs
mkdir -p "$logs"
jobs=$(nproc)
# So that ccache knows the same sources again in another clone.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root}

# step NAME WHAT COMMAND...
step() {
  local log=$logs/$1.log what=$2 begin=$SECONDS
  shift 2
  if "$@" >"$log" 2>&1; then
    printf '%5d s  %s\n' $((SECONDS - begin)) "$what"
    return
  fi
  tail -n 60 "$log"
  printf '%5d s  %s: FAILED, see %s\n' $((SECONDS - begin)) "$what" "${log#"$root"/}"
  return 1
}

# step_building NAME WHAT COMMAND...: a step that shows how far ninja has come, as `[12/94]` lines of
# the command's output say: on a terminal in one line, elsewhere a line for each tenth.
step_building() {
  local log=$logs/$1.log what=$2 begin=$SECONDS terminal=0
  shift 2
  [ ! -t 1 ] || terminal=1
  if "$@" 2>&1 | tee "$log" | show_progress "$terminal" "$what"; then
    printf '%5d s  %s\n' $((SECONDS - begin)) "$what"
    return
  fi
  tail -n 60 "$log"
  printf '%5d s  %s: FAILED, see %s\n' $((SECONDS - begin)) "$what" "${log#"$root"/}"
  return 1
}

# In the shell, since Debian's awk (mawk) reads a pipe in large blocks and would show nothing for minutes.
show_progress() {
  local terminal=$1 what=$2 line shown=0 tenth
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    tenth=$((BASH_REMATCH[1] * 10 / BASH_REMATCH[2]))
    if [ "$terminal" = 1 ]; then
      printf '\r         %s: %d of %d ' "$what" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    elif [ "$tenth" -gt "$shown" ]; then
      printf '         %s: %d of %d\n' "$what" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    fi
    shown=$tenth
  done
  [ "$terminal" != 1 ] || printf '\r\033[K'
}

# build NAME PRESET [cmake option...]: configures and builds build/NAME.
build() {
  local folder=build/$1 preset=$2
  shift 2
  cmake --preset "$preset" -B "$folder" "$@" && cmake --build "$folder" --parallel "$jobs"
}
