/** The header field under which files are downloaded: names of any source become safe. */
import fc from 'fast-check'
import t from 'tap'
import {
  formatContentDisposition,
  sanitizeFileName,
} from '../../../../../src/servers/api/http/output/content-disposition.js'

const names: readonly (readonly [given: string, safe: string])[] = [
  ['report.pdf', 'report.pdf'],
  ['../../etc/passwd', '_.._etc_passwd'],
  ['..\\..\\autorun.inf', '_.._autorun.inf'],
  ['/', '_'],
  ['.htaccess', 'htaccess'],
  ['. . .x', 'x'],
  ['', 'attachment'],
  ['...', 'attachment'],
  ['\u202e\u200b', 'attachment'],
  ['annex\u202egpj.exe', 'annexgpj.exe'],
  ['a\r\nSet-Cookie: x=1', 'aSet-Cookie_ x=1'],
  ['a\0b.txt', 'ab.txt'],
  ['half \ud83e.txt', 'half .txt'],
  ['a"b;c.txt', 'a_b;c.txt'],
  ['CON', '_CON'],
  ['nul.txt', '_nul.txt'],
  ['com1 .log', '_com1 .log'],
  ['console.log', 'console.log'],
  ['lpt10', 'lpt10'],
  ['ends with dots. . ', 'ends with dots'],
  ['C:\\dir\\file.txt', 'C__dir_file.txt'],
  ['u\u0308ber.txt', 'über.txt'],
  [`${'x'.repeat(300)}.pdf`, `${'x'.repeat(196)}.pdf`],
  [`${'€'.repeat(300)}.pdf`, `${'€'.repeat(65)}.pdf`],
  [`a.${'x'.repeat(300)}`, `a.${'x'.repeat(198)}`],
  [`con.${'x'.repeat(196)}`, `_con.${'x'.repeat(195)}`],
  [`${'🦊'.repeat(99)}`, `${'🦊'.repeat(50)}`],
]

t.test('the name of a downloaded file is harmless', (t) => {
  for (const [given, safe] of names) t.equal(sanitizeFileName(given), safe, given.slice(0, 40))
  const header = /^attachment; filename="[\x20\x21\x23-\x5b\x5d-\x7e]+"(; filename\*=UTF-8''[\w!#$&+.^`|~%-]+)?$/
  const property = fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (given) => {
    const name = sanitizeFileName(given)
    t.ok(Buffer.byteLength(name) <= 200 && name !== '' && !/^[.\s]|[/\\\p{Cc}]/u.test(name), name)
    t.match(formatContentDisposition(given), header)
  })
  fc.assert(property)
  t.equal(formatContentDisposition('a.pdf'), 'attachment; filename="a.pdf"')
  const odd = `attachment; filename="_uro (1)'_.txt"; filename*=UTF-8''%E2%82%ACuro%20%281%29%27%25.txt`
  t.equal(formatContentDisposition("€uro (1)'%.txt"), odd)
  t.end()
})
