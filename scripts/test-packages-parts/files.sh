#!/usr/bin/env bash
# What the packages contain, and the start of the other architecture's in an emulator. Run by scripts/test-packages.
set -uo pipefail
# shellcheck source=scripts/test-packages-parts/tree.sh
source scripts/test-packages-parts/tree.sh

architecture=$(dpkg --print-architecture)
readonly architecture lib=$work/other/posthorn-$OLD/lib

unpack() {
  local one
  for one in "$architecture" "$OTHER"; do dpkg-deb --raw-extract "$PACKAGES/posthorn_${OLD}_$one.deb" "$work/$one" || return 1; done
  mkdir "$work/other"
  case $OTHER in
    amd64) one=x64 ;;
    *) one=$OTHER ;;
  esac
  tar -xzf "$PACKAGES/posthorn-$OLD-linux-$one.tar.gz" -C "$work/other"
}

lintian_finds_nothing() { lintian --allow-root --fail-on error,warning "$PACKAGES/posthorn_${OLD}_$1.deb"; }
has_field() { [[ $(dpkg-deb --field "$PACKAGES/posthorn_${OLD}_$1.deb" "$2") =~ $3 ]]; }
has_digests() { (cd "$work/$1" && md5sum --check --quiet DEBIAN/md5sums); }
# The same files for all architectures, but for the names of binaries.
lays() { (cd "$work/$1" && find . | sed -E "s,(linux[-_])$2\b,\1ARCH,g" | grep -v '/better-sqlite3/lib/' | sort); }
lays_the_same() {
  case $OTHER in
    amd64) diff <(lays "$architecture" arm64) <(lays "$OTHER" x64) ;;
    *) diff <(lays "$architecture" x64) <(lays "$OTHER" arm64) ;;
  esac
}

files_of() {
  check "lintian finds no error and no warning in the package for $1" lintian_finds_nothing "$1"
  check "the package for $1 names its architecture" has_field "$1" Architecture "^$1\$"
  check "the package for $1 names its maintainer" has_field "$1" Maintainer '^Jane Doe <jane@example.net>$'
  check "the package for $1 names its homepage" has_field "$1" Homepage '^https://example.net/$'
  check "the package for $1 needs the C library that its binaries ask for" has_field "$1" Depends '^libc6 \(>= 2\.[0-9]+\), libstdc\+\+6 \(>= [0-9]+\),'
  check "the digests of the files for $1 are right" has_digests "$1"
}

# With the libraries of its Debian. A folder of its own, because this machine's files are seen beside them.
emulated() { "$EMULATOR" -L "$OTHER_TREE" "$lib/node/bin/node" "$lib/launch.cjs" "$@"; }
starts_emulated() { [[ $(emulated version) == "posthorn $OLD" ]]; }
opens_database() {
  printf '[service]\nhostname = "mail.example.test"\ndata_dir = "%s"\n' "$work/data" >"$work/emulated.toml"
  emulated setup --workspace Main --email you@example.test --config "$work/emulated.toml" &&
    emulated workspace list --config "$work/emulated.toml" | grep -q Main
}

other_architecture() {
  check "the program for $OTHER starts in an emulator" starts_emulated
  check "the program for $OTHER makes a database, and reads it" opens_database
  check 'both architectures have the same files' lays_the_same
}

profile() {
  apparmor_parser --skip-kernel-load --skip-cache --abort-on-error "$@" "$work/$architecture/etc/apparmor.d/posthorn"
}
# The rules of the compiled profile are counted, so that one of an empty file is no success.
profile_has() { profile --names | grep -qx posthorn && profile --preprocess | grep -q -- "$1"; }
unit_names_profile() { grep -qx 'AppArmorProfile=-posthorn' "$work/$architecture/usr/lib/systemd/system/posthorn.service"; }

apparmor() {
  check 'AppArmor reads the profile' profile
  check 'the profile is for the data' profile_has '/var/lib/posthorn/{,\*\*} rwkl,'
  check 'the unit names the profile' unit_names_profile
  if [[ ! -e /sys/module/apparmor ]]; then echo '     not run: the kernel of this machine has no AppArmor, so that the profile was read and not applied'; fi
}

check_fails 'a maintainer without an address is refused' 'found "nobody", allowed: a name and an address' scripts/package --built --maintainer nobody
check_fails 'an unknown architecture is refused' 'found "vax", allowed: amd64, arm64' scripts/package --built --architecture vax
unpack || exit 1
files_of "$architecture"
files_of "$OTHER"
other_architecture
apparmor
print_counts
