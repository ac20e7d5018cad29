# Sourced by scripts that run, carry or compile for other versions of Node.js than the installed one.
#
# Expects the project's root as the working directory, and npm.

# The long-term releases that are supported, as they were tested last.
declare -rA node_releases=([20]=20.20.2 [22]=22.23.3 [24]=24.21.0 [26]=26.10.0)

# Unpacks Node.js of major version $1, for this machine, to .peers/node-$1/node, unless it is there. npm has each release as
# a package, with its headers.
fetch_node() {
  local release=${node_releases[$1]} folder=$PWD/.peers/node-$1/node arch archive
  if [[ $("$folder/bin/node" --version 2>/dev/null) == "v$release" ]]; then return 0; fi
  arch=$(node -p process.arch) || return 1
  rm -rf "$folder" && mkdir -p "$folder" || return 1
  archive=$(cd "$folder" && npm pack --silent "node-linux-$arch@$release" 2>/dev/null) || return 1
  tar -xzf "$folder/$archive" -C "$folder" --strip-components=1 && rm "$folder/$archive"
}
