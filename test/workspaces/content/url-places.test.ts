/** Values in a part of a URL: which variables are encoded, and how. */
import t from 'tap'
import { renderPreview, renderTemplate } from '../../../src/workspaces/content/render-template.js'
import { parseTemplate } from '../../../src/workspaces/content/template-cache.js'

const data = {
  x: `a b&c/d?e#f=1%2F'é+@`,
  url: 'https://a.test/?q=1&r=%20',
  host: 'shop.test',
  mail: 'a+b@x.test',
  lone: '\ud800',
}
const query = 'a%20b%26c%2Fd%3Fe%23f%3D1%252F%27%C3%A9%2B%40'
const path = 'a%20b&c/d%3Fe%23f=1%252F%27%C3%A9+@'
const plain = data.x
const html = (text: string): string => text.replaceAll('&', '&amp;').replaceAll("'", '&#39;')

const render = (field: 'html' | 'text', body: string): string | null =>
  renderTemplate(
    parseTemplate({ id: 't', subject: '', html: null, text: null, [field]: body }),
    data,
    'https://u.test/?a=b',
  )[field]

const inHtml: readonly (readonly [template: string, rendered: string])[] = [
  ['<a href="https://a.test/?q={{x}}">{{x}}</a>', `<a href="https://a.test/?q=${query}">${html(plain)}</a>`],
  ['<a href="?a={{x}}&amp;b={{mail}}">', `<a href="?a=${query}&amp;b=a%2Bb%40x.test">`],
  [
    "<img alt='{{x}}' src='https://a.test/i/{{x}}.png'>",
    `<img alt='${html(plain)}' src='https://a.test/i/${html(path)}.png'>`,
  ],
  ['<a href="/x#{{x}}">', `<a href="/x#${query}">`],
  ['<a href="/{{x}}?q={{x}}">', `<a href="/${html(path)}?q=${query}">`],
  ['<a href="/a&#38;{{x}}">', `<a href="/a&#38;${html(path)}">`],
  ['<a\n HREF = https://a.test?q={{x}}>{{x}}', `<a\n HREF = https://a.test?q=${query}>${html(plain)}`],
  ['<a title="a > b <" href="?{{x}}">', `<a title="a > b <" href="?${query}">`],
  ['<a title="{{x}}" class={{host}} href="?{{x}}">', `<a title="${html(plain)}" class=shop.test href="?${query}">`],
  ['<!--[if mso]><a href="?{{x}}"><![endif]-->', `<!--[if mso]><a href="?${query}"><![endif]-->`],
  ['<a href="?{{x|}}{{none|a b}}">', `<a href="?${query}a%20b">`],
  ['<a href="{{url}}">', '<a href="https://a.test/?q=1&amp;r=%20">'],
  ['<a href=" {{url}} ">', '<a href=" https://a.test/?q=1&amp;r=%20 ">'],
  ['<a href="{{url}}&amp;s={{x}}">', `<a href="https://a.test/?q=1&amp;r=%20&amp;s=${query}">`],
  ['<a href="{{host}}/{{x}}?{{x}}">', `<a href="shop.test/${html(path)}?${query}">`],
  ['<a href="https://{{host}}/{{x}}">', `<a href="https://shop.test/${html(path)}">`],
  ['<a href="https:{{host}}">', '<a href="https:shop.test">'],
  ['<a href="{{none|https}}://{{host}}:{{none|80}}/{{x}}">', `<a href="https://shop.test:80/${html(path)}">`],
  ['<a href="mailto:{{mail}}?subject={{x}}">', `<a href="mailto:a+b@x.test?subject=${query}">`],
  ['<a href="?q={{{url}}}">', `<a href="?q=${data.url}">`],
  ['<a href="?q={{lone}}">', '<a href="?q=%EF%BF%BD">'],
  [
    '<a href="{{unsubscribe_url}}"><a href="?u={{unsubscribe_url}}">',
    '<a href="https://u.test/?a=b"><a href="?u=https://u.test/?a=b">',
  ],
]

t.test('in HTML, a value is encoded for the part of the URL in which it stands', async (t) => {
  for (const [template, rendered] of inHtml) t.equal(render('html', template), rendered, template)
})

const inText: readonly (readonly [template: string, rendered: string])[] = [
  ['see https://a.test/?q={{x}}, {{x}}', `see https://a.test/?q=${query}, ${plain}`],
  ['(https://a.test/{{x}}) {{x}}', `(https://a.test/${path}) ${plain}`],
  ['<https://a.test/#{{x}}>{{x}}', `<https://a.test/#${query}>${plain}`],
  ['https://a.test/x、{{x}}', `https://a.test/x、${plain}`],
  ['https://a.test/?a={{x}}&b={{x}}', `https://a.test/?a=${query}&b=${query}`],
  ['https://{{host}}/?q={{x}}', `https://shop.test/?q=${query}`],
  ['{{url}} {{x}}', `${data.url} ${plain}`],
  ['{{url}}/reset?t={{x}}&u={{x}}', `${data.url}/reset?t=${query}&u=${query}`],
  ['{{host}}/{{x}} {{host}}? {{x}}', `shop.test/${plain} shop.test? ${plain}`],
  ['https://a.test/?q={{{x}}}', `https://a.test/?q=${plain}`],
  ['mailto:{{mail}}?subject={{x}}', `mailto:a+b@x.test?subject=${query}`],
]

t.test('in text, a value is encoded in a bare URL', async (t) => {
  for (const [template, rendered] of inText) t.equal(render('text', template), rendered, template)
})

t.test('a subject has no URLs, and what a preview lacks stands for itself', async (t) => {
  const template = parseTemplate({ id: 't', subject: 'https://a.test/?{{x}}', html: '<a href="?{{y}}">', text: null })
  const { subject, html: body } = renderPreview(template, { x: 'a b' }, '')
  t.same([subject, body], ['https://a.test/?a b', '<a href="?{{y}}">'])
})

t.test('the size that is announced before rendering bounds encoded values too', async (t) => {
  const body = '<a href="/?{{a}}">'.repeat(100)
  const template = parseTemplate({ id: 't', subject: '', html: body, text: null })
  t.throws(() => renderTemplate(template, { a: 'é'.repeat(30_000) }, ''), { message: /bytes, allowed/ })
})

t.test('variables behind 100,000 tags and attributes count as outside of URLs', async (t) => {
  const rest = '<a href="?{{x}}">'
  t.ok(render('html', '<b>'.repeat(30_000) + rest)?.endsWith(`?${query}">`))
  t.ok(render('html', '<b>'.repeat(60_000) + rest)?.endsWith(`?${html(plain)}">`))
})
