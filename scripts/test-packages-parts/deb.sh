#!/usr/bin/env bash
# The Debian package in a tree of Debian stable. Run by scripts/test-packages.
set -uo pipefail
# shellcheck source=scripts/test-packages-parts/tree.sh
source scripts/test-packages-parts/tree.sh

architecture=$(dpkg --print-architecture)
readonly architecture
readonly old=/mnt/posthorn_${OLD}_$architecture.deb new=/mnt/posthorn_${NEW}_$architecture.deb
readonly unit=$root/usr/lib/systemd/system/posthorn.service configuration=$root/etc/posthorn/posthorn.toml

installed_version() { [[ $(within dpkg-query --show --showformat='${db:Status-Status} ${Version}' posthorn) == "installed $1" ]]; }
nothing_left() { diff "$work/files" <(list_files) && diff "$work/users" <(list_users); }

has_completions() {
  grep -q '^complete -F _posthorn' "$root/usr/share/bash-completion/completions/posthorn" &&
    grep -q '^#compdef posthorn' "$root/usr/share/zsh/vendor-completions/_posthorn" &&
    grep -q '^complete -c posthorn' "$root/usr/share/fish/vendor_completions.d/posthorn.fish"
}

first_installation() {
  check 'it installs' within dpkg -i "$old"
  check 'the program runs' grep -q "posthorn $OLD" <(within posthorn version)
  check 'the manual page is compressed and names the version' grep -q "posthorn $OLD" <(zcat "$root/usr/share/man/man1/posthorn.1.gz")
  check 'bash, zsh and fish find their completions' has_completions
  check 'root owns the configuration, the group posthorn reads it' has_mode /etc/posthorn/posthorn.toml '640 root posthorn'
  check 'only the daemon reads its data' has_mode /var/lib/posthorn '700 posthorn posthorn'
  check 'only root reads credentials' has_mode /etc/posthorn/credentials '700 root root'
  check 'the host name comes from the host and DNS' grep -qx 'hostname = "mail.example.test"' "$configuration"
  check 'the public address is that of the interface' grep -qx "public_addresses = \\[\"$address\"\\]" "$configuration"
  check 'the configuration has no problems' within posthorn check
}

first_message() {
  use_sink
  check 'the daemon starts as the unit says' start_daemon "$unit"
  check 'it runs as the user posthorn' runs_as_posthorn
  check 'setup makes a workspace' within posthorn setup --workspace Main --email you@example.test
  check 'a domain is added' within posthorn domain add example.test --force
  check 'a message is delivered, signed' send posthorn before-upgrade
  check 'a backup is made as its unit says, beside the daemon' make_backup
  check 'the daemon stops with status 0' stop_daemon
}

make_backup() {
  local file=$root/usr/lib/systemd/system/posthorn-backup.service user
  local -a words
  user=$(value_of "$file" User)
  read -ra words <<<"$(value_of "$file" ExecStart)"
  within install -d -m 700 -o "$user" -g "$user" "/var/lib/$(value_of "$file" StateDirectory)"
  within setpriv --reuid="$user" --regid="$user" --init-groups --no-new-privs --bounding-set=-all "${words[@]}" &&
    [[ $(find "$root/var/lib/posthorn-backup" -name 'posthorn-*.db' | wc -l) == 1 ]]
}

upgrade() {
  cp -p "$configuration" "$work/before.toml"
  check 'the next version installs over it' within dpkg -i "$new"
  check 'its version is the new one' installed_version "$NEW"
  check 'the configuration is kept' cmp "$work/before.toml" "$configuration"
  check 'the new version starts on the data of the old one' start_daemon "$unit"
  check 'the domain is still there, and mail goes out' send posthorn after-upgrade
  check 'the new version stops with status 0' stop_daemon
  check_fails 'a downgrade is refused, with the way back' 'posthorn restore FILE' within dpkg -i "$old"
  check 'the new version stays installed' installed_version "$NEW"
}

# There is no systemd in the tree: this notes what the maintainer scripts would have it do.
record_systemctl() {
  mkdir -p "$root/run/systemd/system"
  printf '#!/bin/sh\necho "$*" >>/tmp/systemctl\n[ "$1" != is-active ] || [ -e /tmp/active ]\n' >"$root/usr/bin/systemctl"
  chmod 755 "$root/usr/bin/systemctl"
}

calls() {
  rm -f "$root/tmp/systemctl"
  "$@" >/dev/null 2>&1
  grep -v is-active "$root/tmp/systemctl" | paste -s -d ';'
}

restarts() {
  record_systemctl
  check 'a service that is stopped stays stopped at an upgrade' test "$(calls within dpkg -i "$new")" = 'daemon-reload'
  touch "$root/tmp/active"
  check 'a service that runs is stopped, then started' test "$(calls within dpkg -i "$new")" = 'stop posthorn.service;daemon-reload;start posthorn.service'
  check 'a refused downgrade does not touch it' test "$(calls within dpkg -i "$old"; rm -f "$root/tmp/active")" = 'daemon-reload'
  check 'a removal stops it' grep -q '^stop posthorn-backup.timer posthorn.service' <(calls within dpkg --remove posthorn)
  rm -rf "$root/usr/bin/systemctl" "$root/run/systemd"
}

removal() {
  check 'a removal keeps configuration and data' test -f "$configuration" -a -f "$root/var/lib/posthorn/posthorn.db"
  check 'the way back: the older version installs after a removal' within dpkg -i "$old"
  check 'it keeps the configuration too' cmp "$work/before.toml" "$configuration"
  check 'it purges' within dpkg --purge posthorn
  check 'nothing is left: no file, no user, no group' nothing_left
}

open_tree || exit 1
list_files >"$work/files" && list_users >"$work/users"
first_installation
first_message
upgrade
restarts
removal
print_counts
