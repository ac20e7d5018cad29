#!/usr/bin/env bash
#
# Makes the container image of a release from its staged tree, without a daemon of containers.
#
#   scripts/package-parts/image.sh TREE OUTPUT VERSION
#
# TREE is what scripts/package-parts/stage.mjs has laid; its Node.js says for which architecture the image is. OUTPUT gets
# posthorn-VERSION-ARCH.oci.tar and posthorn-VERSION-ARCH.docker.tar: the same layers in two formats, of which only that of Docker
# can state a health check.
#
# The image has two layers: libraries of Debian 12 that Node.js needs, taken from their packages without running anything of
# them, and the program. It has no shell. Equal trees, SOURCE_DATE_EPOCH and packages of Debian give equal bytes.
# POSTHORN_HOMEPAGE is the repository in the labels; without it there is no such label.
#
# Needs root. What is missing is installed with apt.
set -euo pipefail

usage() { sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }
stop() { echo "image: $1" >&2 && exit "${2:-1}"; }

if [[ ${1:-} == --help || ${1:-} == -h ]]; then usage && exit 0; fi
if (($# != 3)); then stop 'three words are expected: TREE OUTPUT VERSION (see --help)' 2; fi
parts=$(cd "$(dirname "${BASH_SOURCE[0]}")/image" && pwd)
for tool in node git; do command -v "$tool" >/dev/null || stop "$tool is missing"; done
[[ -x $1/lib/node/bin/node ]] || stop "$1 is no staged tree: it has no lib/node/bin/node" 2
tree=$(cd "$1" && pwd)
output=$(mkdir -p "$2" && cd "$2" && pwd)
readonly parts tree output version=$3 user=10001 suite=bookworm
readonly packages=(base-files ca-certificates gcc-12-base libc6 libgcc-s1 libstdc++6)
((EUID == 0)) || stop 'it needs root, to give files of the image their owners'
[[ -n ${SOURCE_DATE_EPOCH:-} ]] || stop 'SOURCE_DATE_EPOCH is not set: it is the time of all files' 2
export SOURCE_DATE_EPOCH LC_ALL=C
umask 022

install_tools() {
  local tool
  for tool in buildah mmdebstrap readelf; do
    if command -v "$tool" >/dev/null; then continue; fi
    local -a words=(apt-get -o DPkg::Lock::Timeout=120 install --yes --quiet --no-install-recommends buildah mmdebstrap binutils)
    {
      DEBIAN_FRONTEND=noninteractive "${words[@]}" || { apt-get update --quiet && DEBIAN_FRONTEND=noninteractive "${words[@]}"; }
    } >&2 || stop "$tool is missing, and apt-get could not install buildah, mmdebstrap and binutils"
    return
  done
}

# The architecture of Node.js in the tree, with Debian's name. That of images is the same for both.
find_architecture() {
  case $(readelf --file-header "$tree/lib/node/bin/node" | sed -n 's/^ *Machine: *//p') in
    *X86-64) echo amd64 ;;
    AArch64) echo arm64 ;;
    *) stop "$tree/lib/node/bin/node is for no architecture that images are made for (amd64, arm64)" ;;
  esac
}

# mmdebstrap finds and checks the packages. They are only unpacked, so another architecture needs no emulator.
fetch_packages() {
  eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
  if [[ -n ${http_proxy:-} ]]; then export http_proxy; fi
  mkdir "$work/packages"
  mmdebstrap --variant=extract --format=null --architectures="$architecture" --include="$(printf '%s,' "${packages[@]}")" \
    --extract-hook="copy-out /var/cache/apt/archives $work/packages" "$suite" /dev/null >"$work/log" 2>&1 ||
    { tail -n 5 "$work/log" >&2 && stop 'mmdebstrap could not fetch the packages of Debian'; }
}

