# Sourced by deb.sh: what systemd and the installed unit do together. The service runs before and after.

rights_of_daemon() {
  local process expected
  process=$(property MainPID)
  for expected in 'NoNewPrivs:	1' 'Seccomp:	2' 'CapEff:	0000000000000400' 'CapBnd:	0000000000000400'; do
    within grep -x "$expected" "/proc/$process/status" || { echo "not $expected" && return 1; }
  done
}

# In the mounts of the daemon, where even root writes to its folders alone.
in_its_mounts() { within nsenter --target "$(property MainPID)" --mount "$@"; }
writes_its_data() { in_its_mounts touch /var/lib/posthorn/tried && in_its_mounts rm /var/lib/posthorn/tried; }

exposure() {
  within env SYSTEMD_EMOJI=1 systemd-analyze security posthorn --no-pager >"$work/exposure"
  grep -xF "$(block docs/install.md 'What was installed' 1 text)" "$work/exposure" || { grep Overall "$work/exposure" && return 1; }
}
shows_status() { within systemctl status --no-pager posthorn | grep "Status: \"$1"; }
# has_logged TEXT OPTIONS…: the journal has the text since the last `begin`.
has_logged() {
  within journalctl --unit=posthorn --no-pager "--since=@$since" --output=cat "${@:2}" >"$work/journal"
  grep -- "$1" "$work/journal" || { tail "$work/journal" && return 1; }
}
begin() { since=$(date +%s.%N); }
change() { printf '%s\n' "$@" >>"$root/etc/posthorn/posthorn.toml"; }

as_somebody() { within setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

running() {
  check 'it runs as the user posthorn' runs_as_posthorn
  check 'systemctl status shows the listeners' shows_status '.*8443'
  check 'the journal has the lines of the daemon' has_logged '"msg":"serving"'
  check_fails 'a command of an ordinary user says whose rights it needs' 'use sudo, or log in as root' as_somebody posthorn queue list
}

hardening() {
  check 'the daemon can open low ports, and has no other right of root' rights_of_daemon
  check_fails 'it cannot write to the system' 'Read-only file system' in_its_mounts touch /usr/tried
  check_fails 'it cannot write to the configuration' 'Read-only file system' in_its_mounts touch /etc/posthorn/tried
  check_fails 'it cannot see homes' . in_its_mounts touch /root/tried
  check 'it writes to its data' writes_its_data
  check 'systemd rates the unit as docs/install.md says' exposure
}

reloads() {
  local before
  before=$(property MainPID)
  cp -p "$root/etc/posthorn/posthorn.toml" "$work/kept.toml"
  begin
  change '[limits]' 'domain_emails_per_day = 4321'
  check 'it reloads' within systemctl reload posthorn
  check 'the journal names the setting' has_logged '"msg":"reloaded".*\|limits.domain_emails_per_day'
  change '[metrics]' 'listen = ["127.0.0.1:9465"]'
  check 'it reloads with a setting that waits for a restart' within systemctl reload posthorn
  check 'systemctl status names that setting' shows_status 'restart needed for metrics.listen; '
  begin
  change '[nonsense]'
  check_fails 'a reload with a wrong configuration fails' '' within systemctl reload posthorn
  check 'the journal says why, as an error' has_logged nonsense --priority=err
  check 'the daemon goes on' keeps_process "$before"
  cp -p "$work/kept.toml" "$root/etc/posthorn/posthorn.toml"
}

starts() {
  local before other
  before=$(property MainPID)
  check 'it restarts' within systemctl restart posthorn
  check 'the restarted daemon is another process' gets_process "$before"
  before=$(property MainPID)
  within bash -c "kill -KILL $before"
  check 'a daemon that was killed is started again' wait_for 'the service' gets_process "$before"
  within systemctl stop posthorn
  begin
  node -e 'require("node:net").createServer().listen(587, "0.0.0.0", () => console.log("listening"))' >"$work/other" &
  other=$!
  wait_for 'the other program' grep -q listening "$work/other"
  check_fails 'it does not start while another program has one of its ports' '' within systemctl start posthorn
  check 'the journal names the port and the cure, as an error' has_logged 'submission.listen: another program listens at .*:587' --priority=err
  kill "$other"
  check 'it starts by itself when the port is free' wait_for 'the service' is_active
}

# systemd-nspawn ends instead of booting again, because no systemd of this machine knows it (--keep-unit).
restart_machine() { within systemctl reboot; wait "$machine"; boot; }

boots() {
  check 'the machine restarts' restart_machine
  check 'the service is started at boot' wait_for 'the service' is_active
  check 'mail goes out after it' send posthorn example.com after-boot
}

makes_backup() { within systemctl start posthorn-backup && [[ $(find "$root/var/lib/posthorn-backup" -name 'posthorn-*.db' | wc -l) == 1 ]]; }

service() {
  since=0
  running
  hardening
  reloads
  starts
  boots
  check 'systemd starts the backup each day' grep -q posthorn-backup.service <(within systemctl list-timers --no-pager posthorn-backup.timer)
  check 'a backup is made beside the daemon' makes_backup
}
