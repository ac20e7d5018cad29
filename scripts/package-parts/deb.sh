# Sourced by scripts/package: the Debian package of a staged tree. Expects `tree`, `lib`, `work`, `output`, `version`, `maintainer`
# and `homepage`.

# Who is named to packages by the environment, as Debian's tools do it, or by Git.
known_maintainer() {
  local name=${DEBFULLNAME:-$(git config user.name)} mail=${DEBEMAIL:-$(git config user.email)}
  if [[ -n $name && -n $mail ]]; then echo "$name <$mail>"; fi
}

# 1.0.0-rc.1 comes before 1.0.0. Debian says so with a tilde, and reads a hyphen as the beginning of its own revision.
deb_version() { echo "${version//-/\~}"; }

# Fills the folder $1 with what the package lays.
lay_files() {
  local root=$1 doc=$1/usr/share/doc/posthorn
  mkdir -p "$root"/{DEBIAN,usr/bin,usr/lib/systemd/system,usr/lib/sysusers.d,usr/lib/tmpfiles.d,etc/apparmor.d} "$doc"
  cp -r "$lib" "$root/usr/lib/posthorn"
  rm "$root/usr/lib/posthorn/install"
  ln -s ../lib/posthorn/posthorn "$root/usr/bin/posthorn"
  cp "$lib"/systemd/*.{service,timer} "$root/usr/lib/systemd/system"
  cp "$lib/systemd/sysusers.conf" "$root/usr/lib/sysusers.d/posthorn.conf"
  cp "$lib/systemd/tmpfiles.conf" "$root/usr/lib/tmpfiles.d/posthorn.conf"
  cp "$lib/config/apparmor/posthorn" "$root/etc/apparmor.d/posthorn"
  cp -r "$tree"/{README.md,CHANGELOG.md,SECURITY.md,LICENSES-OF-PACKAGES.md,docs} "$doc"
  cp -r "$tree/share/." "$root/usr/share"
  # The place of zsh that Debian has for packages.
  mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
  install -D -m 644 scripts/package-parts/debian/lintian-overrides "$root/usr/share/lintian/overrides/posthorn"
  write_copyright >"$doc/copyright"
  write_changelog | gzip --no-name -9 >"$doc/changelog.gz"
}

# Copyright and license in the form that Debian's tools read.
write_copyright() {
  cat <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Posthorn
${homepage:+Source: $homepage
}Comment: Node.js in /usr/lib/posthorn/node has its license beside it, in LICENSE. The licenses of all other
 packages inside are in /usr/share/doc/posthorn/LICENSES-OF-PACKAGES.md.

Files: *
$(sed -n 's/^Copyright (c) /Copyright: /p' LICENSE)
License: Expat
$(sed '1,/^Copyright/d; /./,$!d' LICENSE | sed '/./,$!d; s/^$/./; s/^/ /' | sed '1{/^ \.$/d}')
END
}

write_changelog() {
  cat <<END
posthorn ($(deb_version)) stable; urgency=medium

  * Release $version. /usr/share/doc/posthorn/CHANGELOG.md says what changed.

 -- $maintainer  $(LC_ALL=C date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
END
}

# Writes what dpkg reads of the package in folder $1, for architecture $2.
write_control() {
  local root=$1 architecture=$2 depends size file
  depends="libc6 (>= $(newest_symbol "$lib" GLIBC)), libstdc++6 (>= $(libstdcxx_version "$lib")), libgcc-s1, passwd"
  size=$(du --apparent-size -sk "$root" | cut -f 1)
  for file in control conffiles templates preinst postinst prerm postrm; do
    sed "s/@VERSION@/$(deb_version)/; s/@ARCHITECTURE@/$architecture/; s/@SIZE@/$size/; s/@DEPENDS@/$depends/
      s|@MAINTAINER@|${maintainer//[&|\\]/\\&}|; s|@HOMEPAGE@|${homepage//[&|\\]/\\&}|; /^Homepage: \$/d" \
      "scripts/package-parts/debian/$file" >"$root/DEBIAN/$file"
  done
  (cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
}

make_deb() {
  local root=$work/$1/deb name=posthorn_${version}_$1.deb
  lay_files "$root"
  write_control "$root" "$1"
  find "$root" -type d -exec chmod 755 {} +
  chmod 644 "$root"/DEBIAN/*
  chmod 755 "$root"/DEBIAN/{preinst,postinst,prerm,postrm}
  set_times "$root"
  dpkg-deb --root-owner-group -Zgzip -z6 --build "$root" "$output/$name" >/dev/null
  echo "$output/$name"
}
