/** The page of an unsubscribe link: what it shows of an address, and that nothing in it is markup. */
import t from 'tap'
import { renderUnsubscribePage, unknownUnsubscribePage } from '../../src/pages/unsubscribe-page.js'

const stages = ['asks', 'done', 'done-before'] as const

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
      const { html } = renderUnsubscribePage({ address, sender: 'app@a.test' }, stage)
      t.ok(html.includes(`<b>${shown}</b>`), `${address}: ${stage}`)
      t.notOk(html.includes(address))
    }
  }
  t.end()
})

t.test('no value is markup, no page has a script, and only the question has a form', (t) => {
  for (const stage of stages) {
    const sender = `<script>"&'@a.test`
    const page = renderUnsubscribePage({ address: 'bob@b.test', sender }, stage)
    t.notMatch(page.html, /<script|<img|<link/)
    t.match(page.html, /<b>&lt;script&gt;&quot;&amp;&#39;@a\.test<\/b>/)
    t.equal(/<form/.test(page.html), stage === 'asks')
    t.match(page, { status: 200, headers: { 'Referrer-Policy': 'same-origin', 'X-Frame-Options': 'DENY' } })
  }
  t.match(unknownUnsubscribePage, { status: 404, html: /<h1>This link does not work<\/h1>/ })
  t.end()
})
