/** The HTML of mails in blocks: what each block becomes, that texts are escaped once, and how long it takes. */
import t from 'tap'
import { textOfHtml } from '../../../../src/records/messages/mime/text-of-html.js'
import { compileBlocks } from '../../../../src/workspaces/content/blocks/compile-blocks.js'
import { MAX_BLOCKS, MAX_CHARACTERS } from '../../../../src/workspaces/content/blocks/mail-blocks.js'
import { readBlocks } from '../../../../src/workspaces/content/blocks/read-blocks.js'
import { renderTemplate } from '../../../../src/workspaces/content/render-template.js'
import { parseTemplate } from '../../../../src/workspaces/content/template-cache.js'

const compile = (...content: unknown[]): string => compileBlocks(readBlocks({ type: 'doc', content }))
const words = (text: string, ...marks: unknown[]): unknown => ({ type: 'text', text, marks })
const paragraph = (...content: unknown[]): unknown => ({ type: 'paragraph', content })
const fill = (html: string, data: Record<string, unknown>): string =>
  renderTemplate(parseTemplate({ id: 't', subject: '', html, text: null }), data, 'https://u.test/').html ?? ''

t.test('each block becomes what mail programs show', async (t) => {
  const rows: readonly (readonly [block: unknown, html: RegExp])[] = [
    [
      { type: 'heading', attrs: { level: 2, align: 'center' }, content: [words('Hi')] },
      /text-align:center[^>]*><h2 [^>]*>Hi<\/h2>/,
    ],
    [
      paragraph(words('a', { type: 'strong' }, { type: 'em' })),
      /<p style="margin:0"><strong><em>a<\/em><\/strong><\/p>/,
    ],
    [paragraph(words('a'), { type: 'line_break' }, words('b')), /a<br>b/],
    [{ type: 'divider' }, /border-top:solid 1px/],
    [{ type: 'spacer', attrs: { height: 40 } }, /height:40px/],
    [{ type: 'html', attrs: { html: "</mj-text><p id='x'>&amp;" } }, /<\/mj-text><p id='x'>&amp;/],
    [
      { type: 'button', attrs: { label: 'A & B', href: 'https://a.test/?a=1&b=2' } },
      /<a href="https:\/\/a\.test\/\?a=1&amp;b=2"[^>]*>A &amp; B<\/a>/,
    ],
    [
      { type: 'image', attrs: { src: 'https://a.test/a.png', alt: '"', width: 120 } },
      /<img alt="&quot;"[^>]* width="120"/,
    ],
  ]
  for (const [block, html] of rows) t.match(compile(block), html)
  const list = compile({ type: 'ordered_list', content: [{ type: 'list_item', content: [paragraph(words('one'))] }] })
  t.match(list, /<ol [^>]*><li [^>]*><p [^>]*>one<\/p><\/li><\/ol>/)
  const column = (text: string): unknown => ({ type: 'column', content: [paragraph(words(text))] })
  const columns = compile(paragraph(), { type: 'columns', content: [column('left'), column('right')] }, paragraph())
  t.match(columns, /<!--\[if mso \| IE\]><td style="vertical-align:top;width:300px;">/)
  t.equal(columns.split('mj-column-per-50" style').length - 1, 2)
  t.notMatch(columns, /https?:\/\/fonts|@import/, 'nothing is loaded from elsewhere')
})

t.test('neighbours with one link are one link', async (t) => {
  const link = { type: 'link', attrs: { href: 'https://a.test/' } }
  const html = compile(paragraph(words('a ', link), words('b', link, { type: 'strong' }), words(' c')))
  t.match(html, /<a href="https:\/\/a\.test\/" [^>]*>a <strong>b<\/strong><\/a> c/)
})

t.test('variables follow the rules of templates', async (t) => {
  const html = compile(
    paragraph(
      { type: 'variable', attrs: { name: 'name', fallback: 'you & "me"' } },
      words(' {{city|Rome}} {{{raw}}} {a}'),
    ),
    paragraph(words('{'), { type: 'variable', attrs: { name: 'name' } }, words('}')),
    { type: 'button', attrs: { label: 'Go', href: 'https://a.test/?q={{name}}' } },
  )
  t.match(fill(html, { raw: '<i>', name: '<b>' }), /&lt;b&gt; Rome <i> &#123;a&#125;/)
  t.match(fill(html, { raw: '', name: '<b>' }), /&#123;&lt;b&gt;&#125;/, 'braces beside a variable make no raw one')
  t.match(fill(html, { raw: '', name: 'a&b' }), /\?q=a%26b"/)
  const some = compile(paragraph({ type: 'variable', attrs: { name: 'name', fallback: 'you & "me"' } }))
  t.match(fill(some, {}), /you &amp; &quot;me&quot;/, 'a default is escaped once')
})

t.test('the text has the words in their order', async (t) => {
  const text = textOfHtml(
    compile({ type: 'heading', attrs: { level: 1 }, content: [words('News')] }, paragraph(words('Hello')), {
      type: 'button',
      attrs: { label: 'Go', href: 'https://a.test/' },
    }),
  )
  t.match(text.replace(/\s+/g, ' ').trim(), /^News Hello Go \[https:\/\/a\.test\/\]$/)
})

t.test('the largest documents take a bounded time', async (t) => {
  const columns = (count: number): unknown[] =>
    Array.from({ length: count }, () => {
      const column = { type: 'column', content: [{ type: 'divider' }] }
      return { type: 'columns', content: [column, column] }
    })
  const measure = (content: readonly unknown[]): number => {
    const start = performance.now()
    compile(...content)
    return performance.now() - start
  }
  const largest = Math.floor(MAX_BLOCKS / 3)
  measure(columns(largest))
  const [one, four] = [measure(columns(largest / 4)), measure(columns(largest))]
  t.ok(four < 20 * Math.max(one, 5), `${one} and ${four} ms`)
  const braces = measure([paragraph(words('{{a'.repeat(MAX_CHARACTERS / 3)))])
  t.ok(braces < 2_000, `${braces} ms`)
})
