# Sourced by scripts that sign with a key of gpg (GNUPGHOME).

# The fingerprint of the key $1, or of the first one that can sign: it has a secret part, and is valid. The setting `default-key` of gpg
# does not count, so that all machines with the same keys take the same one.
find_signing_key() {
  gpg --batch --with-colons --list-secret-keys ${1:+"$1"} 2>/dev/null |
    awk -F : '$1 == "sec" { fits = $12 ~ /S/ && $2 !~ /[erd]/ } $1 == "fpr" && fits { print $10; exit }'
}

# Fingerprint and end, in seconds, of the key $1 or of the first one that could sign until it expired.
find_expired_key() {
  gpg --batch --with-colons --list-secret-keys ${1:+"$1"} 2>/dev/null |
    awk -F : '$1 == "sec" { end = $2 == "e" ? $7 : "" } $1 == "fpr" && end != "" { print $10, end; exit }'
}

# What to do where there is none.
explain_signing_key() {
  local expired end
  read -r expired end <<<"$(find_expired_key "$1" || true)"
  if [[ -n $expired ]]; then
    echo "the key $expired expired on $(date --utc --date="@$end" +%F). To use it for two more years:
  gpg --quick-set-expire $expired 2y
Then publish the public key again: who has the old one refuses what it signs."
    return 0
  fi
  echo "gpg has no secret key${1:+ \"$1\"} that can sign. To make one, which signs all versions:
  gpg --quick-generate-key 'NAME <MAIL>' ed25519 sign never
Keep a copy of it: who trusts it accepts no other one."
}
