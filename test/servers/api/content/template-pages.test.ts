/** What pages of templates ask under /ui/api: a list without bodies, and previews of what is not stored. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'

const app = await testDaemon(t)
await givePassword(app)
const browser = openBrowser(app)
await browser.signIn('owner@a.test')

t.test('templates are listed without their bodies', async (t) => {
  const body = { name: 'Hello', subject: 'Hello {{name}}', html: '<p>{{city}}</p>' }
  const { id } = (await app.rest('POST', '/v1/templates', { body })).json<{ id: string }>()
  await app.rest('POST', '/v1/templates', { key: app.otherKey, body: { ...body, name: 'Theirs' } })
  const { data } = (await browser.ask('GET', '/templates')).json<{ data: object[] }>()
  t.equal(data.length, 1)
  t.match(data[0], { id, name: 'Hello', subject: 'Hello {{name}}', variables: ['name', 'city'] })
  t.notOk('html' in (data[0] ?? {}))
})

t.test('a preview fills in values and defaults, and names what is missing', async (t) => {
  const words = { subject: 'Hi {{name}}', html: '<b>{{name}}</b> {{user.city}} {{plan|free}} {{{raw}}}', text: null }
  const rows: readonly (readonly [data: object, answer: object])[] = [
    [
      {},
      {
        subject: 'Hi {{name}}',
        html: '<b>{{name}}</b> {{user.city}} free {{raw}}',
        text: null,
        variables: ['name', 'user.city', 'plan', 'raw'],
        missing: ['name', 'user.city', 'raw'],
      },
    ],
    [
      { name: '<i>', user: { city: 'Rome' }, plan: 'pro', raw: '<i>' },
      { subject: 'Hi <i>', html: '<b>&lt;i&gt;</b> Rome pro <i>', text: null, missing: [] },
    ],
    [{ name: { nested: 1 } }, { missing: ['name', 'user.city', 'raw'] }],
  ]
  for (const [data, expected] of rows) {
    const answer = await browser.ask('POST', '/template-previews', { body: { ...words, template_data: data } })
    t.equal(answer.status, 200, answer.text)
    t.match(answer.json(), expected)
  }
})

t.test('an empty draft has a preview, and one that is too long is refused', async (t) => {
  t.match((await browser.ask('POST', '/template-previews', { body: {} })).json(), {
    subject: '',
    html: null,
    missing: [],
  })
  const long = await browser.ask('POST', '/template-previews', { body: { html: 'x'.repeat(1_048_577) } })
  t.equal(long.status, 413)
})

t.test('a link to unsubscribe is a sample', async (t) => {
  const answer = await browser.ask('POST', '/template-previews', { body: { text: '{{unsubscribe_url}}' } })
  t.match(answer.json(), { text: /^https?:\/\/.+preview/, variables: [] })
})
