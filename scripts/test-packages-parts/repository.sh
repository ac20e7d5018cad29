#!/usr/bin/env bash
# The apt repository of scripts/package in a booted tree of Debian 12. Run by scripts/test-packages.
set -uo pipefail
# shellcheck source=scripts/test-packages-parts/tree.sh
source scripts/test-packages-parts/tree.sh

architecture=$(dpkg --print-architecture)
readonly architecture page=docs/install.md section='From an apt repository'
readonly old=$PACKAGES/posthorn_${OLD}_$architecture.deb new=$PACKAGES/posthorn_${NEW}_$architecture.deb
readonly repository=$work/repository lists=$work/repository/dists/stable
# The page has https; the server of the test has no certificate that the tree knows.
readonly url=http://packages.example.net
export GNUPGHOME=$work/gnupg SOURCE_DATE_EPOCH=1767225600

make_key() { mkdir -m 700 "$GNUPGHOME" && gpg --batch --passphrase '' --quick-gen-key "$1" ed25519 sign never; }
add() { scripts/package-parts/repository.sh "$repository" "$@"; }

# Only this repository: the tree has no way to Debian's.
publish() {
  rm -f "$root/etc/apt/sources.list"
  echo "packages.example.net. A $mx_address" >>"$work/records"
  # The reader says yes to what apt asks.
  echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/90answers"
  nsenter "--net=$work/internet" node scripts/test-packages-parts/file-server.mjs "$repository" "$mx_address" 80 >"$work/web.log" &
  web=$!
  wait_for 'the web server' grep -q ready "$work/web.log"
}

type_as_shown() { within bash -ec "$(block "$page" "$section" "$1" | sed 's|https://|http://|')"; }
installed_version() { [[ $(within dpkg-query --show --showformat='${db:Status-Status} ${Version}' posthorn) == "installed $1" ]]; }
gets_process() { is_active && [[ $(property MainPID) != "$1" ]]; }
records() { within posthorn workspace list --json && within posthorn key list --json && within posthorn domain list --json; }

making() {
  check_fails 'without a key it says how to make one' 'gpg --quick-generate-key' add "$old"
  make_key 'Operator <operator@example.net>' >/dev/null 2>&1
  check 'a repository is made' add --url "$url" "$old"
  check 'gpg accepts both signatures' both_signatures
  cp -r "$repository" "$work/again" && rm -r "$work/again/dists"
  check 'made again, in a folder that is named from here, the lists are the same' same_lists
}

both_signatures() {
  gpgv --keyring "$repository/posthorn.gpg" "$lists/InRelease" && gpgv --keyring "$repository/posthorn.gpg" "$lists/Release.gpg" "$lists/Release"
}

same_lists() {
  local script=$PWD/scripts/package-parts/repository.sh
  (cd "$work" && "$script" again "$old") || return 1
  diff --recursive --exclude='InRelease' --exclude=Release.gpg --exclude=posthorn.gpg "$repository" "$work/again"
}

installation() {
  check 'it installs, as docs/install.md shows' type_as_shown 1
  check 'its version is that of the repository' installed_version "$OLD"
  check 'apt knows its origin' grep -q 'o=Posthorn,a=stable,n=stable,l=Posthorn,c=main' <(within apt-cache policy)
  check 'and where the package is from' grep -q "$url stable/main" <(within apt-cache policy posthorn)
  check 'the service starts' type_block / "$page" 'The first message' 1
  check 'a workspace, a key and a domain are made' within posthorn setup --workspace Main --email you@example.com --domain example.com
}

upgrade() {
  local before
  check 'the next version is added' add "$new"
  check 'the version before stays in the pool' test -f "$repository/pool/main/p/posthorn/posthorn_${OLD}_$architecture.deb"
  before=$(property MainPID)
  records >"$work/before"
  check 'an upgrade, as docs/install.md shows' type_as_shown 2
  check 'its version is the new one' installed_version "$NEW"
  check 'the service that ran runs again' gets_process "$before"
  check 'workspaces, keys and domains are as before' diff "$work/before" <(records)
  check_fails 'apt does not go back by itself' 'without --allow-downgrades' within apt-get install --yes "posthorn=$OLD"
  check_fails 'and the package refuses it, with the way back' 'posthorn restore FILE' \
    within apt-get install --yes --allow-downgrades "posthorn=$OLD"
  check 'the new version stays' installed_version "$NEW"
  check 'and runs' is_active
}

# `apt-get update` itself ends with 0 on a bad signature, and goes on with the lists that it has.
refused_update() { within apt-get -o APT::Update::Error-Mode=any update; }

tampering() {
  cp "$lists/InRelease" "$work/InRelease"
  sed -i 's/^Label: .*/Label: Other/' "$lists/InRelease"
  check_fails 'a changed InRelease is refused' BADSIG refused_update
  GNUPGHOME=$work/gnupg-of-another make_key 'Another <another@example.net>' >/dev/null 2>&1
  GNUPGHOME=$work/gnupg-of-another gpg --batch --yes --clearsign --output "$lists/InRelease" "$lists/Release" 2>/dev/null
  check_fails 'a signature of another key is refused' NO_PUBKEY refused_update
  cp "$work/InRelease" "$lists/InRelease"
  check 'the one before is accepted again' refused_update
  printf changed | dd of="$repository/pool/main/p/posthorn/posthorn_${NEW}_$architecture.deb" bs=1 seek=100000 conv=notrunc status=none
  within apt-get clean
  check_fails 'a changed package is refused' 'Hash Sum mismatch' within apt-get install --yes --reinstall posthorn
  check 'the service still runs' is_active
}

refusals() {
  check_fails 'a version that is there with other bytes is not replaced' 'is there with other bytes' add "$new"
  cp "$new" "$repository/pool/main/p/posthorn/posthorn_${NEW}_$architecture.deb"
  GNUPGHOME=$work/gnupg-of-another check_fails 'another key is not taken for a repository' 'is signed by another key' add "$new"
  check_fails 'a key that gpg does not have is named' 'no secret key "nobody"' add --key nobody "$new"
}

making
open_tree || exit 1
publish
installation
upgrade
tampering
refusals
kill "$web"
print_counts
