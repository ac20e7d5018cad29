/** HTML as a sequence of tags and texts: right on small pieces, bounded and linear on any. */
import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import fc from 'fast-check'
import t from 'tap'
import { type HtmlTag, readHtml } from '../../../../src/base/mail/html/read-html.js'

interface Reading {
  readonly events: readonly string[]
  readonly tags: readonly HtmlTag[]
}

function read(html: string, maxLength?: number): Reading {
  const events: string[] = []
  const tags: HtmlTag[] = []
  readHtml(
    html,
    {
      onOpenTag(tag) {
        tags.push(tag)
        events.push(`<${tag.name}${tag.selfClosing ? '/' : ''}>`)
      },
      onCloseTag: (name) => void events.push(`</${name}>`),
      onText: (text, isReference) => void events.push(isReference ? `&${text}` : text),
      onComment: () => void events.push('!'),
    },
    maxLength === undefined ? {} : { maxLength },
  )
  return { events, tags }
}

t.test('tags, texts, references and comments come in their order', async (t) => {
  t.same(read('<P>a &amp; b<!-- c --><Br/>d</P>').events, ['<p>', 'a ', '&&', ' b', '!', '<br/>', 'd', '</p>'])
  t.same(read('<script>if (a<b) c()</script>x').events, ['<script>', 'if (a<b) c()', '</script>', 'x'])
  t.same(read('<!DOCTYPE html><?x y?><![CDATA[z]]>1 < 2').events.join(''), '1 < 2')
})

t.test('HTML without a reference is read as it is behind one', async () => {
  const piece = fc.constantFrom(
    '<a href="x y">',
    '<p',
    '>',
    '</p>',
    '<!--',
    '-->',
    '<script>',
    '</script>',
    '<title>',
    '=',
    "'",
    '"',
    'x ',
    '<',
    '/',
    '<![CDATA[',
    ']]>',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40, size: 'max' }), (pieces) => {
      const html = pieces.join('')
      const { events, tags } = read(html)
      const behind = read(`&amp;${html}`)
      assert.deepEqual(behind.events, ['&&', ...events])
      assert.deepEqual(
        behind.tags.map(({ attributes }) => attributes.map(({ value }) => value)),
        tags.map(({ attributes }) => attributes.map(({ value }) => value)),
      )
    }),
  )
})

t.test('attributes keep their order, their decoded values and their places', async (t) => {
  const html = `x<A HREF = "http://a.test/?b&amp;c" title='&lt;' id=q&amp;r href=second checked empty="">y</a>`
  const [tag] = read(html).tags
  t.same(
    tag?.attributes.map(({ name, value, start, end }) => [name, value, html.slice(start, end)]),
    [
      ['href', 'http://a.test/?b&c', 'http://a.test/?b&amp;c'],
      ['title', '<', '&lt;'],
      ['id', 'q&r', 'q&amp;r'],
      ['href', 'second', 'second'],
      ['checked', '', ''],
      ['empty', '', ''],
    ],
  )
  t.equal(html.slice(tag?.start, tag?.end), html.slice(1, html.indexOf('>') + 1))
})

t.test('a value has its quotes and its place, whatever precedes it', async (t) => {
  const html = `<a b = "&amp;c" d='' e=\u00a0f g= &lt;h i="" j>`
  const [tag] = read(html).tags
  t.same(
    tag?.attributes.map(({ quote, start, end }) => [quote, html.slice(start, end)]),
    [
      ['"', '&amp;c'],
      ["'", ''],
      ['', '\u00a0f'],
      ['', '&lt;h'],
      ['"', ''],
      ['', ''],
    ],
  )
})

t.test('the caller may raise the limits', async (t) => {
  const html = `<a ${'b '.repeat(300)}c="${'x'.repeat(3_000)}">`
  const tags: HtmlTag[] = []
  const handler = {
    onOpenTag: (tag: HtmlTag) => void tags.push(tag),
    onCloseTag: () => undefined,
    onText: () => undefined,
  }
  readHtml(html, handler, { maxAttributes: 301, maxValue: 2_999 })
  t.match(tags, [{ attributes: { length: 301 } }])
  t.equal(tags[0]?.attributes.at(-1)?.value.length, 2_999)
})

t.test('the end of markup is told when it is complete', async (t) => {
  const ends = (html: string): string[] => {
    const found: string[] = []
    let at = 0
    const onMarkupEnd = (end: number): void => {
      found.push(html.slice(at, end))
      at = end
    }
    readHtml(html, { onOpenTag: () => undefined, onCloseTag: () => undefined, onText: () => undefined, onMarkupEnd })
    return found
  }
  t.same(ends('<a><b/></a x><!--c--><!d><?e><![CDATA[f]]></!g>'), [
    ...['<a>', '<b/>', '</a x>', '<!--c-->', '<!d>', '<?e>', '<![CDATA[f]]>', '</!g>'],
  ])
  for (const cut of ['<a', '<a b="', '</a', '</a ', '<!--c', '<!--c--', '<!d', '<?e', '<![CDATA[f', '</!g']) {
    t.same(ends(cut), [], cut)
  }
})

t.test('what exceeds a limit is left out, and so is a tag that the end cuts off', async (t) => {
  const wide = read(`<a ${Array.from({ length: 201 }, (_, n) => `a${n}=1`).join(' ')}>`).tags[0]
  t.equal(wide?.attributes.length, 200)
  const long = read(`<a b="${'x'.repeat(1_999)}&amp;${'y'.repeat(5_000)}">`).tags[0]?.attributes[0]
  t.equal(long?.value, `${'x'.repeat(1_999)}&`)
  t.equal(read(`<${'n'.repeat(600)}>`).tags[0]?.name.length, 500)
  t.same(read('abc<b>', 2).events, ['ab'])
  t.same(read(`${'a'.repeat(262_144)}b`).events.join('').length, 262_144)
  t.same(read('a<b href="c').events, ['a'])
})

t.test('places are those of the source, whatever it is', (t) => {
  const piece = fc.constantFrom(
    '<a',
    ' b',
    '=',
    '"',
    "'",
    '>',
    '/',
    '</a>',
    '&amp;',
    '&',
    ' ',
    '\n',
    '<!--',
    '-->',
    'x',
  )
  const html = fc.array(fc.oneof(piece, fc.string({ unit: 'binary' })), { maxLength: 60 }).map((all) => all.join(''))
  fc.assert(
    fc.property(html, (source) => {
      for (const { start, end, attributes } of read(source).tags) {
        assert.equal(source[start], '<')
        assert.equal(source[end - 1], '>')
        for (const attribute of attributes) {
          assert.ok(attribute.start <= attribute.end && attribute.end < end, source)
          const written = source.slice(attribute.start, attribute.end)
          if (!written.includes('&')) assert.equal(attribute.value, written, source)
        }
      }
    }),
  )
  t.end()
})

t.test('256 KB of anything take milliseconds', async (t) => {
  const pieces = [
    '<a href="',
    '<a ',
    '<a b=&',
    '<',
    '</',
    '<!--',
    '<![CDATA[',
    '&amp',
    '&',
    '<title>',
    '<script',
    '</b>',
  ]
  for (const piece of [...pieces, '<x y=z>', '<x y=1 ', ' = ']) {
    const before = performance.now()
    read(piece.repeat(Math.floor(262_144 / piece.length)))
    const took = performance.now() - before
    t.ok(took < 1_000, `${piece}: ${took} ms`)
  }
})
