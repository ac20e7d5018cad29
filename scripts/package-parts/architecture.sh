# Sourced by scripts/package after scripts/lib/node.sh: what a release for one architecture is made of.

# The name that Node.js and npm have for an architecture of Debian.
node_architecture() {
  case $1 in
    amd64) echo x64 ;;
    arm64) echo arm64 ;;
    *) return 1 ;;
  esac
}

# Prints the folder with Node.js and the packages with binaries for architecture $1 of Node.js, fetched once if this machine has another.
fetched_folder() {
  local folder=$node_peers/linux-$1 new
  if [[ node-linux-$1 == "$(node_package 2>/dev/null)" ]]; then
    fetch_node 24 && echo "$node_peers/node-24"
    return
  fi
  mkdir -p "$node_peers" && new=$(mktemp -d "$node_peers/new.XXXXXX") && chmod 755 "$new" || return 1
  node scripts/package-parts/lockfile-of-binaries.mjs --architecture "$1" --node "${node_releases[24]}" \
    --digest "${package_digests[node-linux-$1@${node_releases[24]}]}" --to "$new" || return 1
  # npm leaves its own lockfile when it is done.
  if [[ -e $folder/node_modules/.package-lock.json ]] && cmp --quiet "$new/package-lock.json" "$folder/package-lock.json"; then
    rm -rf "$new"
  elif (cd "$new" && npm ci --cpu "$1" --os linux --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >/dev/null); then
    rm -rf "$folder" && mv -T "$new" "$folder" || return 1
  else
    rm -rf "$new"
    echo "the packages for linux-$1 could not be fetched from npm" >&2
    return 1
  fi
  echo "$folder"
}

# Node.js and the modules below folder $1.
binaries_below() { find "$1" \( -name '*.node' -o -path '*/node/bin/node' \) -print0; }

# Fails if a binary below folder $1 is for another architecture than $2 of Node.js.
check_binaries() {
  local machine binary
  case $2 in
    x64) machine='Advanced Micro Devices X86-64' ;;
    *) machine=AArch64 ;;
  esac
  while IFS= read -r -d '' binary; do
    readelf --file-header "$binary" | grep -q "Machine: *$machine\$" || { echo "$binary is not for $2" >&2 && return 1; }
  done < <(binaries_below "$1")
}

# The newest symbol version that the binaries below folder $1 ask library $2 for, as `2.34` for GLIBC.
newest_symbol() {
  binaries_below "$1" | xargs -0 readelf --wide --version-info | grep -o "$2_[0-9][0-9.]*" | sort -uV | tail -n 1 | sed 's/.*_//'
}

# GLIBCXX_3.4.29 came with GCC 11, and one more with about each version since.
libstdcxx_version() {
  local minor
  minor=$(newest_symbol "$1" GLIBCXX)
  case ${minor##*.} in
    29) echo 11 ;;
    30) echo 12 ;;
    31 | 32) echo 13 ;;
    33) echo 14 ;;
    *) if ((${minor##*.} < 29)); then echo 10; else echo "unknown symbol version GLIBCXX_$minor" >&2 && return 1; fi ;;
  esac
}
