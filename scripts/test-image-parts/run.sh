#!/usr/bin/env bash
#
# Runs the daemon of the image on a data folder of its own: the first start, a message in and out, a stop, and a second start.
#
# Started by scripts/test-image in namespaces for mounts, processes and network, which end with it. WORK has the unpacked image in
# `bundle`, VERSION is its version.
set -uo pipefail
# shellcheck source=scripts/lib/counts.sh
source scripts/lib/counts.sh
# shellcheck source=scripts/test-image-parts/checks.sh
source scripts/test-image-parts/checks.sh
passed=0 failed=0 skipped=0 container='' daemon='' key=''
readonly work=$WORK bundle=$WORK/bundle root=$WORK/bundle/rootfs data=$WORK/data configuration=$WORK/etc
# In public ranges; this network is of the test alone.
readonly address=93.184.216.34 dns_address=93.184.216.53 mx_address=93.184.216.40

prepare() {
  ip link set lo up
  for one in "$address" "$dns_address" "$mx_address"; do ip address add "$one/32" dev lo; done
  mkdir "$configuration"
  sed -e 's/^# hostname = .*/hostname = "mail.example.test"/' -e "s/^# public_addresses = .*/public_addresses = [\"$address\"]/" \
    config/container/posthorn.toml >"$configuration/posthorn.toml"
  # As a volume of Kubernetes: it belongs to root, and to the group of the daemon.
  mkdir -m 2775 "$data" && mkdir -m 700 "$data/lost+found" && chgrp 10001 "$data"
  echo "nameserver $dns_address" >"$work/resolv.conf"
  # A runtime makes this file too, before the root is read-only.
  touch "$root/etc/resolv.conf"
  : >"$work/records" && : >"$work/mail"
  node scripts/test-packages-parts/servers.mjs "$address" "$dns_address" "$mx_address" "$work/records" "$work/mail" >"$work/servers" &
  wait_for 'the servers' grep -q ready "$work/servers"
}

# A container with another command than the daemon, if words are given, as `docker run` starts it.
run_container() {
  exec unshare --mount --pid --uts --ipc --fork --kill-child --propagation private \
    scripts/test-image-parts/start.sh "$bundle" "$data" "$configuration" "$work/resolv.conf" "$@"
}
start() {
  : >"$work/log"
  run_container >"$work/log" 2>&1 &
  container=$!
  wait_for 'the daemon' grep -q '"msg":"serving"' "$work/log" && daemon=$(pgrep --parent "$container")
}

# In the namespaces of the daemon, as `docker exec` does.
within() {
  env -i PATH=/usr/bin XDG_STATE_HOME=/var/lib nsenter --target "$daemon" --mount --pid --uts --ipc --root --wd \
    --setuid 10001 --setgid 10001 "$@"
}
posthorn() { within /usr/bin/posthorn "$@"; }

status_of() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$daemon/status"; }
is_confined() {
  [[ $(status_of Uid | cut -f 1-3) == $'10001\t10001\t10001' && $(status_of NoNewPrivs) == 1 && $(status_of CapEff) == 0000000000000000 ]] ||
    { cat "/proc/$daemon/status" && return 1; }
}
is_first_process() { [[ $(status_of NSpid | awk '{print $NF}') == 1 ]]; }
digest() { (cd "$root" && find . -printf '%p %m %U %G %s %T@\n' | sort && find . -type f -exec sha256sum {} + | sort) | sha256sum; }
root_is_unchanged() { [[ $(digest) == "$before" ]]; }
writes_to_root() { within /usr/lib/posthorn/node/bin/node -e 'fs.writeFileSync("/usr/tried", "")'; }
writes_to_configuration() { within /usr/lib/posthorn/node/bin/node -e 'fs.writeFileSync("/etc/posthorn/tried", "")'; }

set_up() {
  posthorn setup --workspace Main --email you@example.test --domain example.com >"$work/setup" 2>&1 || { cat "$work/setup" && return 1; }
  sed '/^Optional/,$d' "$work/setup" >"$work/records"
  key=$(sed -n 's/^API key  *//p' "$work/setup")
  [[ $key == ph_* ]] || { cat "$work/setup" && return 1; }
}
was_delivered() { grep -q "^Subject: $1" "$work/mail" && grep -q '^DKIM-Signature:' "$work/mail"; }
sends() { node scripts/test-image-parts/send.mjs "$key" "$1" && wait_for 'the message' was_delivered "$1"; }

# The daemon ends by itself; the status is that of process 1.
stops() {
  local status
  kill -TERM "$daemon"
  wait "$container"
  status=$?
  if ! grep '"msg":"stopped"' "$work/log" || ((status != 0)); then echo "status $status" && tail -n 5 "$work/log" && return 1; fi
}

backs_up() { posthorn backup - >"$configuration/backup.db" && chown 10001 "$configuration/backup.db" && [[ -s $configuration/backup.db ]]; }
in_another() { (run_container "$@"); }

first_run() {
  check 'the first start serves, with the configuration of config/container' start
  if [[ -z $daemon ]]; then tail -n 20 "$work/log" && return; fi
  check 'it is process 1 of its container' is_first_process
  check 'it is an ordinary user, without any right' is_confined
  check_fails 'the root is read-only' 'read-only file system' writes_to_root
  check_fails 'the configuration is read-only' 'read-only file system' writes_to_configuration
  check 'the health check says that it is ready' within /usr/bin/posthorn-ready
  check 'the probe of life says so too' within /usr/bin/posthorn-ready --any-answer
  check 'posthorn check finds no problem' posthorn check
  check 'setup makes a workspace and lists the records' set_up
  check 'the domain is verified' posthorn domain verify example.com
  check 'a message that is submitted over SMTP is signed and delivered' sends 'Out of a container'
  check 'a reload works' posthorn reload
  check 'SIGTERM ends it with status 0, after its last work' stops
}

second_run() {
  check_fails 'the health check fails without a daemon' 'does not answer' chroot --userspec=10001:10001 "$root" /usr/bin/posthorn-ready
  check 'the second start serves' start
  check 'the key of the first one still works' sends 'Out of the same volume'
  check 'a backup goes to standard output' backs_up
  check_fails 'a second container on the same volume is refused' 'holds the data folder' in_another serve
  check 'SIGTERM ends it again with status 0' stops
  check 'the backup is restored from a folder that is read-only' in_another restore /etc/posthorn/backup.db --hold-queue
  check 'the restored data is sound' in_another verify-data
}

trap 'kill $(jobs -p) 2>/dev/null' EXIT
check 'a DNS server and a mail server run beside it' prepare
before=$(digest)
first_run
second_run
check 'nothing was written outside of the volume' root_is_unchanged
print_counts
exit $((failed > 0))
