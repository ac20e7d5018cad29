# Sourced by scripts/package: Node.js to carry or to compile for, and SQLite's binding for Node.js 20.
#
# Expects the project's root as the working directory, and `arch`. What is made here is kept in .peers.

# Carried by packages, or compiled for.
declare -rA node_releases=([20]=20.20.2 [22]=22.23.3)

# Unpacks Node.js of major version $1 to .peers/node-$1/node, unless it is there.
fetch_node() {
  local release=${node_releases[$1]} folder=$PWD/.peers/node-$1/node archive
  if [[ $("$folder/bin/node" --version 2>/dev/null) == "v$release" ]]; then return 0; fi
  rm -rf "$folder" && mkdir -p "$folder" || return 1
  archive=$(cd "$folder" && npm pack --silent "node-linux-$arch@$release" 2>/dev/null) || return 1
  tar -xzf "$folder/$archive" -C "$folder" --strip-components=1 && rm "$folder/$archive"
}

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
