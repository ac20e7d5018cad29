#!/usr/bin/env bash
#
# Builds a release again and says whether each of its files has the same bytes.
#
#   rebuild.sh DIR [COMMIT] [--without-image]
#
# DIR has the files of the release, as they were made or downloaded. COMMIT may be a tag; if none is named, it is the one that the bill
# of materials in DIR names. Maintainer and homepage are taken from the packages in DIR. The exit status is 0 if all files are equal;
# signatures are not compared. Images have the packages of Debian of the day of their build, so of an image that differs only the layer
# of the program must be equal.
set -euo pipefail
readonly here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=scripts/lib/node.sh
source scripts/lib/node.sh

stop() { echo "release: $1" >&2 && exit 2; }

folder='' commit='' without_image=''
for word in "$@"; do
  case $word in
    --without-image) without_image=$word ;;
    -*) stop "unknown: $word (--without-image)" ;;
    *) if [[ -z $folder ]]; then folder=$word; else commit=$word; fi ;;
  esac
done
if [[ -n $folder && $folder != /* ]]; then folder=$here/$folder; fi
[[ -e $folder/SHA256SUMS ]] || stop "${folder:-the folder} has no SHA256SUMS: name the folder with the files of a release"
(cd "$folder" && sha256sum --check --quiet SHA256SUMS) || stop "$folder: files are not as SHA256SUMS has them"
version=$(sed -n 's/^[0-9a-f]*  posthorn-\(.*\)\.cdx\.json$/\1/p' "$folder/SHA256SUMS")
if [[ -z $commit ]]; then commit=$(sed -n '/"posthorn:commit"/{n; s/.*"value": "\([0-9a-f]*\)".*/\1/p}' "$folder/posthorn-$version.cdx.json"); fi

# As they were for those who made the release.
read_maintainer() {
  local package maintainer
  package=$(find "$folder" -name "posthorn_${version}_*.deb" | sort | head -n 1)
  maintainer=$(dpkg-deb --field "$package" Maintainer)
  DEBFULLNAME=${maintainer% <*} DEBEMAIL=${maintainer##*<}
  DEBEMAIL=${DEBEMAIL%>} POSTHORN_HOMEPAGE=$(dpkg-deb --field "$package" Homepage)
  export DEBFULLNAME DEBEMAIL POSTHORN_HOMEPAGE
}

# What differs inside of an archive.
explain() {
  local name=$1 list
  case $name in
    *.tar.gz) list=list_tarball ;;
    *.deb) list=list_package ;;
    *) diff "$folder/$name" "$again/$name" | head -n 10 || true; return 0 ;;
  esac
  diff <($list "$folder/$name") <($list "$again/$name") | head -n 20 || true
}

list_tarball() { tar --list --verbose --full-time --file "$1" && unpack_digests tar --extract --file "$1" --directory; }
list_package() { dpkg-deb --info "$1" && dpkg-deb --contents "$1" && unpack_digests dpkg-deb --extract "$1"; }
unpack_digests() {
  local place
  place=$(mktemp -d "$again/.look.XXXXXX")
  "$@" "$place"
  (cd "$place" && find . -type f -exec sha256sum {} + | sort --key 2)
  rm -rf "$place"
}

is_image() { [[ $1 == *.oci.tar || $1 == *.docker.tar ]]; }

# The digest of the last layer of an image, which is that of the program.
program_of() {
  local manifest
  if [[ $1 == *.docker.tar ]]; then
    tar --extract --to-stdout --file "$1" ./manifest.json | read_json 'found[0].Layers.at(-1)'
  else
    manifest=$(tar --extract --to-stdout --file "$1" ./index.json | read_json 'found.manifests[0].digest.replace(":", "/")')
    tar --extract --to-stdout --file "$1" "./blobs/$manifest" | read_json 'found.layers.at(-1).digest'
  fi
}

read_json() { node -p "const found = JSON.parse(require('fs').readFileSync(0, 'utf8')); $1"; }

has_equal_program() {
  local program
  program=$(program_of "$folder/$1") && [[ -n $program && $program == "$(program_of "$again/$1")" ]]
}

compare() {
  local name=$1
  if [[ ! -e $again/$name ]]; then
    echo "not built: $name"
    if [[ -z $without_image ]] || ! is_image "$name"; then different=1; fi
  elif cmp --silent "$folder/$name" "$again/$name"; then
    echo "equal:     $name"
  elif is_image "$name" && has_equal_program "$name"; then
    echo "program:   $name has an equal program; its packages of Debian, or its settings, are others"
  else
    echo "different: $name"
    if ! is_image "$name"; then explain "$name"; fi
    different=1
  fi
}

use_node || exit 2
again=$(mktemp -d) && trap 'rm -rf "$again"' EXIT
read_maintainer
echo "commit:    $commit"
# shellcheck disable=SC2086 # no word, or one
scripts/release-parts/build.sh "$commit" "$version" "$again" $without_image >"$again/.log" 2>&1 || { tail -n 20 "$again/.log" && stop 'the build failed'; }
different=0
while read -r _ name; do compare "$name"; done <"$folder/SHA256SUMS"
exit $different
