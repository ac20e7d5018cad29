// Messages of external senders, about 4 KB each, with a DKIM signature (RSA-2048) of one of twenty domains.
//
// The words are generated, not taken from real mail: random syllables with a fixed seed, so that
// each run has the same texts. Half are plain text, half have an HTML part with links as well.
import { generateKeyPairSync } from 'node:crypto'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { seeded } from '../../lib/seeded.mjs'

export const RECIPIENT = 'user@home.test'
const SENDERS = 20
const SYLLABLES = 'ba be bo da den dor el fa gri ho in ka la len mi mor ne no or pa ra ri sa ta to um ve win zo'.split(
  ' ',
)

/** Signed messages, and the DNS records that make SPF, DKIM and DMARC pass. */
export async function signedLetters(count, size) {
  const senders = Array.from({ length: SENDERS }, (_, at) => ({ domain: `s${at}.test`, ...keyPair() }))
  const letters = []
  for (let at = 0; at < count; at += 1) {
    const from = senders[at % SENDERS]
    letters.push({ from: `news@${from.domain}`, message: await signed(letter(from.domain, at, size), from) })
  }
  return { letters, records: senders.flatMap(published) }
}

/** Unsigned messages, one in each file, to train the classifier. */
export function trainingLetters(count, seed, size = 4096) {
  return Array.from({ length: count }, (_, at) => letter(`t${at % SENDERS}.test`, seed + at, size))
}

function keyPair() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  }
}

/** As lines of a zone file. */
function published({ domain, publicKey }) {
  return [
    `${domain}. TXT "v=spf1 mx ip4:127.0.0.0/8 -all"`,
    `${domain}. MX 10 mx.${domain}.`,
    `${domain}. A 192.0.2.1`,
    `mx.${domain}. A 192.0.2.1`,
    `_dmarc.${domain}. TXT "v=DMARC1; p=reject; adkim=s"`,
    `key._domainkey.${domain}. TXT "v=DKIM1; k=rsa; p=${publicKey.slice(0, 200)}" "${publicKey.slice(200)}"`,
  ]
}

async function signed(text, { domain, privateKey }) {
  const { signatures, errors } = await dkimSign(text, {
    canonicalization: 'relaxed/relaxed',
    signatureData: [{ signingDomain: domain, selector: 'key', privateKey, algorithm: 'rsa-sha256' }],
  })
  if (errors.length > 0) throw errors[0].err
  return `${signatures}${text}`
}

function letter(domain, seed, size) {
  const roll = seeded(seed + 1)
  const subject = words(roll, 6)
  const header = [
    `From: "${words(roll, 2)}" <news@${domain}>`,
    `To: ${RECIPIENT}`,
    `Subject: ${subject}`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${seed}.${Math.floor(roll() * 1e9)}@${domain}>`,
    'MIME-Version: 1.0',
  ]
  const lines = seed % 2 === 0 ? plain(roll, size) : alternative(roll, domain, size)
  return [...header, ...lines, ''].join('\r\n')
}

function plain(roll, size) {
  return ['Content-Type: text/plain; charset=utf-8', '', ...paragraphs(roll, size - 900)]
}

function alternative(roll, domain, size) {
  const text = paragraphs(roll, (size - 1400) * 0.4)
  const html = paragraphs(roll, (size - 1400) * 0.6).map((line) =>
    roll() < 0.1 ? `<p><a href="https://www.${domain}/${words(roll, 1)}">${line}</a></p>` : `${line}<br>`,
  )
  const edge = `=_${Math.floor(roll() * 1e9)}`
  return [
    `Content-Type: multipart/alternative; boundary="${edge}"`,
    '',
    ...[`--${edge}`, 'Content-Type: text/plain; charset=utf-8', '', ...text],
    ...[`--${edge}`, 'Content-Type: text/html; charset=utf-8', '', '<html><body>', ...html, '</body></html>'],
    `--${edge}--`,
  ]
}

function paragraphs(roll, octets) {
  const lines = []
  for (let left = octets; left > 0; left -= lines.at(-1).length + 2) lines.push(words(roll, 10))
  return lines
}

function words(roll, count) {
  return Array.from({ length: count }, () => {
    const syllables = 1 + Math.floor(roll() * 3)
    return Array.from({ length: syllables }, () => SYLLABLES[Math.floor(roll() * SYLLABLES.length)]).join('')
  }).join(' ')
}
