# Sourced by scripts that build from a clone: npm's packages.
#
# Expects the project's root as the working directory and a fitting Node.js (scripts/lib/node.sh). Nothing here ends the script.

have() { command -v "$1" >/dev/null 2>&1; }

# By content: a checkout makes files new without changing them.
packages_are_current() {
  node 2>/dev/null -e '
    const { packages: wanted } = require("./package-lock.json")
    const { packages: installed } = require("./node_modules/.package-lock.json")
    const differs = (name) => installed[name]?.version !== wanted[name]?.version
    const needed = Object.keys(wanted).filter((name) => name !== "" && !wanted[name].optional)
    process.exit([...needed, ...Object.keys(installed)].some(differs) ? 1 : 0)'
}

# Prints progress, since npm itself is silent. Returns npm's status.
install_packages() {
  if ! have npm; then
    echo 'npm is missing: install the one that belongs to Node.js'
    return 1
  fi
  npm ci --no-audit --no-fund --no-update-notifier --loglevel=error &
  local npm=$! seconds=0
  while sleep 1 && kill -0 "$npm" 2>/dev/null; do
    seconds=$((seconds + 1))
    if ((seconds % 15 == 0)); then echo "... ${seconds} s"; fi
  done
  wait "$npm"
}
