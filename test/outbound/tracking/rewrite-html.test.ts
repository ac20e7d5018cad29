/** Links and the pixel in HTML: what changes, what stays, and that the way back is exact. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import t from 'tap'
import { restoreHtml } from '../../../src/outbound/tracking/restore-html.js'
import { rewriteHtml } from '../../../src/outbound/tracking/rewrite-html.js'
import { buildClickUrl, buildPixel } from '../../../src/outbound/tracking/tracked-urls.js'

const emailId = '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee'
const base = 'https://mail.test'
const pixel = buildPixel(base, emailId)

interface Tracked {
  readonly html: string
  readonly edits: readonly string[]
  /** Decoded, in their order. */
  readonly hrefs: readonly string[]
}

const idOf = (number: number): string => number.toString(32).padStart(36, '0')

/** Every absolute http URL is tracked; equal ones to the same link. */
function track(html: string, withPixel = true): Tracked {
  const hrefs: string[] = []
  const ids = new Map<string, string>()
  const trackLink = (href: string): { id: string; href: string } | null => {
    if (!/^https?:\/\//i.test(href)) return null
    hrefs.push(href)
    const id = ids.get(href) ?? idOf(ids.size)
    ids.set(href, id)
    return { id, href: buildClickUrl(base, id) }
  }
  return { ...rewriteHtml(html, { pixel: withPixel ? pixel : null, trackLink }), hrefs }
}

const url = (number: number): string => buildClickUrl(base, idOf(number))

t.test('links', async (t) => {
  const table: readonly [string, string][] = [
    ['<a href="http://a.test/">', `<a href="${url(0)}">`],
    ['<svg><style/></svg><a href="http://a.test/">', '<svg><style/></svg><a href="http://a.test/">'],
    ['<svg><style></style></svg><a href="http://a.test/">', `<svg><style></style></svg><a href="${url(0)}">`],
    ["<A\nHREF = 'http://a.test/'>", `<A\nHREF = '${url(0)}'>`],
    ['<a href=http://a.test/>', `<a href="${url(0)}">`],
    ['<a href=http://a.test/ id=x>', `<a href="${url(0)}" id=x>`],
    ['<a href="http://a.test/?b&amp;c&#61;d">', `<a href="${url(0)}">`],
    ['<a href="&#104;ttp://a.test/">', `<a href="${url(0)}">`],
    ['<area href="http://a.test/" shape=rect>', `<area href="${url(0)}" shape=rect>`],
    ['<a href="http://a.test/"/>', `<a href="${url(0)}"/>`],
    ['<a href="x" href="http://a.test/">', '<a href="x" href="http://a.test/">'],
    ['<a href="http://a.test/" href="http://b.test/">', `<a href="${url(0)}" href="http://b.test/">`],
    ['<a href=http://a.test/><a href="http://b.test/">', `<a href="${url(0)}"><a href="${url(1)}">`],
    ['<a href="http://a.test/"><a href=http://a.test/>', `<a href="${url(0)}"><a href="${url(0)}">`],
    [`<a title='<a href="http://a.test/">'>`, `<a title='<a href="http://a.test/">'>`],
    [
      '<link href="http://a.test/"><base href="http://b.test/">',
      '<link href="http://a.test/"><base href="http://b.test/">',
    ],
    [
      '<img src="http://a.test/"><form action="http://b.test/">',
      '<img src="http://a.test/"><form action="http://b.test/">',
    ],
    ['<a href><a href=""><a href=>', '<a href><a href=""><a href=>'],
    ['<!-- <a href="http://a.test/"> -->', '<!-- <a href="http://a.test/"> -->'],
    ['<!--[if mso]><a href="http://a.test/"><![endif]-->', '<!--[if mso]><a href="http://a.test/"><![endif]-->'],
    [
      '<!--[if !mso]><!--><a href="http://a.test/"><!--<![endif]-->',
      `<!--[if !mso]><!--><a href="${url(0)}"><!--<![endif]-->`,
    ],
    ['<![if !mso]><a href="http://a.test/"><![endif]>', `<![if !mso]><a href="${url(0)}"><![endif]>`],
    ...['script', 'style', 'title', 'textarea', 'xmp', 'iframe', 'noembed', 'noframes', 'noscript'].map(
      (name): [string, string] => [
        `<${name}><a href="http://a.test/"></${name}><a href="http://b.test/">`,
        `<${name}><a href="http://a.test/"></${name}><a href="${url(0)}">`,
      ],
    ),
    ['<script/><a href="http://a.test/"></script>', '<script/><a href="http://a.test/"></script>'],
    ['<plaintext><a href="http://a.test/"></plaintext>', '<plaintext><a href="http://a.test/"></plaintext>'],
    ['<a href="http://a.test/', '<a href="http://a.test/'],
    [`<a href="http://a.test/${'x'.repeat(8_192)}">`, `<a href="http://a.test/${'x'.repeat(8_192)}">`],
    [`<a ${'x '.repeat(999)}href="http://a.test/">`, `<a ${'x '.repeat(999)}href="${url(0)}">`],
    [`<a ${'x '.repeat(1_000)}href="http://a.test/">`, `<a ${'x '.repeat(1_000)}href="http://a.test/">`],
  ]
  for (const [html, expected] of table) {
    const { html: tracked, edits } = track(html, false)
    t.equal(tracked, expected, html.slice(0, 80))
    t.equal(restoreHtml(tracked, emailId, edits), html)
  }
})

t.test('the pixel', async (t) => {
  const table: readonly [string, string][] = [
    ['', '@'],
    ['<p>x', '<p>x@'],
    ['<p>x &amp; y', '<p>x &amp; y@'],
    ['<body><p>x</p></body></html>\n', '<body><p>x</p>@</body></html>\n'],
    ['x</BODY >y</body>z', 'x</BODY >y@</body>z'],
    ['x</body><!-- </body> --><script></body></script>', 'x@</body><!-- </body> --><script></body></script>'],
    ['x</ body>', 'x</ body>@'],
    ['x</body', 'x@</body'],
    ['x<!-- y', 'x@<!-- y'],
    ['x<!-- y -->', 'x<!-- y -->@'],
    ['x<!doctype', 'x@<!doctype'],
    ['x<p title="</body>', 'x@<p title="</body>'],
    ['<b>x<script>y', '<b>x@<script>y'],
    ['<b>x<noscript>y</body>', '<b>x@<noscript>y</body>'],
    ['1 < 2', '1 @< 2'],
    ['x<', 'x@<'],
    [
      '<a href="http://a.test/">x</a></body><a href="http://a.test/">',
      `<a href="${url(0)}">x</a>@</body><a href="${url(0)}">`,
    ],
    ['<svg><style></style></svg>x', '<svg><style></style></svg>x@'],
    ['<p><svg><style/><path/></svg><p>x</p></body>', '<p>@<svg><style/><path/></svg><p>x</p></body>'],
    ['x<math><mi>y', 'x@<math><mi>y'],
    ['<svg></svg>x<svg><path>', '<svg></svg>x@<svg><path>'],
  ]
  for (const [html, expected] of table) {
    const { html: tracked, edits } = track(html)
    t.equal(tracked, expected.replace('@', pixel), html)
    t.equal(restoreHtml(tracked, emailId, edits), html)
  }
  t.equal(restoreHtml(track('x').html, emailId.replace('0', '1'), []), `x${pixel}`, 'of another email it stays')
})

t.test('one URL that is written in several ways is restored in each', async (t) => {
  const html = '<a href=http://a.test/?b&c><a href="http://a.test/?b&amp;c"><a href="http://a.test/?b&c">'
  const { html: tracked, edits } = track(html)
  t.equal(edits.length, 3)
  t.equal(restoreHtml(tracked, emailId, edits), html)
  t.equal(restoreHtml(`${tracked}${tracked}`, emailId, edits), `${html}${html}`, 'also where it occurs again')
})

/** The tree as a list, without the pixel; links as they were before. */
function readTree(html: string, hrefs: readonly string[]): readonly string[] {
  const events: string[] = []
  let links = 0
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'img' && attributes['src'] === `${base}/v1/track/open/${emailId}`) return
      const isLink = (name === 'a' || name === 'area') && attributes['href']?.startsWith(`${base}/v1/track/click/`)
      events.push(JSON.stringify([name, isLink === true ? { ...attributes, href: hrefs[links++] } : attributes]))
    },
    onclosetag: (name, implied) => name !== 'img' && events.push(`/${name} ${implied}`),
    ontext(text) {
      const last = events.at(-1) ?? ''
      if (last.startsWith('text ')) events[events.length - 1] = last + text
      else events.push(`text ${text}`)
    },
    oncomment: (text) => void events.push(`comment ${text}`),
    onprocessinginstruction: (_name, text) => void events.push(`instruction ${text}`),
  })
  parser.end(html)
  return events
}

