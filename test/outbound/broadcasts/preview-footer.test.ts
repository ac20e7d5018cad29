/** The footers that previews show. */
import t from 'tap'
import { addFooters } from '../../../src/outbound/broadcasts/preview-footer.js'

t.test('a body without a link to unsubscribe gets one, at its end', async (t) => {
  const { html, text } = addFooters({ html: '<BODY><p>a</p></BODY></html>', text: 'a' })
  t.match(html, /^<BODY><p>a<\/p><div .*href="\{\{unsubscribe_url\}\}".*<\/div><\/BODY><\/html>$/)
  t.match(text, /^a\n\n[\s\S]*\{\{unsubscribe_url\}\}/)
  t.match(addFooters({ html: '<p>a', text: null }).html, /^<p>a<div .*<\/div>$/)
})

t.test('other bodies stay as they are', async (t) => {
  const bodies = { html: '<a href="{{unsubscribe_url}}">x</a>', text: 'x {{ unsubscribe_url }}' }
  t.same(addFooters(bodies), bodies)
  t.same(addFooters({ html: '', text: null }), { html: '', text: null })
})
