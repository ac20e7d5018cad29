#!/usr/bin/env bash
#
# Builds a release again and says whether each of its files has the same bytes.
#
#   rebuild.sh DIR [COMMIT] [--without-image]
#
# DIR has the files of the release, as they were made or downloaded. COMMIT is the one that is checked out if none is named. Maintainer
# and homepage are taken from the packages in DIR. The exit status is 0 if all files are equal; signatures are not compared.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

stop() { echo "release: $1" >&2 && exit 2; }

folder='' commit='' without_image=''
for word in "$@"; do
  case $word in
    --without-image) without_image=$word ;;
    -*) stop "unknown: $word (--without-image)" ;;
    *) if [[ -z $folder ]]; then folder=$word; else commit=$word; fi ;;
  esac
done
[[ -e $folder/SHA256SUMS ]] || stop "${folder:-the folder} has no SHA256SUMS: name the folder with the files of a release"
(cd "$folder" && sha256sum --check --quiet SHA256SUMS) || stop "$folder: files are not as SHA256SUMS has them"
version=$(sed -n 's/^[0-9a-f]*  posthorn-\(.*\)\.cdx\.json$/\1/p' "$folder/SHA256SUMS")

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

again=$(mktemp -d) && trap 'rm -rf "$again"' EXIT
read_maintainer
# shellcheck disable=SC2086 # no word, or one
scripts/release-parts/build.sh "${commit:-HEAD}" "$version" "$again" $without_image >"$again/.log" 2>&1 || { tail -n 20 "$again/.log" && stop 'the build failed'; }
different=0
while read -r _ name; do
  if [[ ! -e $again/$name ]]; then
    echo "not built: $name"
    if [[ -z $without_image ]]; then different=1; fi
  elif cmp --silent "$folder/$name" "$again/$name"; then
    echo "equal:     $name"
  else
    echo "different: $name"
    explain "$name"
    different=1
  fi
done <"$folder/SHA256SUMS"
exit $different
