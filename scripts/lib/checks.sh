# shellcheck shell=bash disable=SC2154 # work is the folder of the caller
# Sourced by scripts that test other scripts: checks that are counted in `passed` and `failed`.

# check 'what holds' COMMAND…: shows the output of what failed. The command runs in this shell.
check() {
  local name=$1
  shift
  if "$@" >"$work/output" 2>&1; then
    passed=$((passed + 1)) && echo "ok   $name"
  else
    failed=$((failed + 1)) && echo "FAIL $name" && cat "$work/output"
  fi
}

check_fails() {
  local name=$1 expected=$2
  shift 2
  if "$@" >"$work/output" 2>&1; then
    failed=$((failed + 1)) && echo "FAIL $name: it succeeded" && cat "$work/output"
  elif ! grep -q -- "$expected" "$work/output"; then
    failed=$((failed + 1)) && echo "FAIL $name: it does not say \"$expected\"" && cat "$work/output"
  else
    passed=$((passed + 1)) && echo "ok   $name"
  fi
}

# wait_for 'what is awaited' COMMAND…: tries it for up to two minutes.
wait_for() {
  local name=$1
  shift
  for _ in {1..1200}; do
    if "$@" 2>/dev/null; then return 0; fi
    sleep 0.1
  done
  echo "$name: not after two minutes"
  return 1
}
