#!/usr/bin/env bash
#
# Starts a program of the image as a runtime of containers does: process 1 of its namespace, a read-only root, an ordinary user without
# any right, and the environment of the image. Replaces itself with the program.
#
#   unshare --mount --pid --uts --ipc --fork scripts/test-image-parts/start.sh BUNDLE DATA CONFIGURATION RESOLV-CONF [WORD...]
#
# With words it runs this command of the program, and not the daemon.
set -euo pipefail
root=$1/rootfs
hostname mail.example.test
mount --bind "$root" "$root"
mount --bind "$2" "$root/var/lib/posthorn"
mount --bind "$3" "$root/etc/posthorn" && mount -o remount,bind,ro "$root/etc/posthorn"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom; do touch "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"; done
mount -t tmpfs -o mode=1777,nosuid,nodev,noexec tmpfs "$root/tmp"
mount --bind "$4" "$root/etc/resolv.conf"
mount -o remount,bind,ro "$root"
list() { node -p 'require(process.argv[1]).process[process.argv[2]].join("\n")' "$1" "$2"; }
mapfile -t variables < <(list "$1/config.json" env)
mapfile -t words < <(list "$1/config.json" args)
if (($# > 4)); then words=("${words[0]}" "${@:5}"); fi
become=$(command -v chroot)
exec env -i "${variables[@]}" "$(command -v setpriv)" --no-new-privs "$become" --userspec=10001:10001 --groups=10001 "$root" "${words[@]}"