const piece = fc.constantFrom(
  ...['<', '>', '"', "'", '=', '/', ' ', '&', ';', '!', '-', '--', '<!--', '-->', '<![CDATA[', ']]>', '<?x', '<!d '],
  ...[
    '<a ',
    '<area ',
    '<A href="',
    '<a href=',
    "<a href='",
    'http://a.test/',
    'https://b.test/?x&amp;y',
    'href=',
    '</a>',
  ],
  ...[
    '<body>',
    '</body>',
    '</body',
    '</ body>',
    '<p>',
    '</p>',
    '<script>',
    '</script>',
    '<style>',
    '</style',
    '<title>',
  ],
  ...[
    '</title>',
    '<textarea>',
    '</textarea>',
    '<noscript>',
    '</noscript>',
    '<svg>',
    '<img>',
    '&#104;',
    '&amp',
    'x',
    '\n',
  ],
  ...['<!--[if mso]>', '<![endif]-->', '<!--[if !mso]><!-->', '<!--<![endif]-->', '{{unsubscribe_url}}', '\u00a0'],
)
const link = fc.constantFrom(
  '<a href="http://a.test/?x&amp;y">',
  '<A HREF=http://a.test/?x&y>',
  "<area id=x href='https://b.test/'/>",
  '<a title="<" href = "http://c.test/&quot;">',
)
const hostile = fc.array(
  fc.oneof({ weight: 9, arbitrary: piece }, { weight: 3, arbitrary: link }, fc.string({ unit: 'binary' })),
  { maxLength: 60, size: 'max' },
)

t.test('of any HTML, only href values and the pixel differ, and the way back is exact', async () => {
  let links = 0
  fc.assert(
    fc.property(hostile, (pieces) => {
      const html = pieces.join('')
      const { html: tracked, edits, hrefs } = track(html)
      links += hrefs.length
      assert.equal(restoreHtml(tracked, emailId, edits), html)
      assert.equal(edits.length, hrefs.length)
      assert.deepEqual(readTree(tracked, hrefs), readTree(html, []))
    }),
  )
  assert.ok(links > 150, `${links} links were rewritten`)
})
