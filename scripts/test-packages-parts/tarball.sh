#!/usr/bin/env bash
# The tarball and its ./install in a booted tree of Debian 12. Run by scripts/test-packages.
set -uo pipefail
# shellcheck source=scripts/test-packages-parts/tree.sh
source scripts/test-packages-parts/tree.sh

arch=$(node -p process.arch)
readonly arch unit=$root/etc/systemd/system/posthorn.service configuration=$root/etc/posthorn/posthorn.toml
readonly old=/var/tmp/posthorn-$OLD/install new=/var/tmp/posthorn-$NEW/install program=/usr/local/bin/posthorn

# What aa-enforce does to the line.
profile=$root/etc/apparmor.d/posthorn
refuse() { sed -i '/^profile /s| flags=(complain)||' "$profile" && grep -qx 'profile posthorn {' "$profile"; }
still_refuses() { grep -qx 'profile posthorn {' "$profile" && profile_is_for /usr/local; }
complains() { grep -qx 'profile posthorn flags=(complain) {' "$profile"; }

unchanged() { [[ $(digest) == "$1" ]]; }

unpack() {
  local version
  for version in "$OLD" "$NEW"; do
    within tar -xzf "/mnt/posthorn-$version-linux-$arch.tar.gz" -C /var/tmp || return 1
  done
}

dry_run() {
  local before
  before=$(digest)
  check 'a dry run succeeds' within "$old" --dry-run
  check 'a dry run changes nothing' unchanged "$before"
}

install_as_shown() {
  type_block /var/tmp docs/install.md 'The tarball' 1 >"$work/installation" 2>&1 || { cat "$work/installation" && return 1; }
}
only_names_what_stays() { ! grep -F /var/tmp/ "$configuration" <(grep -v '^would run: ' "$work/installation"); }
profile_is_for() {
  grep -qx "@{posthorn} = $1/lib/posthorn" "$root/etc/apparmor.d/posthorn" && grep -q " $1/bin/posthorn r,\$" "$root/etc/apparmor.d/posthorn" &&
    apparmor_parser --skip-kernel-load --skip-cache --abort-on-error "$root/etc/apparmor.d/posthorn"
}

first_installation() {
  within rm -r "/var/tmp/posthorn-$OLD"
  within ln -s "/mnt/posthorn-$OLD-linux-$arch.tar.gz" /var/tmp
  check 'it installs, as docs/install.md shows' install_as_shown
  check 'the documents are where the installation says' names_its_documents /usr/local/share/doc/posthorn/docs
  check 'no file of the unpacked tarball is named' only_names_what_stays
  check 'sendmail is an alternative' leads_to /usr/sbin/sendmail /usr/local/lib/posthorn/bin/sendmail
  check 'its manual page is one too' leads_to /usr/share/man/man8/sendmail.8.gz /usr/local/share/man/man8/sendmail.posthorn.8.gz
  check 'the profile of AppArmor is for the program where it is' profile_is_for /usr/local
  check 'it complains' complains
  check 'the program runs' grep -q "posthorn $OLD" <(within "$program" version)
  check 'the manual page is compressed and names the version' grep -q "posthorn $OLD" <(zcat "$root/usr/local/share/man/man1/posthorn.1.gz")
  check 'zsh finds its completions' grep -q '^#compdef posthorn' "$root/usr/local/share/zsh/site-functions/_posthorn"
  check 'the unit starts it where it is' grep -q "^ExecStart=$program serve" "$unit"
  check 'root owns the configuration, the group posthorn reads it' has_mode /etc/posthorn/posthorn.toml '640 root posthorn'
  check 'only the daemon reads its data' has_mode /var/lib/posthorn '700 posthorn posthorn'
  check 'the host name comes from the host and DNS' grep -qx 'hostname = "mail.example.test"' "$configuration"
}

second_installation() {
  local before
  before=$(digest)
  check 'it installs a second time' within "$old"
  check 'the second time changes nothing' unchanged "$before"
  check 'another prefix gets a program of its own' within "$old" --prefix /opt/posthorn
  check 'the program of the prefix runs' grep -q "posthorn $OLD" <(within /opt/posthorn/bin/posthorn version)
  check 'the program of the prefix goes' within /opt/posthorn/lib/posthorn/install --uninstall --prefix /opt/posthorn
  check 'the first one is installed again' within "$old"
  check 'the other prefix is gone' test ! -e "$root/opt/posthorn"
}

first_message() {
  check 'systemctl starts the service' within systemctl enable --now posthorn posthorn-backup.timer
  check 'it runs as the user posthorn' runs_as_posthorn
  check 'setup makes a workspace' within "$program" setup --workspace Main --email you@example.test
  check 'a domain is added' within "$program" domain add example.test --force
  check 'a message is delivered, signed' send "$program" example.test before-upgrade
}

