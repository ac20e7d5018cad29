/** Code units are those of the text, whatever was read before. */
import t from 'tap'
import { readCodeUnits } from '../../../src/base/platform/code-units.js'

t.test('the code units of a text are those that the string has', async (t) => {
  for (const text of [
    '',
    'plain',
    'é',
    '\ud83d\ude00 \ud83d',
    '日本語',
    'x'.repeat(65_536),
    `${'x'.repeat(65_536)}é`,
    'y',
  ]) {
    const units = readCodeUnits(text)
    t.equal(String.fromCharCode(...units.subarray(0, Math.min(text.length, 100))), text.slice(0, 100))
    t.equal(units[text.length - 1], text === '' ? undefined : text.charCodeAt(text.length - 1), 'the last one')
  }
})
