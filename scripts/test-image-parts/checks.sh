# shellcheck shell=bash
# Sourced by scripts/test-image and what it runs: checks that are counted in `passed`, `failed` and `skipped`.
# shellcheck source=scripts/lib/checks.sh
source scripts/lib/checks.sh

skip() {
  skipped=$((skipped + 1))
  echo "skipped: $1"
}

# Tries a command for up to two minutes.
wait_for() {
  for _ in {1..600}; do
    if "$@" 2>/dev/null; then return 0; fi
    sleep 0.2
  done
  echo "not after two minutes: $*"
  return 1
}
