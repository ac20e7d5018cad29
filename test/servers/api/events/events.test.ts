/** Cursors that clients may send to the lists of events: whatever they hold, nothing of another workspace is shown. */
import fc from 'fast-check'
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { buildEventWrite } from '../../../helpers/database/store-events.js'

interface Page {
  readonly data: readonly { readonly id: string; readonly recipient: string }[]
  readonly next_cursor: string | null
}

const encode = (text: string): string => Buffer.from(text).toString('base64url')

const app = await testDaemon(t)
const workspaces = [app.workspaceId, app.otherWorkspaceId]
await app.daemon.database.commit(
  Array.from({ length: 40 }, (_, at) =>
    buildEventWrite({
      workspaceId: workspaces[at % 2] ?? '',
      type: 'email.sent',
      emailId: `e${at % 2}`,
      recipient: `r${at % 2}@b.test`,
      at,
    }),
  ),
)

t.test('any cursor is refused or begins a page of own events', async (t) => {
  const cursor = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'binary' }).map(encode),
    fc.integer().map((seq) => encode(String(seq))),
    fc.double().map((seq) => encode(String(seq))),
    fc
      .constantFrom('0', '00', '1e3', '9'.repeat(15), '9'.repeat(16), '9'.repeat(400), '-1', ' 1', '1\n', '١')
      .map(encode),
    fc.nat({ max: 50 }).map((seq) => encode(String(seq))),
  )
  let pages = 0
  await fc.assert(
    fc.asyncProperty(cursor, async (given) => {
      const text = Buffer.from(given).toString()
      const answer = await app.rest('GET', `/v1/events?limit=100&cursor=${encodeURIComponent(text)}`)
      if (answer.status === 400) {
        t.match(answer.json(), { error: { details: { errors: [{ field: 'cursor' }] } } })
        return
      }
      t.equal(answer.status, 200, answer.text)
      pages += 1
      t.ok(answer.json<Page>().data.every(({ recipient }) => recipient === 'r0@b.test'))
    }),
    { numRuns: 150 },
  )
  t.ok(pages > 10, `${pages} were places`)
  t.same(app.errors, [])
})

t.test("another workspace's cursor is only a place", async (t) => {
  const own = (await app.rest('GET', '/v1/events?limit=5', { key: app.otherKey })).json<Page>()
  const answer = await app.rest('GET', `/v1/events?limit=100&cursor=${own.next_cursor}`)
  const { data } = answer.json<Page>()
  t.ok(data.length > 0 && data.length < 20)
  t.ok(data.every(({ recipient }) => recipient === 'r0@b.test'))
})

t.test('filters of one workspace find nothing of the other', async (t) => {
  for (const query of ['recipient=r1@b.test', 'email_id=e1', 'email_id=e1&recipient=r1@b.test']) {
    t.same((await app.rest('GET', `/v1/events?${query}`)).json<Page>().data, [], query)
  }
  const types = (await app.rest('GET', '/v1/events?type=sent')).json()
  t.match(types, {
    error: {
      details: { errors: [{ field: 'type', message: /^allowed: email\.queued, email\.suppressed, email\.sent, / }] },
    },
  })
})
