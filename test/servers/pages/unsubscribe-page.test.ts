/** The page of an unsubscribe link: what it shows of an address, and that nothing in it is markup. */
import t from 'tap'
import { languages } from '../../../src/base/mail/language.js'
import { renderUnsubscribePage, unknownUnsubscribePage } from '../../../src/servers/pages/unsubscribe-page.js'

const stages = ['asks', 'done', 'done-before', 'undone', 'stays'] as const
const scopes = ['mail', 'broadcasts'] as const
const common = { sender: 'app@a.test', scope: 'mail', canUndo: false, language: 'en' } as const

t.test('the address is masked', (t) => {
  const rows: readonly (readonly [address: string, shown: string])[] = [
    ['bob.miller@example.com', 'b…@example.com'],
    ['bob@example.com', 'b…@example.com'],
    ['bo@example.com', '…@example.com'],
    ['b@example.com', '…@example.com'],
    ['"a@b"@example.com', '&quot;…@example.com'],
    ['жук@example.com', 'ж…@example.com'],
  ]
  for (const [address, shown] of rows) {
    for (const stage of stages) {
      const { html } = renderUnsubscribePage({ ...common, address }, stage)
      t.ok(html.includes(`<b>${shown}</b>`), `${address}: ${stage}`)
      t.notOk(html.includes(address))
    }
  }
  t.end()
})

t.test('no value is markup, no page has a script, and only the question has a form', (t) => {
  for (const stage of stages) {
    for (const scope of scopes) {
      const sender = `<script>"&'@a.test`
      const page = renderUnsubscribePage({ ...common, address: 'bob@b.test', sender, scope }, stage)
      t.notMatch(page.html, /<script|<img|<link/)
      t.match(page.html, /<b>&lt;script&gt;&quot;&amp;&#39;@a\.test<\/b>/)
      t.equal(/<form/.test(page.html), stage === 'asks')
      t.match(page, { status: 200, headers: { 'Referrer-Policy': 'same-origin', 'X-Frame-Options': 'DENY' } })
    }
  }
  t.match(unknownUnsubscribePage, { status: 404, html: /<h1>This link does not work<\/h1>/ })
  t.end()
})

t.test('each language has sentences of its own with both values', (t) => {
  const titles = new Set<string>()
  for (const language of languages) {
    for (const stage of stages) {
      for (const scope of scopes) {
        const { html } = renderUnsubscribePage({ ...common, address: 'bob@b.test', scope, language }, stage)
        t.match(html, `<html lang="${language}">`)
        t.match(html, '<b>b…@b.test</b>')
        t.match(html, '<b>app@a.test</b>')
        t.notMatch(html, /[{}](?:address|sender)/)
        titles.add(`${stage} ${/<h1>(.+)<\/h1>/.exec(html)?.[1]}`)
      }
    }
  }
  t.equal(titles.size, languages.length * stages.length)
  t.end()
})

t.test('after a broadcast the page offers to undo, as long as that is possible', (t) => {
  const shown = { ...common, address: 'bob@b.test', scope: 'broadcasts' } as const
  const button = /<form method="post">[\s\S]*<button name="undo" value="1">Subscribe again<\/button>/
  for (const stage of ['done', 'done-before'] as const) {
    t.match(renderUnsubscribePage({ ...shown, canUndo: true }, stage).html, button)
    const late = renderUnsubscribePage(shown, stage).html
    t.notMatch(late, /<form/)
    t.match(late, /cannot be undone here/)
  }
  t.match(renderUnsubscribePage(shown, 'asks').html, /link for a new password, still arrive/)
  t.match(renderUnsubscribePage(shown, 'undone').html, /<h1>You are subscribed<\/h1>/)
  t.match(renderUnsubscribePage({ ...shown, sender: null }, 'stays').html, /ask <b>the sender of this message<\/b>/)
  t.end()
})