# The layer of Debian. Scanners for vulnerabilities find its packages in status.d, the place for images without dpkg.
lay_system() {
  local name file
  mkdir -p "$system"/{etc/ssl/certs,proc,sys,dev,run,root,usr/{bin,sbin,lib,lib64,share/doc},var/lib/dpkg/status.d}
  install -d -m 1777 "$system/tmp" "$system/var/tmp"
  for name in bin sbin lib lib64; do ln -s "usr/$name" "$system/$name"; done
  for name in "${packages[@]}"; do
    file=$(find "$work/packages" -name "${name}_*.deb")
    [[ -f $file ]] || stop "mmdebstrap brought no package $name"
    mkdir "$work/$name"
    dpkg-deb --fsys-tarfile "$file" | tar --extract --directory="$work/$name" --no-same-owner
    dpkg-deb --field "$file" >"$system/var/lib/dpkg/status.d/$name"
    lay_license "$name"
  done
  for name in "${packages[@]}"; do
    [[ -s $system/usr/share/doc/$name/copyright ]] || stop "the package $name brought no copyright file of its own or of another package"
  done
  for name in libc6 libgcc-s1 libstdc++6; do lay_libraries "$work/$name"; done
  install -m 644 "$work/base-files/usr/lib/os-release" "$system/usr/lib/os-release"
  ln -s ../usr/lib/os-release "$system/etc/os-release"
  install -m 644 "$work/base-files/etc/debian_version" "$system/etc/debian_version"
  find "$work/ca-certificates/usr/share/ca-certificates" -name '*.crt' -print0 | sort --zero-terminated | xargs -0 cat \
    >"$system/etc/ssl/certs/ca-certificates.crt"
  printf 'root:x:0:0:root:/root:/usr/sbin/nologin\nposthorn:x:%s:%s:Posthorn:/var/lib/posthorn:/usr/sbin/nologin\n' "$user" "$user" >"$system/etc/passwd"
  printf 'root:x:0:\nposthorn:x:%s:\n' "$user" >"$system/etc/group"
  printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$system/etc/nsswitch.conf"
}

# Packages of one source have it in one of them, and a link to it in the others: gcc-12-base has that of libgcc and libstdc++.
lay_license() {
  local folder=$work/$1/usr/share/doc/$1
  if [[ -L $folder ]]; then
    cp -P "$folder" "$system/usr/share/doc/$1"
  else
    install -D -m 644 -t "$system/usr/share/doc/$1" "$folder/copyright"
  fi
}

# Without the tables of character sets, which only iconv reads. Packages have /lib or /usr/lib; here both are one folder.
lay_libraries() {
  local folder
  for folder in lib lib64 usr/lib usr/lib64; do
    if [[ -d $1/$folder ]]; then cp -a "$1/$folder/." "$system/usr/${folder#usr/}"; fi
  done
  rm -rf "$system"/usr/lib/*/gconv "$system"/usr/lib/*/audit
}

# The layer of the program: what systemd, a shell or an installation would need is left out.
lay_program() {
  mkdir -p "$program"/{etc/posthorn,usr/bin,usr/share/doc,var/lib/posthorn}
  cp -r "$tree/lib" "$program/usr/lib.part" && mkdir "$program/usr/lib" && mv "$program/usr/lib.part" "$program/usr/lib/posthorn"
  rm -r "$program"/usr/lib/posthorn/{bin,install,posthorn,steps.sh,systemd}
  install -m 755 "$parts"/posthorn "$parts"/posthorn-ready "$program/usr/bin"
  install -m 644 "$tree/lib/config/container/posthorn.toml" "$program/etc/posthorn/posthorn.toml"
  install -D -m 644 -t "$program/usr/share/doc/posthorn" "$tree"/{LICENSE,LICENSES-OF-PACKAGES.md}
}

