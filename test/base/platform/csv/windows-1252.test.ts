/** Whether a text is likely in Windows-1252, against texts of the same languages and of others in other encodings. */
import { encode } from 'iconv-lite'
import t from 'tap'
import { isLikelyWindows1252 } from '../../../../src/base/platform/csv/windows-1252.js'

t.test('texts of Western Europe are likely', async (t) => {
  const texts = [
    ...[
      'Jörg',
      'Ångström',
      'Zoë,Núñez',
      'été créée à Orléans',
      'Müller-Lüdenscheidt',
      'Großräschen',
      'Þórður Æ. Sørensen',
    ],
    ...[
      'Pat O’Brien',
      'L’Équipe',
      'don’t',
      '5 €',
      '“quoted” – and more…',
      '«\u00a0oui\u00a0»',
      '20 °C, 3 × 4',
      '¿Qué?',
      'São João',
    ],
    ...['Col·lecció nº 5', 'Œuvre, cœur, été, à côté, déjà', 'plain'],
  ]
  for (const text of texts) t.equal(await isLikelyWindows1252(encode(text, 'windows-1252')), true, text)
})

t.test('texts in other encodings are not', async (t) => {
  const texts: readonly (readonly [encoding: string, ...string[]])[] = [
    ['windows-1251', 'Иван', 'email,имя\na@b.test,Пётр', 'John Иванов'],
    ['koi8-r', 'Иван', 'Мария Петрова'],
    ['windows-1253', 'Γιώργος', 'Παπαδόπουλος'],
    ['windows-1250', 'Łódź', 'Wałęsa', 'Żółć'],
    ['macintosh', 'Jörg', 'Müller', 'José', 'García', 'Straße', 'Élodie', 'Muñoz'],
    ['shift_jis', '山田太郎', 'かとう', 'カトウ', 'ﾔﾏﾀﾞ'],
    ['gb18030', '王伟', 'Wang 李娜'],
    ['big5', '陳大文'],
    ['euc-kr', '김철수'],
  ]
  for (const [encoding, ...all] of texts) {
    for (const text of all) t.equal(await isLikelyWindows1252(encode(text, encoding)), false, `${text} in ${encoding}`)
  }
})

t.test('the end of a step makes no difference', async (t) => {
  for (const pad of [32_765, 32_766, 32_767]) {
    const text = (word: string): Buffer => encode(`${'a '.repeat(pad).slice(0, pad)}${word}`, 'windows-1252')
    t.equal(await isLikelyWindows1252(text(' Jörg')), true)
    t.equal(await isLikelyWindows1252(text(' Èâàí')), false)
  }
})
