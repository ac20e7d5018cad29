/**
 * Messages that a careless relay would change, and the fields that Posthorn puts on top of them.
 *
 * Every line ends with CRLF and no message needs an added field, so that what arrives is our two fields and then the
 * same bytes.
 */
const body = [
  ...['.', '..', '.a dot first', ' .', 'From the start of a line', 'trailing blanks \t', '\t', ''],
  ...['\x01\x0b\x0c\x1b\x7f', 'x'.repeat(998), `.${'y'.repeat(997)}`, '', '.', '', '', ''],
]

interface LetterOptions {
  readonly to: string
  /** Further fields, each with its line end. */
  readonly fields?: string
  /** The body has every byte above ASCII; otherwise it is UTF-8. */
  readonly bytes?: boolean
}

/** From app@sender.test, with the recipient in its Message-ID. */
export function buildLetter({ to, fields = '', bytes = true }: LetterOptions): Buffer {
  const header = [
    'From: "The App" <app@sender.test>',
    `To: ${to}`,
    'Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?= on a',
    ' \t folded  line ',
    'Date: Fri, 20 Nov 2026 10:00:00 +0000',
    `Message-ID: <${Buffer.from(to).toString('hex')}@sender.test>`,
    'X-odd:no blank',
    'MIME-Version: 1.0',
    `Content-Type: text/plain; charset=${bytes ? 'iso-8859-15' : 'utf-8'}`,
    'Content-Transfer-Encoding: 8bit',
  ]
  const text = `${header.map((line) => `${line}\r\n`).join('')}${fields}\r\n`
  const high = bytes ? Buffer.from(Array.from({ length: 128 }, (_, at) => 128 + at)) : Buffer.from('Grüße, 東京 🙂')
  return Buffer.concat([Buffer.from(text), high, Buffer.from(`\r\n${body.join('\r\n')}\r\n`)])
}

interface Received {
  /** The word after `with`. */
  readonly protocol: string
  /** Everything below our own fields. */
  readonly rest: Buffer
}

const ourFields =
  /^X-Posthorn-Reference: [a-z2-7]{42}\r\nDKIM-Signature: v=1;.*\r\n(?:[ \t].*\r\n)+Received: by localhost with (\w+) id [\w-]+;\r\n\t[^\r\n]+\r\n/

/** Removes the three fields that Posthorn puts on top; throws if there is anything else. */
export function stripOurFields(raw: Buffer): Received {
  const found = ourFields.exec(raw.toString('latin1'))
  if (found?.[1] === undefined) throw new Error(`not our fields on top: ${raw.toString('latin1', 0, 300)}`)
  return { protocol: found[1], rest: raw.subarray(found[0].length) }
}

/** Null, or where two messages differ, with the bytes there. */
export function findDifference(got: Buffer, expected: Buffer): string | null {
  if (got.equals(expected)) return null
  const at = [...expected].findIndex((byte, place) => got[place] !== byte)
  const place = at === -1 ? expected.length : at
  const around = (bytes: Buffer): string =>
    JSON.stringify(bytes.toString('latin1', Math.max(0, place - 30), place + 60))
  return `at ${place} of ${expected.length}: got ${around(got)}, expected ${around(expected)} (${got.length} bytes)`
}
