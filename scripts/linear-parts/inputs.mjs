/** Adversarial inputs of any size, which make parsers backtrack, nest, or join piece by piece. */

/** Repeated, each of these made a parser of mail slow. */
export const units = [
  ' ',
  '\t',
  'a',
  'a ',
  ' a',
  '.',
  '-',
  '_',
  '!',
  '=',
  '&',
  '%',
  '\\',
  '\\"',
  '"',
  '""',
  "'",
  '(',
  ')',
  '((',
  '()',
  '<',
  '>',
  '<>',
  '<<',
  '[',
  ']',
  ',',
  ';',
  ':',
  '@',
  'a@',
  '@a',
  'a@b.test',
  'a@b.test,',
  '<a@b.test> ',
  'a:',
  'a=b;',
  '=?',
  '?=',
  '=?utf-8?q?',
  '=?utf-8?q?=41?= ',
  '=?utf-8?b?',
  '=0',
  '=C3',
  '\r\n ',
  '\r\n\t',
  '\r\n\r\n',
  '\r\n--b',
  'é',
  '\u3042',
  '😀',
  '<a ',
  '<a href="',
  '<!--',
  '</',
  '<div>',
  '<p style="',
  '&#',
  '&amp;',
  'http://',
  'www.a.test/',
  '//',
  '{{',
  '}}',
  '{{a',
  '550 ',
  '5.1.1 ',
  'x-',
  '1',
  '1.',
  '0x',
  'by ',
  'deceased transfer ',
  'report 1 ',
  '$',
]

export const repeated = (unit, size) => unit.repeat(Math.ceil(size / unit.length)).slice(0, size)

/** Texts of a size, by name: each unit alone, and after a delimiter that is never closed. */
export const texts = [
  ...units.map((unit) => [JSON.stringify(unit), (size) => repeated(unit, size)]),
  ...['"', '(', '<', '=?utf-8?q?', 'a:', '<a href="', '<!--', '{{'].flatMap((start) =>
    ['a', ' ', '\\', ',', 'a@'].map((unit) => [
      `${JSON.stringify(start)} then ${JSON.stringify(unit)}`,
      (size) => start + repeated(unit, Math.max(size - start.length, 0)),
    ]),
  ),
]

const inFields = [
  'From',
  'To',
  'Reply-To',
  'Subject',
  'References',
  'In-Reply-To',
  'Message-ID',
  'Date',
  'Received',
  'Content-Type',
  'Content-Disposition',
  'Content-Transfer-Encoding',
  'DKIM-Signature',
  'Authentication-Results',
  'List-Unsubscribe',
  'Auto-Submitted',
  'X-Other',
]
const base = 'From: a@b.test\r\nTo: c@d.test\r\nSubject: x\r\nMIME-Version: 1.0\r\n'
const fieldUnits = [
  'a',
  ' ',
  '"',
  '(',
  '<',
  ',',
  ';',
  ':',
  '@',
  '\\',
  '=?',
  '=?utf-8?q?=41?= ',
  'a=b;',
  '\r\n ',
  '<a@b>',
  'a*0*=x;',
  'é',
]
const bodies = {
  'text/plain': ['Content-Type: text/plain; charset=utf-8'],
  'text/html': ['Content-Type: text/html; charset=utf-8'],
  'quoted-printable': ['Content-Type: text/plain', 'Content-Transfer-Encoding: quoted-printable'],
  base64: ['Content-Type: text/html', 'Content-Transfer-Encoding: base64'],
  flowed: ['Content-Type: text/plain; format=flowed; delsp=yes'],
  multipart: ['Content-Type: multipart/mixed; boundary=b'],
  report: ['Content-Type: multipart/report; report-type=delivery-status; boundary=b'],
}

/** Complete messages of a size, by name. */
export const messages = [
  ...inFields.flatMap((field) =>
    fieldUnits.map((unit) => [
      `${field}: ${JSON.stringify(unit)}`,
      (size) => Buffer.from(`${field}: x${repeated(unit, size)}\r\n${base}\r\nbody\r\n`),
    ]),
  ),
  ['fields', (size) => Buffer.from(`${repeated('X: y\r\n', size)}${base}\r\nbody\r\n`)],
  ['Received fields', (size) => Buffer.from(`${repeated('Received: from a by b; date\r\n', size)}${base}\r\nbody\r\n`)],
  ...Object.entries(bodies).flatMap(([name, fields]) =>
    units.map((unit) => [
      `${name} of ${JSON.stringify(unit)}`,
      (size) => Buffer.from(`${base}${fields.join('\r\n')}\r\n\r\n${repeated(unit, size)}\r\n`),
    ]),
  ),
  ...[
    '--b\r\n\r\nx\r\n',
    '--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n',
    '--b\r\nContent-Type: message/rfc822\r\n\r\n',
    '--b\r\nContent-Type: message/delivery-status\r\n\r\nFinal-Recipient: rfc822; a@b.test\r\n\r\n',
    '--b\r\nContent-Type: text/plain; name=a\r\n\r\nx\r\n',
  ].map((part) => [
    `parts ${JSON.stringify(part)}`,
    (size) =>
      Buffer.from(`${base}Content-Type: multipart/mixed; boundary=b\r\n\r\n${repeated(part, size)}\r\n--b--\r\n`),
  ]),
]

/** Octets for protocol parsers: lines of one unit each. */
export const lines = texts.flatMap(([name, make]) => [
  [`a line of ${name}`, (size) => Buffer.from(`250 ${make(size)}\r\n`)],
  [`lines of ${name}`, (size) => Buffer.from(repeated(`250-${make(60).replace(/[\r\n]/g, '')}\r\n`, size))],
])

/** HTML that names inline pictures. */
export const pictures = ['cid:a ', 'cid:%zz ', 'cid:%e4 ', '<img src="cid:a">', '<link ', '<iframe>'].map((unit) => [
  `pictures ${JSON.stringify(unit)}`,
  (size) => repeated(unit, size),
])
