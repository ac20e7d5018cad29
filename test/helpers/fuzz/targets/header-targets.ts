/** Header fields, encoded words, encodings of text, tokens, and what is written into headers of ours. */

import { createSecretKey } from 'node:crypto'
import { tryParseDomainName } from '../../../../src/base/mail/address.js'
import { createClickToken, isClickToken } from '../../../../src/base/mail/click-token.js'
import { readFieldValue, scanHeader, scanHeaderOrEmpty, spliceHeader } from '../../../../src/base/mail/header-fields.js'
import { readHeaderMailboxes } from '../../../../src/base/mail/header-mailboxes.js'
import { decodeHeaderText } from '../../../../src/base/mail/header-text.js'
import { checkLinesInSteps } from '../../../../src/base/mail/line-check.js'
import { decodeQuotedPrintable, encodeQuotedPrintable } from '../../../../src/base/mail/quoted-printable.js'
import {
  createReturnPath,
  createUnsubscribeToken,
  recipientOfReturnPath,
  recipientOfUnsubscribe,
} from '../../../../src/base/mail/recipient-token.js'
import { composeSubject } from '../../../../src/outbound/sending/compose-header.js'
import { prepareMessage, summarizeMessage } from '../../../../src/outbound/sending/prepare-message.js'
import { readServiceFields } from '../../../../src/outbound/sending/service-headers.js'
import { decodeTransfer } from '../../../../src/records/messages/mime/structure/transfer-encoding.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'
import { messageSeeds, messageWords } from './message-seeds.js'
import { isRefusal } from './refusals.js'

const secret = createSecretKey(Buffer.alloc(32))
const recipientId = '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee'
const host = tryParseDomainName('mail.a.test')
const origin = { hostname: 'mx.test', protocol: 'ESMTPSA', emailId: 'em_1', now: 0 }

function scanMessage(input: Buffer): void {
  const header = scanHeader(input)
  let at = 0
  for (const { name, start, colon, end } of header.fields) {
    check(start === at && colon > start && end > colon && end <= input.length, 'fields follow each other')
    check(/^[!-9;-~]+$/.test(name), 'a field name is printable ASCII')
    at = end
  }
  check(header.end === at && header.bodyStart >= at && header.bodyStart <= input.length, 'the body follows the header')
  for (const field of header.fields) check(!readFieldValue(input, field).includes('\n'), 'a value is unfolded')
  for (const name of ['from', 'to', 'cc', 'reply-to']) readHeaderMailboxes(input, header, name)
  const [first] = header.fields
  const splice = spliceHeader(input, header, { prepend: 'X-A: 1\r\n', remove: first === undefined ? [] : [first] })
  const again = scanHeader(splice)
  checkEqual(
    again.fields.map(({ name }) => name),
    ['x-a', ...header.fields.slice(1).map(({ name }) => name)],
    'a splice changes only the fields that it names',
  )
  check(splice.subarray(again.bodyStart).equals(input.subarray(header.bodyStart)), 'a splice keeps the body')
}

function decodeText(input: Buffer): void {
  const text = input.toString()
  const decoded = decodeHeaderText(text)
  check(decoded.length <= 2_000, 'decoded text has at most 2,000 characters')
  check(!/[\p{Cc}\u2028\u2029\u202a-\u202e]/u.test(decoded), 'decoded text has no control characters')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the line ends
  const subject = composeSubject(text.replace(/[\r\n\x00]/g, ' ').slice(0, 998))
  check(!/\r(?!\n)|(?<!\r)\n|\r\n(?![ \t]|$)|\r\n[ \t]*\r\n/.test(subject), 'a subject makes no second header field')
  check(
    subject.split('\r\n').every((line) => Buffer.byteLength(line) <= 998),
    'a line has at most 998 octets',
  )
}

function checkEncodings(input: Buffer): void {
  const encoded = encodeQuotedPrintable(input)
  check(
    encoded
      .toString('latin1')
      .split('\r\n')
      .every((line) => /^[\t -~]{0,76}$/.test(line)),
    'a line has at most 76 characters of ASCII',
  )
  check(decodeQuotedPrintable(encoded)?.equals(input) === true, 'decode(encode(x)) = x')
  const decoded = decodeQuotedPrintable(input)
  check(decoded === null || decoded.length <= input.length, 'decoded text is not longer')
  for (const encoding of ['base64', 'quoted-printable', 'uuencode'] as const)
    check(decodeTransfer(input, encoding).length <= input.length, `${encoding} makes no octets of fewer`)
  for (const _ of checkLinesInSteps(input, { maxLineOctets: 998 }));
}

