# Sourced by scripts that run from a clone: the tools that a build needs, and npm's packages.
#
# Expects the project's root as the working directory. Nothing here ends the script.

have() { command -v "$1" >/dev/null 2>&1; }

# Has this Node.js a binary of SQLite in the packages? Others need a compiled one (src/storage/sqlite.ts).
brings_own_sqlite() { node -e 'process.exit((process.versions.napi ?? 0) >= 10 ? 0 : 1)'; }

# One line for each tool that is missing or too old, with the remedy.
missing_tools() {
  local enough='const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'
  if ! have node; then
    echo 'node is missing: install Node.js 20, 22, 24 or 26'
  elif ! node -e "$enough"; then
    echo "node $(node --version) is too old: install Node.js 20 (20.19 or later), 22, 24 or 26"
  fi
  have npm || echo 'npm is missing: install the one that belongs to Node.js'
  if have node && ! brings_own_sqlite; then missing_compilers; fi
}

missing_compilers() {
  have "${CXX:-g++}" || echo "${CXX:-g++} is missing: apt-get install g++"
  have make || echo 'make is missing: apt-get install make'
  have python3 || echo 'python3 is missing: apt-get install python3'
}

# Does the binding that this Node.js uses load? Another Node.js needs another build of SQLite.
sqlite_is_ready() {
  node 2>/dev/null -e '
    const name = (process.versions.napi ?? 0) >= 10 ? "better-sqlite3-13" : "better-sqlite3"
    new (require(name))(":memory:").close()'
}

# By content: a checkout makes files new without changing them.
packages_are_current() {
  node 2>/dev/null -e '
    const { packages: wanted } = require("./package-lock.json")
    const { packages: installed } = require("./node_modules/.package-lock.json")
    const differs = (name) => installed[name]?.version !== wanted[name]?.version
    const needed = Object.keys(wanted).filter((name) => name !== "" && !wanted[name].optional)
    process.exit([...needed, ...Object.keys(installed)].some(differs) ? 1 : 0)' && sqlite_is_ready
}

# The headers that SQLite is compiled against lie beside Node.js in most installations; npm would
# download them, which a machine without network access cannot.
use_headers_of_node() {
  local prefix
  prefix=$(node -p 'require("node:path").resolve(process.execPath, "../..")')
  if [ -z "${npm_config_nodedir:-}" ] && [ -f "$prefix/include/node/node_version.h" ]; then
    export npm_config_nodedir=$prefix
  fi
}

# Prints progress, since npm itself is silent for a minute and more. Returns npm's status.
install_packages() {
  npm ci --no-audit --no-fund --no-update-notifier --loglevel=error &
  local npm=$! seconds=0
  while sleep 1 && kill -0 "$npm" 2>/dev/null; do
    seconds=$((seconds + 1))
    if ((seconds % 15 == 0)); then echo "... ${seconds} s"; fi
  done
  wait "$npm" && scripts/build-sqlite
}
