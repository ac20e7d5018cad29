/** Text made of HTML: speed and size of hostile input. */
import assert from 'node:assert/strict'
import t from 'tap'
import { textOfHtml } from '../../../../src/records/messages/mime/text-of-html.js'

t.test('HTML with very many tags is reduced to its text', async (t) => {
  const page = `<title>no</title>${'<p>'.repeat(9000)}one<br>two <b>&amp; &#x41;&euro;&unknown;</b> 1 < 2<!-- no > no -->
    <STYLE>no</STYLE><script>if (a < b) no()</script  >three<a href="`
  t.equal(textOfHtml(page), 'one\ntwo & A€&unknown; 1 < 2\nthree')
  t.equal(textOfHtml(`${'<b>'.repeat(9000)}${'x'.repeat(300_000)}`).length, 200_000)
})

t.test('no HTML of 800 KB makes it slow or fail', async (t) => {
  const pieces = ['<table><tr><td>', '<div>', '<b><p>', '<ul><li>a', '<', '< ', '<!--', '<br>', '&amp;', '<script>']
  const more = [
    '<style',
    '</script',
    '\n',
    '<a href="',
    '<title>',
    ' ',
    '<pre>\n',
    '<b><option>',
    '<svg><p>',
    '\u0130<x',
  ]
  for (const piece of [...pieces, ...more]) {
    for (const size of [17_000, 190_000, 800_000]) {
      const text = textOfHtml(piece.repeat(Math.floor(size / piece.length)))
      assert.ok(text.length <= 200_000, piece)
    }
  }
  for (const [open, close] of [
    ['<b>', '</i>'],
    ['<table><tr><td>', '</td></tr></table>'],
    ['<b>', '<li>'],
  ] as const) {
    textOfHtml(open.repeat(100_000) + close.repeat(100_000))
  }
  t.pass('all of them came back')
})
