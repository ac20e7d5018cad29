# Sourced by the tests of packages: a copy of the tree, names and addresses, the daemon as the unit runs it, and checks.
#
# Runs in namespaces of its own (scripts/test-packages). TREE is the tree, PACKAGES the folder of packages, OLD and NEW are
# their versions.

# shellcheck source=scripts/lib/counts.sh
source scripts/lib/counts.sh
# shellcheck disable=SC2034 # print_counts reads it
passed=0 failed=0 skipped=0
daemon='' servers=''
readonly work=$WORK root=$WORK/root log=$WORK/daemon.log
# In a public range, so that the installation takes it for an address of the machine; the network is our own namespace.
readonly address=93.184.216.34

# Nothing is removed here: what is mounted ends with the namespace, and scripts/test-packages removes the folder after it.
cleanup() {
  local process
  for process in $daemon $servers; do kill "$process" 2>/dev/null; done
}
trap cleanup EXIT

# Devices of its own and the packages for reading alone: no process in the tree can change anything of the machine.
mount_tree() {
  mkdir -p "$root" "$work/layers"
  mount -t tmpfs -o size=1500m tmpfs "$work/layers" && mkdir "$work/layers/upper" "$work/layers/work" &&
    mount -t overlay overlay -o "lowerdir=$TREE,upperdir=$work/layers/upper,workdir=$work/layers/work" "$root" &&
    mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=755 tmpfs "$root/dev" &&
    mount --bind "$PACKAGES" "$root/mnt" && mount -o remount,bind,ro "$root/mnt" || return 1
  mknod -m 666 "$root/dev/null" c 1 3
  mknod -m 666 "$root/dev/zero" c 1 5
  mknod -m 666 "$root/dev/random" c 1 8
  mknod -m 666 "$root/dev/urandom" c 1 9
  ln -s /proc/self/fd "$root/dev/fd"
}

open_tree() {
  mount_tree || return 1
  hostname mail
  printf '127.0.0.1 localhost\n%s mail.example.test mail\n' "$address" >"$root/etc/hosts"
  echo 'nameserver 127.0.0.1' >"$root/etc/resolv.conf"
  ip link set lo up
  ip link add outside type veth peer name wire
  ip address add "$address/24" dev outside
  ip link set outside up && ip link set wire up
  node scripts/test-packages-parts/servers.mjs "$address" "$work/mail" >"$work/servers.log" &
  servers=$!
  wait_for 'the DNS server and the sink' grep -q ready "$work/servers.log"
}

# In the tree, as root, with a login's environment.
within() { chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

# check 'what holds' COMMAND…: counts, and shows the output of what failed. The command runs in this shell.
check() {
  local name=$1
  shift
  if "$@" >"$work/output" 2>&1; then
    passed=$((passed + 1)) && echo "ok   $name"
  else
    failed=$((failed + 1)) && echo "FAIL $name" && cat "$work/output"
  fi
}

check_fails() {
  local name=$1 expected=$2
  shift 2
  if "$@" >"$work/output" 2>&1; then
    failed=$((failed + 1)) && echo "FAIL $name: it succeeded" && cat "$work/output"
  elif ! grep -q -- "$expected" "$work/output"; then
    failed=$((failed + 1)) && echo "FAIL $name: it does not say \"$expected\"" && cat "$work/output"
  else
    passed=$((passed + 1)) && echo "ok   $name"
  fi
}

wait_for() {
  local name=$1
  shift
  for _ in {1..1200}; do
    if "$@" 2>/dev/null; then return 0; fi
    sleep 0.1
  done
  echo "$name: not after two minutes"
  return 1
}

value_of() { sed -n "s/^$2=//p" "$1" | head -n 1; }

# Starts the daemon as the unit says: its command line, user, group, environment and capabilities.
start_daemon() {
  local file=$1 user capability
  local -a words variables
  user=$(value_of "$file" User) capability=$(value_of "$file" AmbientCapabilities)
  capability=${capability#CAP_} capability=+${capability,,}
  read -ra words <<<"$(value_of "$file" ExecStart)"
  read -ra variables <<<"$(value_of "$file" Environment)"
  : >"$log"
  within setpriv --reuid="$user" --regid="$(value_of "$file" Group)" --init-groups --no-new-privs \
    --inh-caps="-all,$capability" --ambient-caps="-all,$capability" --bounding-set="-all,$capability" \
    env "${variables[@]}" "${words[@]}" >"$log" 2>&1 &
  daemon=$!
  wait_for 'the daemon' grep -q '"msg":"serving"' "$log" || { tail -n 5 "$log"; return 1; }
}

# A function in the background is a shell that waits for its program.
daemon_process() { pgrep --parent "$daemon" || echo "$daemon"; }

stop_daemon() {
  local status
  kill "$(daemon_process)" && wait "$daemon"
  status=$?
  daemon=
  return $status
}

runs_as_posthorn() { [[ $(stat -c %u "/proc/$(daemon_process)") == "$(within id -u posthorn)" ]]; }

# What an operator adds: the sink instead of the Internet.
use_sink() {
  printf '\n[outbound]\nroutes = { "*" = "127.0.0.1:2600" }\nallowed_private_networks = ["127.0.0.0/8"]\n' >>"$root/etc/posthorn/posthorn.toml"
}

send() {
  within "$1" send --from you@example.test --to someone@example.org --subject "$2" && grep -q "^Subject: $2" "$work/mail" &&
    grep -q '^DKIM-Signature:' "$work/mail"
}

has_mode() { [[ $(within stat -c '%a %U %G' "$1") == "$2" ]] || { within stat -c '%a %U %G' "$1" && return 1; }; }

# What an installation may leave nothing of. dpkg's and the user database's own notes are not compared.
list_files() {
  find "$root" -xdev \( -path "$root/proc" -o -path "$root/dev" -o -path "$root/mnt" -o -path "$root/tmp" \) -prune -o -print |
    sed "s|^$root||" | grep -vE '^/(var/(lib/dpkg|cache|log)/.*|etc/(passwd|group|shadow|gshadow|subuid|subgid)-|etc/\.pwd\.lock)$' | sort
}
list_users() { cut -d : -f 1 "$root/etc/passwd" "$root/etc/group" | sort; }

# Contents, owners and modes of what an installation lays.
digest() {
  (cd "$root" && find usr/local etc/posthorn etc/systemd var/lib/posthorn -printf '%p %m %U %G\n' 2>/dev/null | sort &&
    find usr/local etc -type f -exec sha256sum {} + | sort) | sha256sum
}
