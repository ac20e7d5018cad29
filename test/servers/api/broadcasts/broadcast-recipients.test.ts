/** The recipients of a broadcast by what became of their messages, and their export. */
import { parse } from 'csv-parse/sync'
import t from 'tap'
import type { ErrorBody } from '../../../../src/servers/api/http/error-answer.js'
import { sendToFive, startWithRecipients } from '../../../helpers/broadcasts/sent-to-five.js'
import type { TestDaemon } from '../../../helpers/daemon/test-daemon.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import { waitUntil } from '../../../helpers/wait-until.js'

interface Listed {
  readonly data: readonly { readonly to: string; readonly contact_id: string | null; readonly status: string | null }[]
  readonly next_cursor: string | null
  readonly removed: boolean
}

const list = async (app: TestDaemon, id: string, query = ''): Promise<Listed> =>
  (await app.rest('GET', `/v1/broadcasts/${id}/recipients${query}`)).json()

const namesOf = ({ data }: Listed): readonly string[] => data.map(({ to }) => to.slice(0, to.indexOf('@'))).sort()

t.test('each outcome has the recipients that the count of its name counts', async (t) => {
  const { app } = await startWithRecipients(t)
  const check = schemaCheck(app.daemon.routes)
  const id = await sendToFive(app)
  const all = await app.rest('GET', `/v1/broadcasts/${id}/recipients`)
  t.same([all.status, check('GET /broadcasts/:id/recipients', all)], [200, []])
  t.same(namesOf(all.json()), ['ann', 'bob', 'carl', 'dan', 'eve'])
  const expected = {
    ...{ sent: ['ann', 'bob', 'carl', 'dan', 'eve'], delivered: ['ann', 'bob', 'dan', 'eve'], opened: ['ann'] },
    ...{ clicked: ['eve'], bounced: ['carl'], unsubscribed: ['dan'], complained: [], failed: [], cancelled: [] },
    queued: [],
  }
  for (const [status, names] of Object.entries(expected)) {
    t.same(namesOf(await list(app, id, `?status=${status}`)), names, status)
  }
  t.match(await list(app, id, '?status=bounced'), {
    data: [{ to: 'carl@gone.test', status: 'bounced', bounced_at: /Z$/, response: /^550/, opened_at: null }],
    removed: false,
  })
  t.match(await list(app, id, '?status=opened'), { data: [{ status: 'delivered', opened_at: /Z$/, clicked_at: null }] })

  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await list(app, id, `?status=sent&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`)
    seen.push(...page.data.map(({ to }) => to))
    cursor = page.next_cursor
  }
  t.same([seen.length, new Set(seen).size], [5, 5], 'in pages, nobody twice and nobody left out')

  const foreign = await app.rest('GET', `/v1/broadcasts/${id}/recipients`, { key: app.otherKey })
  t.equal(foreign.json<ErrorBody>().error.code, 'not_found')
  for (const query of ['status=lost', 'cursor=eA', 'limit=0']) {
    const refused = await app.rest('GET', `/v1/broadcasts/${id}/recipients?${query}`)
    t.equal(refused.json<ErrorBody>().error.code, 'validation_error', query)
  }
  t.same(app.errors, [])
})

t.test('emails that were removed are not listed, and the answer says so', async (t) => {
  const { app } = await startWithRecipients(t)
  const id = await sendToFive(app)
  await app.daemon.database.commit([{ sql: 'delete from emails', parameters: [] }])
  t.match(await list(app, id), { data: [], removed: true })
  t.match(await list(app, id, '?status=unsubscribed'), {
    data: [{ to: 'dan@b.test', status: null, unsubscribed_at: /Z$/ }],
    removed: true,
  })
  t.same(app.errors, [])
})

t.test('the recipients of one outcome, or all, are exported', async (t) => {
  const { app } = await startWithRecipients(t)
  const broadcast_id = await sendToFive(app)
  const exportRows = async (more: object): Promise<Record<string, string>[]> => {
    const asked = await app.rest('POST', '/v1/exports', {
      body: { type: 'broadcast_recipients', broadcast_id, ...more },
    })
    t.equal(asked.status, 202, asked.text)
    const id = asked.json<{ readonly data: { readonly export_id: string } }>().data.export_id
    const answer = await waitUntil('the export is there', async () => {
      const file = await app.rest('GET', `/v1/exports/${id}/download`)
      return file.status === 200 && file
    })
    return parse(answer.text, { columns: true, record_delimiter: '\r\n' }) as Record<string, string>[]
  }
  const all = await exportRows({})
  t.same(all.map(({ to }) => to).sort(), ['ann@b.test', 'bob@b.test', 'carl@gone.test', 'dan@b.test', 'eve@b.test'])
  t.match(
    all.find(({ to }) => to === 'ann@b.test'),
    { status: 'delivered', opened_at: /Z$/, clicked_at: '', response: /^250/ },
  )
  t.same(
    (await exportRows({ status: 'unsubscribed' })).map(({ to }) => to),
    ['dan@b.test'],
  )

  const day = { from_date: '2026-01-01', to_date: '2026-01-02' }
  for (const [body, field] of [
    [{ type: 'broadcast_recipients' }, 'broadcast_id'],
    [{ type: 'broadcast_recipients', broadcast_id, ...day }, 'from_date'],
    [{ type: 'opens', ...day, broadcast_id }, 'broadcast_id'],
    [{ type: 'opens', to_date: '2026-01-02' }, 'from_date'],
  ] as const) {
    const refused = await app.rest('POST', '/v1/exports', { body })
    t.equal(refused.status, 400)
    t.match(refused.text, `"${field}"`, JSON.stringify(body))
  }
  const foreign = await app.rest('POST', '/v1/exports', {
    key: app.otherKey,
    body: { type: 'broadcast_recipients', broadcast_id },
  })
  t.equal(foreign.json<ErrorBody>().error.code, 'not_found')
  t.same(app.errors, [])
})