pack() { tar "$1" --directory="$2" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --numeric-owner "${@:3}"; }
pack_layers() {
  find "$system" "$program" -type d ! -path '*/tmp' -exec chmod 755 {} +
  chmod 700 "$program/var/lib/posthorn"
  pack --create "$system" --owner=0 --group=0 --file="$work/system.tar" .
  # The data folder belongs to the user of the daemon, and a new volume takes its owner from it.
  pack --create "$program" --owner=0 --group=0 --exclude=./var/lib/posthorn --file="$work/program.tar" .
  pack --append "$program" --owner="$user" --group="$user" --file="$work/program.tar" ./var/lib/posthorn
}

build() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }

label() { labels+=(--label "org.opencontainers.image.$1=$2"); }
find_labels() {
  local revision source=${POSTHORN_HOMEPAGE:-}
  label title Posthorn
  label description 'A mail server that you run yourself: it sends, receives and relays mail'
  label version "$version"
  label licenses "$(sed -n 's/.*"license": "\(.*\)".*/\1/p' "$tree/lib/package.json")"
  label created "$(date --utc --date="@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)"
  if revision=$(git rev-parse HEAD 2>/dev/null); then label revision "$revision"; fi
  if [[ -n $source ]]; then label source "$source"; fi
}

# The memory settings are those of systemd/posthorn.service. /run/secrets is where Docker and Podman show secrets. XDG_STATE_HOME
# makes the volume the data folder of a configuration that names none.
configure() {
  build config --arch "$architecture" --os linux --user "$user:$user" --workingdir /var/lib/posthorn --volume /var/lib/posthorn \
    --entrypoint '["/usr/bin/posthorn"]' --cmd serve --stop-signal SIGTERM \
    --port 2525/tcp --port 2587/tcp --port 2465/tcp --port 8443/tcp --port 8080/tcp \
    --env PATH=/usr/bin --env XDG_STATE_HOME=/var/lib --env CREDENTIALS_DIRECTORY=/run/secrets \
    --env NODE_OPTIONS=--max-semi-space-size=16 --env MALLOC_MMAP_THRESHOLD_=1048576 --env MALLOC_TRIM_THRESHOLD_=4194304 --env MALLOC_ARENA_MAX=4 \
    "${labels[@]}" "$1"
}

# The OCI format has no place for it, so only the other image gets it.
configure_health() {
  build config --healthcheck 'CMD /usr/bin/posthorn-ready' --healthcheck-interval 30s --healthcheck-timeout 10s \
    --healthcheck-start-period 1m --healthcheck-retries 3 "$1"
}

commit() { build commit --quiet --identity-label=false --omit-history --timestamp "$SOURCE_DATE_EPOCH" "$@" >/dev/null; }

make_images() {
  local container name=posthorn-$version-$architecture
  container=$(build from --arch "$architecture" scratch)
  build add --quiet "$container" "$work/system.tar" / >/dev/null
  commit --disable-compression=false "$container" posthorn-system
  container=$(build from --arch "$architecture" --format docker --pull-never posthorn-system)
  build add --quiet "$container" "$work/program.tar" / >/dev/null
  configure "$container"
  commit --format oci --disable-compression=false "$container" "oci:$work/oci:$version"
  configure_health "$container"
  commit --format docker "$container" "docker-archive:$work/docker.tar:posthorn:$version"
  # The archives have no times of their own either.
  pack --create "$work/oci" --owner=0 --group=0 --file="$work/$name.oci.tar" .
  mkdir "$work/docker" && tar --extract --directory="$work/docker" --file="$work/docker.tar"
  chmod -R u+w "$work/docker"
  node "$parts/drop-build-state.mjs" "$work/docker"
  pack --create "$work/docker" --owner=0 --group=0 --file="$work/$name.docker.tar" .
  mv "$work/$name.oci.tar" "$work/$name.docker.tar" "$output"
  echo "$output/$name.oci.tar"
  echo "$output/$name.docker.tar"
}

install_tools
architecture=$(find_architecture)
work=$(mktemp -d) && trap 'chmod -R u+w "$work" && rm -rf --one-file-system "$work"' EXIT
readonly architecture work system=$work/system program=$work/program
labels=()
fetch_packages
lay_system
lay_program
find_labels
pack_layers
make_images