upgrade() {
  local before
  before=$(property MainPID)
  refuse
  cp -p "$configuration" "$work/before.toml"
  check 'the next version installs over it' within "$new"
  check 'its version is the new one' grep -q "posthorn $NEW" <(within "$program" version)
  check 'the configuration is kept' cmp "$work/before.toml" "$configuration"
  check 'a profile of AppArmor that refuses still does' still_refuses
  check 'the service that ran runs again' is_active
  check 'the new daemon is another process' test "$(property MainPID)" != "$before"
  check 'the domain is still there, and mail goes out' send "$program" example.test after-upgrade
  check_fails 'a downgrade is refused, with the way back' 'posthorn restore FILE' within "$old"
  check 'the new version stays installed' grep -q "posthorn $NEW" <(within "$program" version)
}

removal() {
  check 'it is uninstalled while the service runs' within /usr/local/lib/posthorn/install --uninstall
  check 'that stops the service' is_stopped
  check 'configuration and data are kept' test -f "$configuration" -a -f "$root/var/lib/posthorn/posthorn.db"
  check 'it is installed again' within "$new"
  check_fails 'a purge without a terminal is refused, with the cure' 'add --yes, or leave out --purge' within "$new" --uninstall --purge
  check 'a purge asks at a terminal, and the answer no removes nothing' purge_with no 'nothing was removed'
  check 'program, configuration and data are kept' test -x "$root$program" -a -f "$configuration" -a -f "$root/var/lib/posthorn/posthorn.db"
  check 'the answer yes purges' purge_with yes 'cannot be brought back'
  rmdir "$root/etc/apparmor.d"
  check 'nothing is left: no file, no user, no group' nothing_left
  check 'it is installed once more' within "$new"
  check 'without mail, a purge does not ask' within "$new" --uninstall --purge
  check 'nothing is left of an installation without mail' nothing_left
  check 'it is installed for the last time' within "$new"
  touch "$root/var/lib/posthorn/posthorn.db"
  move_data
  check_fails 'data on another disk counts as mail' 'add --yes' within "$new" --uninstall --purge
  check 'with --yes, a purge does not ask' within "$new" --uninstall --purge --yes
  check 'mail on another disk is deleted' test -d "$root/srv/mail" -a ! -e "$root/srv/mail/posthorn.db"
  rmdir "$root/srv/mail"
  within umount /var/lib/posthorn-backup && within rmdir /var/lib/posthorn-backup
  check 'nothing is left of it' nothing_left
}

# The data is on another disk, which a link leads to, and the folder of backups is a disk of its own.
move_data() {
  mv "$root/var/lib/posthorn" "$root/srv/mail" && ln -s /srv/mail "$root/var/lib/posthorn"
  within mkdir -p /var/lib/posthorn-backup && within mount -t tmpfs tmpfs /var/lib/posthorn-backup
}

# A person at a terminal answers $1, and reads $2.
purge_with() {
  within bash -c "(sleep 2; echo $1) | TERM=dumb script --quiet --command '$new --uninstall --purge' /dev/null" >"$work/typed" 2>&1
  cat "$work/typed"
  grep -q "$2" "$work/typed"
}

# A Node.js of one's own takes the place of the one that is removed.
other_node() {
  local own=$root/var/tmp/posthorn-$OLD/lib/node/bin/node
  install -D -m 755 "$own" "$root/var/tmp/own/node"
  rm -r "$root/var/tmp/posthorn-$OLD/lib/node"
  check_fails 'without Node.js the program says so' 'Node.js is missing' within "/var/tmp/posthorn-$OLD/lib/posthorn" version
  install -D -m 755 "$PACKAGES/node20" "$root/var/tmp/node20/node"
  check_fails 'an older Node.js is refused in one line' 'is too old' with_node node20 "/var/tmp/posthorn-$OLD/lib/posthorn" version
  printf '[service]\nhostname = "mail.example.test"\ndata_dir = "/var/tmp/plain-data"\n' >"$root/var/tmp/plain.toml"
  check 'it opens a database with a Node.js of the system' with_node own "/var/tmp/posthorn-$OLD/lib/posthorn" setup --workspace Main --email you@example.test --config /var/tmp/plain.toml
}
with_node() {
  local folder=$1
  shift
  within env PATH="/var/tmp/$folder:/usr/bin:/bin" "$@"
}

open_tree || exit 1
unpack || exit 1
# Only a system with AppArmor has the folder.
list_files >"$work/files" && mkdir "$root/etc/apparmor.d" && list_users >"$work/users"
dry_run
first_installation
second_installation
first_message
upgrade
removal
other_node
print_counts
