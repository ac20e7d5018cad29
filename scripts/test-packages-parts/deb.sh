#!/usr/bin/env bash
# The Debian package in a booted tree of Debian 12. Run by scripts/test-packages.
set -uo pipefail
# shellcheck source=scripts/test-packages-parts/tree.sh
source scripts/test-packages-parts/tree.sh
# shellcheck source=scripts/test-packages-parts/service.sh
source scripts/test-packages-parts/service.sh

architecture=$(dpkg --print-architecture)
readonly architecture page=docs/install.md
readonly old=/mnt/posthorn_${OLD}_$architecture.deb new=/mnt/posthorn_${NEW}_$architecture.deb
readonly configuration=$root/etc/posthorn/posthorn.toml

installed_version() { [[ $(within dpkg-query --show --showformat='${db:Status-Status} ${Version}' posthorn) == "installed $1" ]]; }

has_completions() {
  grep -q '^complete -F _posthorn' "$root/usr/share/bash-completion/completions/posthorn" &&
    grep -q '^#compdef posthorn' "$root/usr/share/zsh/vendor-completions/_posthorn" &&
    grep -q '^complete -c posthorn' "$root/usr/share/fish/vendor_completions.d/posthorn.fish"
}

prints_what_the_page_shows() {
  local shown
  shown=$(block "$page" 'The Debian package' 1 text | sed "s/amd64/$architecture/")
  [[ $(<"$work/installation") == *"$shown"* ]] || diff <(echo "$shown") "$work/installation"
}

install_as_shown() {
  local status
  type_block /mnt "$page" 'The Debian package' 1 >"$work/typed" 2>&1
  status=$?
  # apt gives dpkg a terminal, whose lines end with CR LF.
  tr -d '\r' <"$work/typed" >"$work/installation"
  cat "$work/installation"
  return $status
}

first_installation() {
  check 'it installs, as docs/install.md shows' install_as_shown
  check 'it prints what docs/install.md shows' prints_what_the_page_shows
  check 'it starts nothing' is_inactive
  check 'the program runs' grep -q "posthorn $OLD" <(within posthorn version)
  check 'the manual page is compressed and names the version' grep -q "posthorn $OLD" <(zcat "$root/usr/share/man/man1/posthorn.1.gz")
  check 'bash, zsh and fish find their completions' has_completions
  check 'root owns the configuration, the group posthorn reads it' has_mode /etc/posthorn/posthorn.toml '640 root posthorn'
  check 'only the daemon reads its data' has_mode /var/lib/posthorn '700 posthorn posthorn'
  check 'only root reads credentials' has_mode /etc/posthorn/credentials '700 root root'
  check 'the host name comes from the host and DNS' grep -qx 'hostname = "mail.example.test"' "$configuration"
  check 'the public address is that of the interface' grep -qx "public_addresses = \\[\"$address\"\\]" "$configuration"
  check 'sendmail is an alternative' grep -q 'no recipients' <(within sh -c '/usr/sbin/sendmail -t </dev/null 2>&1')
  check 'its manual page is one too' leads_to /usr/share/man/man8/sendmail.8.gz /usr/share/man/man8/sendmail.posthorn.8.gz
  check 'the documents are where the installation says' names_its_documents /usr/share/doc/posthorn/docs
}

# The operator sets the records while `posthorn setup` waits for them: all that it lists as required, as it lists them.
set_up_as_shown() {
  local setup status
  type_block / "$page" 'The first message' 2 >"$work/setup" 2>"$work/setup-progress" &
  setup=$!
  wait_for 'the list of records' grep -q 'looking again' "$work/setup-progress" && sed '/^Optional/,$d' "$work/setup" >"$work/records"
  wait "$setup"
  status=$?
  cat "$work/setup" "$work/setup-progress"
  return $status
}

send_as_shown() {
  local command
  command=$(grep -o '`posthorn send --from [^`]*`' "$page" | head -n 1 | tr -d '`')
  within bash -ec "$command" && grep -q '^To: you@elsewhere.example' "$work/mail"
}

