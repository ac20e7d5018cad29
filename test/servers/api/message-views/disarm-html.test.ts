/** Frames and links of a message are renamed wherever a browser could find them; everything else stays. */
import fc from 'fast-check'
import t from 'tap'
import { disarmHtml } from '../../../../src/servers/api/message-views/disarm-html.js'

const table: readonly (readonly [given: string, shown: string])[] = [
  ['<iframe src="https://a.test/">x</iframe>', '<noframes src="https://a.test/">x</noframes>'],
  ['<IFrame/src=//a.test></IFRAME >', '<noframes/src=//a.test></noframes >'],
  ['<iframe\fsrc=//a.test>', '<noframes\fsrc=//a.test>'],
  ['<iframe\nsrc=//a.test', '<noframes\nsrc=//a.test'],
  ['<frameset><frame src=//a.test></frameset>', '<frameset><basefont src=//a.test></frameset>'],
  ['<link rel=preconnect href=//a.test>', '<basefont rel=preconnect href=//a.test>'],
  ['<LINK\trel=dns-prefetch href=//a.test>', '<basefont\trel=dns-prefetch href=//a.test>'],
  ['<svg><style><iframe src=//a.test>', '<svg><style><noframes src=//a.test>'],
  ['<!--[if mso]><link x><![endif]-->', '<!--[if mso]><basefont x><![endif]-->'],
  ['<ifr<iframe src=//a.test>', '<ifr<noframes src=//a.test>'],
  [
    '<p>links, <a href="#link">frames</a> &lt;iframe&gt;</p>',
    '<p>links, <a href="#link">frames</a> &lt;iframe&gt;</p>',
  ],
  ['<linked><iframes><frameset><x-link>', '<linked><iframes><frameset><x-link>'],
]

t.test('table', async (t) => {
  for (const [given, shown] of table) t.equal(disarmHtml(given), shown, given)
})

t.test('whatever the markup, no tag of these names is left, and all others stay', async (t) => {
  const piece = fc.constantFrom('<', '</', 'iframe', 'FRAME', 'Link', ' ', '>', '/', '"', '<!--', '-->', 'a', '\n')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const shown = disarmHtml(pieces.join(''))
      return !/<\/?(?:iframe|frame|link)[\s/>]/i.test(shown) && disarmHtml(shown) === shown
    }),
  )
  t.pass('no counterexample')
})
