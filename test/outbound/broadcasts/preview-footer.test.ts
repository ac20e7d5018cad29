/** The footers that previews show. */
import t from 'tap'
import { addFooters } from '../../../src/outbound/broadcasts/preview-footer.js'

const url = 'https://mail.test/u/preview'
const footer = { language: 'de', postalAddress: 'Am Markt {{1}}' } as const

t.test('a body without a link to unsubscribe gets one, at its end', async (t) => {
  const sources = { html: '<BODY><p>{{a}}</p></BODY></html>', text: '{{a}}' }
  const rendered = { html: '<BODY><p>a</p></BODY></html>', text: 'a' }
  const { html, text } = addFooters(rendered, { sources, url, footer })
  t.match(html, /^<BODY><p>a<\/p><div .*href="https:\/\/mail\.test\/u\/preview".*<\/div><\/BODY><\/html>$/)
  t.match(text, /^a\n\n[\s\S]*Abbestellen[\s\S]*https:\/\/mail\.test\/u\/preview[\s\S]*Am Markt \{\{1\}\}\n$/)
  const part = { html: '<p>a', text: null }
  t.match(addFooters(part, { sources: part, url, footer }).html, /^<p>a<div .*<\/div>$/)
})

t.test('other bodies stay as they are', async (t) => {
  const sources = { html: '<a href="{{unsubscribe_url}}">x</a>', text: 'x {{ unsubscribe_url }}' }
  const rendered = { html: `<a href="${url}">x</a>`, text: `x ${url}` }
  t.same(addFooters(rendered, { sources, url, footer }), rendered)
  const empty = { html: '', text: null }
  t.same(addFooters(empty, { sources: empty, url, footer }), empty)
})