first_message() {
  check 'check and start, as docs/install.md shows' type_block / "$page" 'The first message' 1
  check 'both units start at each boot' within systemctl is-enabled posthorn.service posthorn-backup.timer
  check 'setup lists the records and waits for them, as docs/install.md shows' set_up_as_shown
  check 'setup verified the domain' grep -q '^verified: you can send from example.com' "$work/setup"
  check 'the first message is delivered, signed' was_delivered 'The first message from example.com'
  check 'another message is delivered, as docs/install.md shows' send_as_shown
}

pages() {
  cp -p "$configuration" "$work/before.toml"
  within tar -xzf "/mnt/posthorn-$NEW-linux-$(node -p process.arch).tar.gz" -C /var/tmp
  within ln -s "$old" "$new" /var/tmp
  node scripts/test-packages-parts/operations.mjs "$leader" | tee "$work/operations"
  add_counts "$work/operations"
}

keeps_process() { [[ $(property MainPID) == "$1" ]]; }
gets_process() { is_active && ! keeps_process "$1"; }

upgrade() {
  local before
  before=$(property MainPID)
  check 'the next version installs over it' within dpkg -i "$new"
  check 'its version is the new one' installed_version "$NEW"
  check 'the configuration is kept' cmp "$work/before.toml" "$configuration"
  check 'the service that ran runs again, the new version on the data of the old one' gets_process "$before"
  check 'the domain is still there, and mail goes out' send posthorn example.com after-upgrade
  before=$(property MainPID)
  check_fails 'a downgrade is refused, with the way back' 'posthorn restore FILE' within dpkg -i "$old"
  check 'a refused downgrade does not touch the service' keeps_process "$before"
  check 'the new version stays installed' installed_version "$NEW"
  check 'the service stops with status 0' stop_service
  within dpkg -i "$new" >/dev/null 2>&1
  check 'a service that is stopped stays stopped at an upgrade' is_inactive
}

# The file of another package is not replaced; the line says what the reader types when it is gone.
keeps_other_sendmail() {
  local cure
  rm "$root/usr/sbin/sendmail" && printf '#!/bin/sh\n' >"$root/usr/sbin/sendmail"
  within dpkg -i "$old" >"$work/typed" 2>&1 || { cat "$work/typed" && return 1; }
  cure=$(grep -o 'update-alternatives --install .*' "$work/typed") && [[ $(<"$root/usr/sbin/sendmail") == '#!/bin/sh' ]] || return 1
  rm "$root/usr/sbin/sendmail"
  within bash -ec "$cure" && leads_to /usr/sbin/sendmail /usr/lib/posthorn/bin/sendmail
}

keeps_data() { test -f "$root/var/lib/posthorn/posthorn.db" && has_mode /var/lib/posthorn '700 posthorn posthorn'; }
keeps_backups() { [[ -n $(find "$root/var/lib/posthorn-backup" -name 'posthorn-*.db') ]]; }

# Nobody answers, as in a script.
purge_without_answer() { within dpkg --purge posthorn >"$work/typed" 2>&1 || { cat "$work/typed" && return 1; }; }
tells_what_it_kept() {
  local shown
  shown=$(block "$page" 'Upgrade, way back, removal' 2 text)
  [[ $(<"$work/typed") == *"$shown"* ]] || diff <(echo "$shown") "$work/typed"
}

# A person at a terminal answers.
purge_with() {
  within bash -c "(sleep 5; echo $1) | DEBIAN_FRONTEND=readline TERM=dumb script --quiet --return --command 'dpkg --purge posthorn' /dev/null" >"$work/typed" 2>&1
  cat "$work/typed"
  grep -q 'Delete all mail and backups of Posthorn?' "$work/typed"
}

installs_again() { within dpkg -i "$old" && within systemctl start posthorn && is_active; }

