/** Characters that are not seen, typographic ones, and domains that IDNA2008 does not have. */
import t from 'tap'
import { explainAddress, tryParseAddress, tryParseDomainName } from '../../../src/base/mail/address.js'

t.test('addresses with them are refused, and the character is named', async (t) => {
  const table: readonly (readonly [text: string, fault: RegExp])[] = [
    ['a\u200bb@b.test', /U\+200B, which is not seen/],
    ['ab@b\u200b.test', /U\+200B/],
    ['ab@b.test\u200b', /U\+200B/],
    ['\ufeffab@b.test', /U\+FEFF/],
    ['a\u00adb@b.test', /U\+00AD/],
    ['ab@exam\u00adple.test', /U\+00AD/],
    ['a\u202eb@b.test', /U\+202E/],
    ['a\u2060b@b.test', /U\+2060/],
    ['a\u3164@b.test', /U\+3164/],
    ['a\u2800@b.test', /U\+2800/],
    ['a\ufe0f@b.test', /U\+FE0F/],
    ['a\u{e0041}@b.test', /U\+E0041/],
    ['\u201dann\u201d@b.test', /” \(U\+201D\)/],
    ['o\u2019brien@b.test', /’ \(U\+2019\)/],
    ['a\u2013b@b.test', /– \(U\+2013\)/],
    ['a\u2026@b.test', /… \(U\+2026\)/],
    ['a\u00b4b@b.test', /´ \(U\+00B4\)/],
    ['a\uff0eb@b.test', /U\+FF0E/],
    ['a\ue000@b.test', /U\+E000/],
    ['a@exam\u201dple.test', /” \(U\+201D\)/],
    ['a@\u{1f4a9}.test', /U\+1F4A9/],
    ['a@xn--ls8h.test', /U\+1F4A9/],
    ['a@xn--zzzzzz999999', /label xn--zzzzzz999999/],
    ['a@b.xn--zzzzzz999999.test', /label xn--zzzzzz999999/],
    ['a@xn--a.test', /label xn--a/],
    ['a@XN--.test', /label xn--/],
    ['Ann <a\u200b@b.test>', /U\+200B/],
    ['a\u0007b@b.test', /U\+0007, which is not seen/],
    ['a@b\u0000.test', /U\+0000/],
    ['a@b\u2026c.test', /… \(U\+2026\), which no domain name has/],
    ['a@\u0661.test', /may not stand together/],
    ['a@\u05d0b.test', /may not stand together/],
    ['a@b\u200dc.test', /U\+200D/],
    ['a@b\u00b7c.test', /· \(U\+00B7\) in a wrong place/],
    ['a@\u0375b.test', /U\+0375/],
    ['a@b\u30fbc.test', /U\+30FB/],
    ...['a\ud800@b.test', 'a@b\udfff.test', '\ud83d <a@b.test>x'].map(
      (text) => [text, /half of a surrogate pair/] as const,
    ),
  ]
  for (const [text, fault] of table) {
    t.equal(tryParseAddress(text), null, JSON.stringify(text))
    t.match(explainAddress(text, 'not a mail address'), fault, JSON.stringify(text))
  }
  t.equal(explainAddress('“Ann” <nobody>', 'not a mail address'), 'not a mail address', 'a name may have them')
})

t.test('international addresses stay', async (t) => {
  for (const text of [
    ...[
      'jörg@b.test',
      'квіточка@пошта.укр',
      '用户@例子.广告',
      'अजय@डाटा.भारत',
      'a@faß.test',
      'a@xn--fa-hia.test',
      '☕@b.test',
    ],
    ...[
      'a@xn--mnchen-3ya.test',
      'a@col·lecció.test',
      'a@日本語。test',
      'a@カ・タ.test',
      'xn--anything@b.test',
      'a@ＡＢ.test',
      'e\u0301@b.test',
    ],
  ]) {
    t.not(tryParseAddress(text), null, text)
  }
  t.equal(tryParseDomainName('xn--zzzzzz999999'), null)
  t.equal(tryParseDomainName('_dmarc.r3---sn.test'), '_dmarc.r3---sn.test')
})
