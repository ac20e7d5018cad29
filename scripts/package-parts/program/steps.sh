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
    install -d -m 750 -o root -g posthorn /etc/posthorn
    install -d -m 700 -o root -g root /etc/posthorn/credentials
    install -d -m 700 -o posthorn -g posthorn /var/lib/posthorn
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
    --output /etc/posthorn/posthorn.toml "$@"
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