# The data is on another disk, which a link leads to, and backups have a disk of their own. A command of an operator still runs.
move_data() {
  within systemctl stop posthorn && mv "$root/var/lib/posthorn" "$root/srv/mail" && ln -s /srv/mail "$root/var/lib/posthorn" || return 1
  within mkdir -p /var/lib/posthorn-backup && within mount -t tmpfs tmpfs /var/lib/posthorn-backup || return 1
  within touch /var/lib/posthorn-backup/posthorn-1.db && within systemd-run --quiet --uid=posthorn --unit=command sleep 600
}
keeps_moved_data() { test -f "$root/srv/mail/posthorn.db" && within test -f /var/lib/posthorn-backup/posthorn-1.db; }
purge_moved_data() {
  type_block / "$page" 'Upgrade, way back, removal' 1 >"$work/typed" 2>&1 && grep -q 'posthorn-backup.*: Device or resource busy' "$work/typed" &&
    grep -q 'the user stays' "$work/typed" || { cat "$work/typed" && return 1; }
}
moved_data_is_deleted() {
  [[ ! -L $root/var/lib/posthorn && -z $(find "$root/srv/mail" -mindepth 1) && -z $(within find /var/lib/posthorn-backup -mindepth 1) ]]
}
take_disks_away() {
  within systemctl stop command.service
  within umount /var/lib/posthorn-backup && within rmdir /var/lib/posthorn-backup /srv/mail && within userdel posthorn
}

# As Exim has it, which was installed after Posthorn.
link_other_sendmail() { rm "$root/usr/sbin/sendmail" && touch "$root/usr/sbin/exim4" && ln -s exim4 "$root/usr/sbin/sendmail"; }

removal() {
  within systemctl start posthorn
  link_other_sendmail
  check 'it is removed' within dpkg --remove posthorn
  check 'a removal keeps the link of another mail system' leads_to /usr/sbin/sendmail /usr/sbin/exim4
  rm "$root/usr/sbin/exim4"
  check 'a removal stops the service' is_stopped
  check 'a removal keeps configuration and data' test -f "$configuration" -a -f "$root/var/lib/posthorn/posthorn.db"
  check 'the way back: the older version installs after a removal, beside a sendmail of another package' keeps_other_sendmail
  check 'it keeps the configuration too' cmp "$work/before.toml" "$configuration"
  within systemctl start posthorn
}

purges() {
  check 'it purges while the service runs' purge_without_answer
  check 'a purge that nobody answered keeps mail and backups, with their user' keeps_data
  check 'a purge that nobody answered keeps backups' keeps_backups
  check 'it says where they are and how to delete them, as docs/install.md shows' tells_what_it_kept
  check 'a purge removes the configuration' test ! -e "$root/etc/posthorn" -a ! -e "$root/etc/apparmor.d/posthorn"
  check 'an installation uses them again' installs_again
  check 'a purge asks at a terminal' purge_with no
  check 'the answer no keeps mail' keeps_data
  check 'the answer no keeps backups' keeps_backups
  check 'it is installed again' installs_again
  check 'a purge that is answered in advance, as docs/install.md shows' type_block / "$page" 'Upgrade, way back, removal' 1
  check 'nothing is left: no file, no user, no group' nothing_left
  check 'it is installed for data on other disks' installs_again
  check 'data and backups are on other disks' move_data
  check 'a purge that nobody answered passes there too' purge_without_answer
  check 'it keeps what is on other disks' keeps_moved_data
  check 'it is installed over that data' within dpkg -i "$old"
  check 'a purge succeeds although a disk is busy and the user has a process, and says both' purge_moved_data
  check 'mail and backups on other disks are deleted' moved_data_is_deleted
  check 'the other disks go' take_disks_away
  check 'nothing is left on the first disk' nothing_left
  check 'it is installed for the last time' installs_again
  check 'a purge asks again' purge_with yes
  check 'the answer yes leaves nothing' nothing_left
}

open_tree || exit 1
list_files >"$work/files" && list_users >"$work/users"
first_installation
first_message
service
pages
upgrade
removal
purges
print_counts
