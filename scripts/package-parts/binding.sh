# Sourced by scripts/package: SQLite's binding for Node.js 20.
#
# Expects the project's root as the working directory, `arch`, and scripts/lib/node.sh. What is made here is kept in .peers.

# Paths of this machine are left out of the binary: equal sources give equal bytes.
compile_binding() {
  local kept=$1 node=$PWD/.peers/node-20/node folder gyp
  gyp=$(npm root --global 2>/dev/null)/npm/node_modules/node-gyp/bin/node-gyp.js
  if [[ ! -f $gyp ]]; then echo "package: $gyp is missing: npm brings it" >&2 && return 1; fi
  folder=$(mktemp -d) || return 1
  cp -r node_modules/better-sqlite3/{src,deps,binding.gyp,package.json} "$folder"
  echo 'compiling SQLite for Node.js 20, which takes a minute or two' >&2
  if ! (cd "$folder" && CXXFLAGS="-ffile-prefix-map=$folder=. -ffile-prefix-map=$node=node" CFLAGS="-ffile-prefix-map=$folder=." \
    "$node/bin/node" "$gyp" rebuild --release --nodedir="$node" >"$folder/output.txt" 2>&1); then
    tail -n 20 "$folder/output.txt" >&2
    rm -rf "$folder"
    return 1
  fi
  mkdir -p "$(dirname "$kept")"
  strip --strip-unneeded -o "$kept" "$folder/build/Release/better_sqlite3.node"
  rm -rf "$folder"
}

# Prints the file of the binding for Node.js 20. It is compiled here, so that it does not depend on the Node.js of npm ci.
binding_for_20() {
  local kept
  kept=.peers/native/better-sqlite3-$(node -p 'require("./node_modules/better-sqlite3/package.json").version')-node-${node_releases[20]}-$arch.node
  if [[ ! -f $kept ]]; then
    fetch_node 20 && compile_binding "$kept" || return 1
  fi
  echo "$kept"
}
