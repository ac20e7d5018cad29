# Sourced by the tests of packages: a copy of the tree that systemd boots, the Internet around it, and checks.
#
# Runs in namespaces of its own (scripts/test-packages). TREE is the tree, PACKAGES the folder of packages, OLD and NEW are
# their versions, and GROUPS_OF_TREE the control groups in which the tree boots.

# shellcheck source=scripts/lib/counts.sh
source scripts/lib/counts.sh
# shellcheck source=scripts/lib/checks.sh
source scripts/lib/checks.sh
# shellcheck disable=SC2034 # print_counts reads it
passed=0 failed=0 skipped=0
machine='' leader='' servers=''
readonly work=$WORK root=$WORK/root
# In a public range, so that the installation takes it for an address of the machine; the networks are our own namespaces.
readonly address=93.184.216.34 dns_address=93.184.216.53 mx_address=93.184.216.40

# Nothing is removed here: what is mounted ends with the namespace, and scripts/test-packages removes folder and groups after it.
cleanup() {
  if [[ -n $leader ]]; then within systemctl poweroff >/dev/null 2>&1; fi
  if [[ -n $machine ]]; then wait "$machine"; fi
  if [[ -n $servers ]]; then kill "$servers"; fi
}
trap cleanup EXIT

mount_tree() {
  mkdir -p "$root" "$work/layers"
  mount -t tmpfs -o size=3g tmpfs "$work/layers" && mkdir "$work/layers/upper" "$work/layers/work" &&
    mount -t overlay overlay -o "lowerdir=$TREE,upperdir=$work/layers/upper,workdir=$work/layers/work" "$root"
}

# The machine's network is the namespace of this shell; the Internet has another one, where port 25 is free.
connect_internet() {
  local -a internet=(nsenter "--net=$work/internet")
  touch "$work/internet" "$work/records" "$work/mail"
  unshare --net="$work/internet" true || return 1
  ip link set lo up
  ip link add outside type veth peer name wire
  "${internet[@]}" true && ip link set wire netns "$work/internet" || return 1
  ip address add "$address/24" dev outside && ip link set outside up
  "${internet[@]}" ip link set lo up
  for one in "$dns_address" "$mx_address"; do "${internet[@]}" ip address add "$one/24" dev wire; done
  "${internet[@]}" ip link set wire up
  "${internet[@]}" node scripts/test-packages-parts/servers.mjs "$address" "$dns_address" "$mx_address" "$work/records" "$work/mail" \
    >"$work/servers.log" &
  servers=$!
  wait_for 'the DNS server and the mail server' grep -q ready "$work/servers.log"
}

# The packages are for reading alone, and no unit of the tree has anything to do with this machine.
run_machine() {
  local group
  for group in $GROUPS_OF_TREE; do echo "$BASHPID" >"$group/cgroup.procs"; done
  exec systemd-nspawn --quiet --boot --register=no --keep-unit --link-journal=no --resolv-conf=off --timezone=off --console=pipe \
    --hostname=mail --directory="$root" --bind-ro="$PACKAGES:/mnt" </dev/null >"$work/console" 2>&1
}

# `leader` is the systemd of the tree. After a restart of the tree it is another process.
is_up() {
  leader=$(pgrep --newest --parent "$machine") && within systemctl is-system-running --wait | grep -qE 'running|degraded'
}

boot() {
  run_machine &
  machine=$!
  leader=''
  for _ in {1..600}; do
    if is_up 2>/dev/null; then return 0; fi
    kill -0 "$machine" 2>/dev/null || break
    sleep 0.1
  done
  leader=''
  kill -KILL "$machine" 2>/dev/null
  echo "skipped: systemd does not boot in a tree here: $(tail -n 1 "$work/console")"
  skipped=1
  print_counts
  exit 0
}

open_tree() {
  mount_tree && hostname mail || return 1
  echo mail >"$root/etc/hostname"
  printf '127.0.0.1 localhost\n%s mail.example.test mail\n' "$address" >"$root/etc/hosts"
  echo "nameserver $dns_address" >"$root/etc/resolv.conf"
  connect_internet && boot
}

# In the tree, in the folder `here` of the caller or in /, as root, with a login's environment.
within() {
  nsenter --target "$leader" --mount --uts --ipc --net --pid --cgroup --root --wd=/ /usr/bin/env -i --chdir="${here:-/}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

# What a block of a page has the reader type: block $3 of section $2 of page $1.
block() { node scripts/test-packages-parts/blocks.mjs "$@"; }
# The reader types it in this folder.
type_block() {
  local here=$1
  shift
  within bash -ec "$(block "$@")"
}

property() { within systemctl show --property="$1" --value "${2:-posthorn}"; }
is_active() { within systemctl is-active --quiet posthorn; }
is_stopped() { ! is_active; }
is_inactive() { [[ $(property ActiveState) == inactive && $(property Result) == success ]] || { within systemctl status posthorn; return 1; }; }
stop_service() { within systemctl stop posthorn && is_inactive; }
runs_as_posthorn() { [[ $(within stat -c %U "/proc/$(property MainPID)") == posthorn ]]; }

send() {
  within "$1" send --from "you@$2" --to someone@example.org --subject "$3" && was_delivered "$3"
}
was_delivered() { grep -q "^Subject: $1" "$work/mail" && grep -q '^DKIM-Signature:' "$work/mail"; }

has_mode() { [[ $(within stat -c '%a %U %G' "$1") == "$2" ]] || { within stat -c '%a %U %G' "$1" && return 1; }; }

leads_to() { [[ $(within readlink -f "$1") == "$2" ]] || { within ls -l "$1" && return 1; }; }

# The first configuration and the list of what is left to do name documents; all those files are there.
names_its_documents() {
  local named
  grep -o "$1/[a-z-]*\.md" "$root/etc/posthorn/posthorn.toml" "$work/installation" | cut -d : -f 2 | sort -u >"$work/named"
  [[ -s $work/named ]] || { echo "no document in $1 is named" && return 1; }
  while IFS= read -r named; do test -f "$root$named" || { echo "$named is not there" && return 1; }; done <"$work/named"
}

# What an installation may leave nothing of. What systemd, dpkg and the user database note for themselves is not compared.
list_files() {
  find "$root" -xdev \( -path "$root/proc" -o -path "$root/dev" -o -path "$root/mnt" -o -path "$root/tmp" -o -path "$root/var/tmp" \) -prune -o -print |
    sed "s|^$root||" | grep -vE '^/(var/(lib/(dpkg|apt)|cache|log)/.*|etc/(passwd|group|shadow|gshadow|subuid|subgid)-|etc/\.pwd\.lock)$' | sort
}
list_users() { cut -d : -f 1 "$root/etc/passwd" "$root/etc/group" | sort; }
nothing_left() { diff "$work/files" <(list_files) && diff "$work/users" <(list_users); }

# Contents, owners and modes of what an installation lays.
digest() {
  (cd "$root" && find usr/local etc/posthorn etc/systemd var/lib/posthorn -printf '%p %m %U %G\n' 2>/dev/null | sort &&
    find usr/local etc -type f -exec sha256sum {} + | sort) | sha256sum
}
