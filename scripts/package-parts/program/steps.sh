# Sourced by the .deb's postinst and by scripts/install, as root: what every installation does beside laying files.
#
# `lib` is the folder of the program. Each step may be repeated, and none changes what it finds.

make_user() {
  if id posthorn >/dev/null 2>&1; then return 0; fi
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers "$lib/systemd/sysusers.conf"
  else
    useradd --system --user-group --no-create-home --home-dir /var/lib/posthorn --shell /usr/sbin/nologin posthorn
  fi
}

make_folders() {
  if command -v systemd-tmpfiles >/dev/null; then
    systemd-tmpfiles --create "$lib/systemd/tmpfiles.conf"
  else
    install -d -m 751 -o root -g posthorn /etc/posthorn
    install -d -m 700 -o root -g root /etc/posthorn/credentials
    install -d -m 700 -o posthorn -g posthorn /var/lib/posthorn
    install -d -m 1777 -o root -g root /var/spool/posthorn-sendmail
  fi
}

# Further arguments: options of the program. A configuration that is there is kept as it is.
write_configuration() {
  node=$lib/node/bin/node
  [ -x "$node" ] || node=node
  if [ -e /etc/posthorn/posthorn.toml ]; then
    echo 'kept /etc/posthorn/posthorn.toml'
    return 0
  fi
  "$node" "$lib/dist/src/operations/installation/main.js" --template "$lib/config/production.toml" \
    --output /etc/posthorn/posthorn.toml --docs "${lib%/lib/posthorn}/share/doc/posthorn/docs" "$@"
}

# A sendmail of another package stays: only an absent one, or one that is an alternative already, gets ours beside it.
offer_sendmail() {
  [ -e /etc/posthorn/sendmail.toml ] || install -m 644 "$lib/config/sendmail.toml" /etc/posthorn/sendmail.toml
  command -v update-alternatives >/dev/null || return 0
  if [ -e /usr/sbin/sendmail ] || [ -L /usr/sbin/sendmail ]; then
    case $(readlink /usr/sbin/sendmail || true) in
      /etc/alternatives/*) ;;
      *)
        echo "kept /usr/sbin/sendmail of another package; for that of Posthorn, remove the package, then: update-alternatives --install /usr/sbin/sendmail sendmail $lib/bin/sendmail 20"
        return 0
        ;;
    esac
  fi
  update-alternatives --quiet --install /usr/sbin/sendmail sendmail "$lib/bin/sendmail" 20 \
    --slave /usr/share/man/man8/sendmail.8.gz sendmail.8.gz "${lib%/lib/posthorn}/share/man/man8/sendmail.posthorn.8.gz"
}

# A mail system that was installed later may have links of its own at these places. update-alternatives removes any link there.
withdraw_sendmail() {
  command -v update-alternatives >/dev/null || return 0
  sendmail_link=$(readlink /usr/sbin/sendmail || true)
  manual_link=$(readlink /usr/share/man/man8/sendmail.8.gz || true)
  update-alternatives --quiet --remove sendmail "$lib/bin/sendmail" || true
  restore_link /usr/sbin/sendmail "$sendmail_link"
  restore_link /usr/share/man/man8/sendmail.8.gz "$manual_link"
}

restore_link() {
  case $2 in '' | /etc/alternatives/*) return 0 ;; esac
  [ -L "$1" ] || ln -s "$2" "$1"
}

runs_apparmor() { [ -e /etc/apparmor.d/posthorn ] && command -v apparmor_parser >/dev/null && aa-enabled --quiet 2>/dev/null; }

# The unit names the profile, and starts the daemon without it where it is not loaded.
load_profile() {
  if ! runs_apparmor; then return 0; fi
  apparmor_parser --replace --write-cache /etc/apparmor.d/posthorn || echo 'posthorn: AppArmor did not load /etc/apparmor.d/posthorn' >&2
}

unload_profile() {
  if runs_apparmor; then apparmor_parser --remove /etc/apparmor.d/posthorn || true; fi
}

runs_systemd() { [ -d /run/systemd/system ]; }

# Mail is accepted by one version or the other, never by a mixture: the program loads files while it runs.
stop_for_upgrade() {
  if runs_systemd && systemctl is-active --quiet posthorn.service; then
    : >/run/posthorn-upgrade
    systemctl stop posthorn.service
  fi
}

# Starts the service again if it ran before. It returns when the database has been migrated.
start_after_upgrade() {
  if runs_systemd; then systemctl daemon-reload; fi
  if [ ! -e /run/posthorn-upgrade ]; then return 0; fi
  rm -f /run/posthorn-upgrade
  echo 'starting the service; a new version migrates the database first'
  systemctl start posthorn.service || echo 'posthorn: the service did not start: journalctl -u posthorn says why' >&2
}
