#!/usr/bin/env bash
#
# Builds all files of a release from a clean clone of a commit, in a temporary folder.
#
#   build.sh COMMIT VERSION OUTPUT [--without-image]
#
# Packages and images for each architecture, the client for Node.js, the licenses, the bill of materials, the notes, and SHA256SUMS of
# all of them. OUTPUT gets them when they are complete. Equal commits give equal bytes, except that images have those packages of Debian
# that its archive has on the day of the build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

stop() { echo "release: $1" >&2 && exit 1; }

if (($# < 3)) || [[ ${4:---without-image} != --without-image ]]; then stop 'build.sh COMMIT VERSION OUTPUT [--without-image]'; fi
commit=$(git rev-parse --verify --quiet "$1^{commit}") || stop "there is no commit $1"
version=$2 without_image=${4:-}
mkdir -p "$3"
output=$(cd "$3" && pwd)
umask 022

# The configuration of this clone does not hold in the other one.
DEBFULLNAME=${DEBFULLNAME:-$(git config user.name || true)} DEBEMAIL=${DEBEMAIL:-$(git config user.email || true)}
export DEBFULLNAME DEBEMAIL
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH

work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
readonly files=$work/files
mkdir "$files"
git clone --quiet --no-checkout . "$work/posthorn"
cd "$work/posthorn"
git checkout --quiet --detach "$commit"

# shellcheck source=scripts/lib/node.sh
source scripts/lib/node.sh
fetch_node 24 || exit 1
PATH=$(node_folder 24):$PATH
export PATH

make_packages() {
  local -a options=(--built --output "$files" --version "$version" --architecture amd64 --architecture arm64)
  if [[ -z $without_image ]]; then options+=(--image); fi
  scripts/package "${options[@]}"
}

# What the tarballs say about the packages in them.
read_tarballs() {
  local file name
  for file in "$files/posthorn-$version"-linux-*.tar.gz; do
    name=$(basename "$file" .tar.gz)
    tar --extract --to-stdout --file "$file" "posthorn-$version/LICENSES-OF-PACKAGES.md" >"$work/$name.md"
    tar --extract --to-stdout --file "$file" "posthorn-$version/lib/node/LICENSE" >"$work/node-license"
    licenses+=("$work/$name.md")
    node_packages+=(--node-package "node-linux-${name##*-linux-}=${package_digests[node-linux-${name##*-linux-}@${node_releases[24]}]}")
  done
}

describe() {
  local -a licenses=() node_packages=()
  local sqlite
  sqlite=$(sed -n 's/^#define SQLITE_VERSION *"\(.*\)"$/\1/p' node_modules/better-sqlite3/deps/sqlite3/sqlite3.h)
  read_tarballs
  node scripts/release-parts/licenses.mjs --version "$version" --node "${node_releases[24]}" --node-license "$work/node-license" \
    "${licenses[@]}" >"$files/posthorn-$version-licenses.md"
  npm sbom --sbom-format cyclonedx --package-lock-only |
    node scripts/release-parts/sbom.mjs --version "$version" --commit "$commit" --time "$SOURCE_DATE_EPOCH" \
      --node "${node_releases[24]}" "${node_packages[@]}" --sqlite "$sqlite" "${licenses[@]}" >"$files/posthorn-$version.cdx.json"
  node scripts/release-parts/prepare.mjs "$version" --notes >"$files/posthorn-$version-notes.md"
}

npm ci --no-audit --no-fund --no-update-notifier --loglevel=error
scripts/build
make_packages
npm pack ./clients/js --pack-destination "$files" --loglevel=error >/dev/null
describe
(cd "$files" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
mv --force "$files"/* "$output"
