/**
 * Whether the recipient that was found is the right one, although labels name none: by what the mail itself proves.
 *
 * `proved`: a field of machines names it (Final-Recipient, X-Failed-Recipients and the like), or the returned
 * message was for it (To, Cc, Delivered-To, X-Envelope-To, the `for` of Received). `stands`: where no field of
 * machines is, an address that is neither the mail's sender nor its addressee.
 */
const addressPattern = /[^\s<>()[\]:;,"'|@]+@[^\s<>()[\]:;,"'|@]+[\w]/g
const addresses = (text) => (text.match(addressPattern) ?? []).map((address) => address.toLowerCase())

/** Transfer encodings undone and folded lines joined, good enough to look for fields in. */
function readable(raw) {
  const text = raw
    .replace(/\r\n/g, '\n')
    .replace(/(?<=\n\n)(?:[A-Za-z0-9+/]{60,76}\n)+[A-Za-z0-9+/]*=*(?=\n|$)/g, (block) =>
      Buffer.from(block, 'base64').toString('utf8'),
    )
  const joined = /transfer-encoding: *quoted-printable/i.test(text)
    ? text.replace(/=\n/g, '').replace(/=3D/g, '=')
    : text
  return joined.replace(/(?<=[^\n])\n[ \t]+/g, ' ')
}

export function evidence(raw) {
  const text = readable(raw)
  const headerEnd = text.indexOf('\n\n')
  const inside = text.slice(headerEnd)
  const valuesOf = (where, names) =>
    [...where.matchAll(new RegExp(`^ *(?:${names}) *:(.*)$`, 'gim'))].flatMap(([, value]) => addresses(value))
  const machine = valuesOf(text, '(?:final|original|x-actual)-recipient|x-failed-recipients')
  const senders = [...valuesOf(inside, 'from|return-path'), ...valuesOf(text.slice(0, headerEnd), 'to|from')]
  const returned = [
    ...valuesOf(inside, 'to|cc|delivered-to|x-envelope-to|x-original-to'),
    ...[...inside.matchAll(/\bfor <?([^\s<>;]+@[^\s<>;]+)/g)].map(([, address]) => address.toLowerCase()),
  ]
  return {
    machine,
    proof: new Set([...machine, ...returned]),
    senders: new Set(senders),
    all: new Set(addresses(text)),
  }
}

export function judgeRecipient(address, { machine, proof, senders, all }) {
  if (address === null) return 'missing'
  const bare = address.toLowerCase()
  if (proof.has(bare)) return 'proved'
  if (machine.length > 0) return 'wrong'
  return all.has(bare) && !senders.has(bare) ? 'stands' : 'wrong'
}
