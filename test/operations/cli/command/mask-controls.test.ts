/** Text from outside on a terminal. */
import fc from 'fast-check'
import t from 'tap'
import { escapeControls, maskControls } from '../../../../src/operations/cli/command/mask-controls.js'

const hostile = [
  '\u001b[2J\u001b]0;owned\u0007',
  '\u009b31m',
  '\u0085next line',
  '\u007f',
  'a\rb',
  'moc.knab\u202e evil',
  '\u2066isolate\u2069',
  '\u200fmark',
]

t.test('no control sequence and no mark that reverses a line is printed', async (t) => {
  for (const text of hostile) {
    t.notMatch(maskControls(text), /[^\P{Cc}\n]|\p{Bidi_Control}/u, JSON.stringify(text))
    t.equal(maskControls(text).length, text.length)
  }
  t.equal(maskControls('Grüße, 你好\nשלום'), 'Grüße, 你好\nשלום', 'words of any language stay')
})

t.test('JSON stays the same value', async (t) => {
  for (const text of hostile) {
    const json = escapeControls(JSON.stringify({ text }))
    t.notMatch(json, /\p{Cc}|\p{Bidi_Control}/u)
    t.same(JSON.parse(json), { text })
  }
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      t.same(JSON.parse(escapeControls(JSON.stringify(value))), JSON.parse(JSON.stringify(value)))
    }),
    { numRuns: 100 },
  )
})
