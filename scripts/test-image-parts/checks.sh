# shellcheck shell=bash
# Sourced by scripts/test-image and what it runs: checks that are counted in `passed`, `failed` and `skipped`.
# shellcheck source=scripts/lib/checks.sh
source scripts/lib/checks.sh

skip() {
  skipped=$((skipped + 1))
  echo "skipped: $1"
}
