/** Charsets as mail names them: one decoder for header fields, reports and tracked bodies. */
import t from 'tap'
import { decodeCharset, encodingOf } from '../../../src/base/mail/charset.js'
import { decodeHeaderText } from '../../../src/base/mail/header-text.js'

t.test('names in all their spellings', async (t) => {
  const table: readonly (readonly [octets: string, text: string, names: string])[] = [
    [
      '82b182f1',
      'こん',
      'cp932 CP932 ms932 windows-31j x-sjis Shift_JIS shift-jis sjis cswindows31j ibm-943 windows-932',
    ],
    ['c4e3bac3', '你好', 'cp936 GBK gb2312 gb_2312-80 x-gbk windows-936 ms936 euc-cn gb18030 x-cp20936'],
    ['b0a1', '가', 'cp949 ks_c_5601-1987 euc-kr windows-949 x-windows-949 uhc ms949'],
    ['a741a66e', '你好', 'cp950 big5 big5-hkscs x-x-big5 windows-950'],
    ['2b414f512d', 'ä', 'utf-7 UTF7 unicode-1-1-utf-7 cp65000 x-utf-7'],
    ['84', 'ä', 'cp437 cp850 ibm437 IBM850 cp858 csIBM437 dos-850'],
    ['c3a4', 'ä', 'utf-8 utf8 "utf-8" utf-8;format=flowed unicode-1-1-utf-8 cp65001 x-utf8 UTF_8'],
    ['1b24422433 1b2842', 'こ', 'iso-2022-jp iso-2022-jp-ms iso-2022-jp$ESC ISO-2022-JP-2 csISO2022JP cp50221'],
    ['e4', 'ä', 'iso-8859-1 iso8859_1 ISO_8859-1:1987 latin1 windows-1252 cp1252 x-cp1252 8859-1 iso-8859-1*de cp819'],
    ['e0', 'а', 'cp1251 windows-1251 x-cp1251 win-1251'],
    ['c1', 'а', 'koi8-r cskoi8r cp20866 koi8r'],
    ['e4000000', 'ä', 'utf-32le utf-32'],
  ]
  for (const [octets, text, names] of table) {
    const bytes = Buffer.from(octets.replaceAll(' ', ''), 'hex')
    for (const name of names.split(' ')) t.equal(decodeCharset(bytes, name), text, name)
  }
  for (const name of ['', 'no-such', 'base64', 'hex', 'binary', 'constructor', 'x-', 'cp99999'])
    t.equal(encodingOf(name), null, name)
})

t.test('Korean text has all characters of its Windows form, whatever it is called', async (t) => {
  for (const name of ['cp949', 'ks_c_5601-1987', 'euc-kr', 'uhc', 'ms949', 'x-windows-949', 'KSC5601', 'csKSC56011987'])
    t.equal(decodeCharset(Buffer.from('8c63b9e6', 'hex'), name), '똠방', name)
})

t.test('octets of an undeclared charset are UTF-8 if they can be, else Latin-1 of Windows', async (t) => {
  for (const name of [
    'us-ascii',
    'ASCII',
    'ANSI_X3.4-1968',
    'unknown-8bit',
    'x-unknown',
    'default',
    '_autodetect_kr',
    'cp367',
  ]) {
    t.equal(decodeCharset(Buffer.from('4ac3b6', 'hex'), name), 'Jö', name)
    t.equal(decodeCharset(Buffer.from('4af680', 'hex'), name), 'Jö€', name)
  }
  t.equal(decodeHeaderText('=?unknown-8bit?B?SvZyZw==?='), 'Jörg')
  t.equal(decodeHeaderText('=?latin-1?Q?J=F6rg?= =?utf8mb4?Q?=C3=B6?='), 'Jörgö')
})

t.test('header fields are decoded by the same names', async (t) => {
  const word = (charset: string, hex: string): string =>
    `=?${charset}?B?${Buffer.from(hex, 'hex').toString('base64')}?=`
  t.equal(decodeHeaderText(word('cp932', '82b182f1')), 'こん')
  t.equal(decodeHeaderText(word('cp850', '84')), 'ä')
  t.equal(decodeHeaderText(word('utf-7', '2b414f512d')), 'ä')
  t.equal(
    decodeHeaderText(`${word('gb2312', 'c4')} ${word('GBK', 'e3')} ${word('gb18030', 'bac3')}`),
    '你好',
    'one character in two',
  )
  t.equal(decodeHeaderText(word('x-unheard-of', '61')), word('x-unheard-of', '61'))
})
