# Sourced by scripts that sign with a key of gpg (GNUPGHOME).

# The fingerprint of the key $1, or of gpg's default key, which is the first one: it has a secret part that can sign, and is valid.
find_signing_key() {
  gpg --batch --with-colons --list-secret-keys ${1:+"$1"} 2>/dev/null |
    awk -F : '$1 == "sec" { fits = $12 ~ /S/ && $2 !~ /[erd]/ } $1 == "fpr" && fits { print $10; exit }'
}

# What to do where there is none.
explain_signing_key() {
  echo "gpg has no secret key${1:+ \"$1\"} that can sign. To make one, which signs all versions:
  gpg --quick-generate-key 'NAME <MAIL>' ed25519 sign never
Keep a copy of it: who trusts it accepts no other one."
}
