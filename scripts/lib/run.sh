# Sourced as the last line of a script, with a program of scripts/ and the options for it: compiles what changed, unless NO_BUILD is
# set, and becomes the program. `--help` prints the head comment of the script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [[ ${2:-} == --help ]]; then sed -n '/^# shellcheck/d; 2,/^[^#]/s/^# \{0,1\}//p' "scripts/$(basename "$0")" && exit 0; fi
[ -d node_modules ] || { echo "$(basename "$0"): run ./scripts/test (or npm ci) first" >&2; exit 1; }
[ -n "${NO_BUILD:-}" ] || node_modules/.bin/tsc -p tsconfig.json
exec scripts/node "scripts/$1" "${@:2}"
