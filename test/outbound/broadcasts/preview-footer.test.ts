/** The footers that previews show. */
import t from 'tap'
import { addFooters } from '../../../src/outbound/broadcasts/preview-footer.js'

const footer = { language: 'de', postalAddress: 'Am Markt 1' } as const

t.test('a body without a link to unsubscribe gets one, at its end', async (t) => {
  const { html, text } = addFooters({ html: '<BODY><p>a</p></BODY></html>', text: 'a' }, footer)
  t.match(html, /^<BODY><p>a<\/p><div .*href="\{\{unsubscribe_url\}\}".*<\/div><\/BODY><\/html>$/)
  t.match(text, /^a\n\n[\s\S]*Abbestellen[\s\S]*\{\{unsubscribe_url\}\}[\s\S]*Am Markt 1/)
  t.match(addFooters({ html: '<p>a', text: null }, footer).html, /^<p>a<div .*<\/div>$/)
})

t.test('other bodies stay as they are', async (t) => {
  const bodies = { html: '<a href="{{unsubscribe_url}}">x</a>', text: 'x {{ unsubscribe_url }}' }
  t.same(addFooters(bodies, footer), bodies)
  t.same(addFooters({ html: '', text: null }, footer), { html: '', text: null })
})
