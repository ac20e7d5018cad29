#!/usr/bin/env bash
#
# Puts Debian packages into an apt repository, which it makes or extends, and signs it.
#
#   repository.sh DIR [--key KEY] [--url URL] FILE.deb...
#
# --key KEY   an id, fingerprint or mail address of a key of gpg (GNUPGHOME); the first one that can sign otherwise
# --url URL   where clients will find DIR, for posthorn.sources; what that file has already, else file:DIR
#
# Earlier versions stay in pool/. Clients that read while this writes get the lists before or those after: lists are also under the
# name of their digest, which is never written again, and InRelease, which names them, is replaced last.
# All times are SOURCE_DATE_EPOCH where it is set, except for those of the signatures.
set -euo pipefail
# shellcheck source=scripts/lib/gpg.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib/gpg.sh"

stop() { echo "package: $1" >&2 && exit "${2:-1}"; }

folder='' key='' url=''
files=()
while (($# > 0)); do
  case $1 in
    --key | --url)
      if (($# < 2)); then stop "$1 needs a value" 2; fi
      if [[ $1 == --key ]]; then key=$2; else url=$2; fi
      shift
      ;;
    -*) stop "unknown: $1 (--key, --url)" 2 ;;
    *) if [[ -z $folder ]]; then folder=$1; else files+=("$1"); fi ;;
  esac
  shift
done
if ((${#files[@]} == 0)); then stop 'a repository needs a folder and at least one package' 2; fi

have() { command -v "$1" >/dev/null 2>&1; }

install_tools() {
  if have apt-ftparchive && have gpg && have dpkg-deb; then return 0; fi
  local -a words=(apt-get -o DPkg::Lock::Timeout=120 install --yes --quiet --no-install-recommends apt-utils gpg gpg-agent dpkg)
  ((EUID == 0)) || stop 'apt-ftparchive or gpg is missing: apt-get install apt-utils gpg gpg-agent'
  { DEBIAN_FRONTEND=noninteractive "${words[@]}" || { apt-get update --quiet && DEBIAN_FRONTEND=noninteractive "${words[@]}"; }; } >&2
}

require_key() {
  fingerprint=$(find_signing_key "$key" || true)
  [[ -n $fingerprint ]] || stop "$(explain_signing_key "$key")"
}

# A repository that is signed by another key than before is refused by all its clients.
require_same_key() {
  if [[ ! -e $folder/posthorn.gpg ]]; then return 0; fi
  if gpg --batch --with-colons --show-keys "$folder/posthorn.gpg" | grep -q "^fpr:.*:$fingerprint:"; then return 0; fi
  stop "$folder is signed by another key than $fingerprint, and its clients know only that one: give it by --key, or remove $folder/posthorn.gpg and have each client install the new one"
}

# A version that clients may have installed never changes.
add_to_pool() {
  local file=$1 name target
  [[ $(dpkg-deb --field "$file" Package) == posthorn ]] || stop "$file is not a package of Posthorn"
  name=posthorn_$(dpkg-deb --field "$file" Version)_$(dpkg-deb --field "$file" Architecture).deb
  target=$folder/pool/main/p/posthorn/$name
  if [[ -e $target ]]; then
    cmp --silent "$file" "$target" || stop "$target is there with other bytes: give the new package another version"
    return 0
  fi
  mkdir -p "${target%/*}"
  install -m 644 "$file" "$target.part"
  mv "$target.part" "$target"
}

# Not before the one that is replaced: clients ignore lists that are older than theirs.
release_time() {
  local now=${SOURCE_DATE_EPOCH:-$(date +%s)} before=0
  if [[ -e $folder/dists/stable/Release ]]; then before=$(date --date="$(sed -n 's/^Date: //p' "$folder/dists/stable/Release")" +%s); fi
  echo $((now > before ? now : before))
}

make_lists() {
  local architecture lists
  for architecture in amd64 arm64; do
    lists=$new/dists/stable/main/binary-$architecture
    mkdir -p "$lists"
    (cd "$folder" && apt-ftparchive --arch "$architecture" packages pool) >"$lists/Packages"
    gzip --no-name --keep -9 "$lists/Packages"
  done
}

make_release() {
  local at option=APT::FTPArchive::Release
  at=$(LC_ALL=C date --utc --date="@$(release_time)" '+%a, %d %b %Y %H:%M:%S +0000')
  apt-ftparchive -o $option::Origin=Posthorn -o $option::Label=Posthorn -o $option::Suite=stable -o $option::Codename=stable \
    -o $option::Architectures='amd64 arm64' -o $option::Components=main -o $option::Acquire-By-Hash=yes \
    -o $option::MD5=no -o $option::SHA1=no -o $option::SHA512=no -o APT::FTPArchive::DoByHash=true \
    release "$new/dists/stable" | sed "s/^Date: .*/Date: $at/" >"$new/Release"
  mv "$new/Release" "$new/dists/stable/Release"
}

sign() { gpg --batch --yes --local-user "$fingerprint" --digest-algo SHA512 "$@" "$new/dists/stable/Release"; }

write_client_files() {
  local place=$url
  if [[ -z $place && -e $folder/posthorn.sources ]]; then place=$(sed -n 's/^URIs: //p' "$folder/posthorn.sources"); fi
  gpg --batch --export-options export-minimal --export "$fingerprint" >"$new/posthorn.gpg"
  cat >"$new/posthorn.sources" <<END_OF_SOURCES
Types: deb
URIs: ${place:-file:$folder}
Suites: stable
Components: main
Signed-By: /etc/apt/keyrings/posthorn.gpg
END_OF_SOURCES
}

# Lists under their digests first, then those under their names, and InRelease last. Each file is replaced as a whole.
publish() {
  local name
  chmod -R u=rwX,go=rX "$new"
  (cd "$new" && find dists -path '*/by-hash/*' -type f | sort && find dists -name 'Packages*' | sort) >"$new/names"
  while IFS= read -r name; do
    mkdir -p "$(dirname "$folder/$name")"
    mv --force "$new/$name" "$folder/$name"
  done <"$new/names"
  for name in posthorn.gpg posthorn.sources dists/stable/{Release,Release.gpg,InRelease}; do mv --force "$new/$name" "$folder/$name"; done
}

umask 022
install_tools
require_key
mkdir -p "$folder" && folder=$(cd "$folder" && pwd)
# Two at once would each leave out what the other adds.
exec 9<"$folder" && flock 9
require_same_key
for file in "${files[@]}"; do add_to_pool "$file"; done
new=$(mktemp -d "$folder/.new.XXXXXX") && trap 'rm -rf "$new"' EXIT
make_lists
make_release
sign --clearsign --output "$new/dists/stable/InRelease"
sign --armor --detach-sign --output "$new/dists/stable/Release.gpg"
write_client_files
publish
echo "$folder: signed by $fingerprint"