function readTokens(input: Buffer): void {
  const text = input.toString()
  const returned = recipientOfReturnPath(secret, text)
  if (returned !== null && host !== null) {
    checkEqual(
      text.toLowerCase(),
      createReturnPath(secret, returned, host).split('@')[0],
      'only our spelling is a token',
    )
  }
  const unsubscribed = recipientOfUnsubscribe(secret, text)
  if (unsubscribed !== null)
    checkEqual(text.toLowerCase(), createUnsubscribeToken(secret, unsubscribed), 'only our spelling is a token')
  if (isClickToken(secret, { emailId: 'em_1', url: 'https://b.test/', token: text }))
    checkEqual(text.toLowerCase(), createClickToken(secret, 'em_1', 'https://b.test/'), 'only our spelling is a token')
}

function submitMessage(input: Buffer): void {
  const header = scanHeader(input)
  for (const _ of checkLinesInSteps(input, { maxLineOctets: 998 }));
  prepareMessage(input, header, origin)
  summarizeMessage(input, header)
}

function readSteering(input: Buffer): void {
  const header = scanHeaderOrEmpty(input)
  readServiceFields(
    header.fields.map((field) => ({ name: field.name, value: readFieldValue(input, field) })),
    0,
  )
}

export const headerTargets: readonly FuzzTarget[] = [
  {
    name: 'header-fields',
    checks: 'fields follow each other; a splice keeps all other bytes',
    seeds: messageSeeds,
    words: messageWords,
    run: scanMessage,
    refuses: isRefusal,
  },
  {
    name: 'header-text',
    checks: 'length; printable; a subject makes no second field',
    seeds: [
      '=?utf-8?q?caf=C3=A9?= =?utf-8?b?4pyJ?=',
      '=?iso-2022-jp?b?GyRCJCIbKEI=?=',
      '=?windows-1252?q?a_b=80?= plain',
      'héllo wörld '.repeat(20),
    ],
    words: [
      '=?utf-8?q?',
      '=?utf-8?b?',
      '?=',
      '=?gb18030?b?',
      '=?utf-16?b?',
      '=?utf-7?q?+AGE-',
      '=41',
      '_',
      '\u202e',
      '*en?',
      '💌',
    ],
    run: decodeText,
  },
  {
    name: 'quoted-printable',
    checks: 'decode(encode(x)) = x; lines of 76',
    seeds: ['a=3D\r\nb =\r\n c\t\r\n', Buffer.from([0, 255, 61, 13, 10, 32]), 'x'.repeat(200)],
    words: ['=', '=\r\n', '=0D=0A', ' \r\n', '\t', '=3d'],
    run: checkEncodings,
  },
  {
    name: 'tokens',
    checks: 'only the spelling that we write is one',
    seeds: [
      host === null ? '' : (createReturnPath(secret, recipientId, host).split('@')[0] ?? ''),
      createUnsubscribeToken(secret, recipientId),
      createClickToken(secret, 'em_1', 'https://b.test/'),
    ],
    words: ['bounce+', 'BOUNCE+', 'unsubscribe+'],
    maxSize: 4_096,
    run: readTokens,
  },
  {
    name: 'submitted-messages',
    checks: 'refused as documented',
    seeds: messageSeeds,
    words: messageWords,
    run: submitMessage,
    refuses: isRefusal,
  },
  {
    name: 'service-fields',
    checks: 'refused as documented',
    seeds: [
      ...messageSeeds.slice(0, 2),
      'X-Service-Tags: a,b\r\nX-Service-Schedule: 2026-01-01T00:00:00Z\r\nX-Service-Metadata: {"a":"b"}\r\nX-Mailgun-Tag: x\r\nX-SES-CONFIGURATION-SET: y\r\nX-SMTPAPI: {"category":["a"],"send_at":1800000000}\r\n\r\n',
    ],
    words: [
      ...messageWords,
      'X-Service-',
      'X-SMTPAPI: ',
      'X-PM-',
      'X-MC-',
      '{"a":',
      'true',
      '[',
      '2026-01-01T00:00:00Z',
    ],
    run: readSteering,
    refuses: isRefusal,
  },
]
