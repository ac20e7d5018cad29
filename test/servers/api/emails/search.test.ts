/** The list of emails of the pages: by a complete address along an index, with those of broadcasts, in both orders. */
import t from 'tap'
import { sendToFive, startWithRecipients } from '../../../helpers/broadcasts/sent-to-five.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'

interface Found {
  readonly data: readonly { readonly id: string; readonly subject: string; readonly broadcast_id: string | null }[]
  readonly next_cursor: string | null
  readonly with_broadcasts: boolean
}

const { app } = await startWithRecipients(t)
await givePassword(app)
const browser = openBrowser(app)
await browser.signIn('owner@a.test')

async function find(query: Readonly<Record<string, string>>): Promise<Found> {
  const answer = await browser.ask('GET', `/emails?${new URLSearchParams(query)}`)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json<Found>()
}

const subjectsOf = ({ data }: Found): readonly string[] => data.map(({ subject }) => subject)

/** The subjects of all pages. */
async function findAll(query: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const subjects: string[] = []
  let cursor: string | null = ''
  do {
    const page: Found = await find({ ...query, limit: '1', ...(cursor === '' ? {} : { cursor }) })
    t.ok(page.data.length <= 1)
    subjects.push(...subjectsOf(page))
    cursor = page.next_cursor
  } while (cursor !== null)
  return subjects
}

async function send(to: readonly string[], subject: string, key = app.key): Promise<void> {
  const from = key === app.key ? 'app@a.test' : 'app@other.test'
  const answer = await app.rest('POST', '/v1/emails', { key, body: { from, to, subject, text: 'x' } })
  await app.waitUntilSettled(answer.json<{ readonly id: string }>().id)
  app.advance(1_000)
}

await send(['ann@b.test'], 'First')
await send(['ann@b.test', 'bob@b.test', 'carl@gone.test'], 'Second')
await app.rest('DELETE', '/v1/suppressions/carl@gone.test')
const broadcast = await sendToFive(app)
await send(['ann@b.test'], 'Third')
await send(['ann@b.test'], 'Of others', app.otherKey)

t.test('a complete address finds all emails to it, each once, those of broadcasts too', async (t) => {
  const found = await find({ recipient: 'ANN@b.test' })
  t.same(subjectsOf(found), ['Third', 'News for ann', 'Second', 'First'])
  t.same(
    found.data.map(({ broadcast_id: id }) => id),
    [null, broadcast, null, null],
  )
  t.equal(found.with_broadcasts, true)
  t.same(subjectsOf(await find({ text: 'ann@b.test' })), subjectsOf(found), 'the field of the search finds the same')
  t.same(subjectsOf(await find({ recipient: 'carl@gone.test', status: 'bounced' })), ['News for car', 'Second'])
  t.same(subjectsOf(await find({ recipient: 'ann@b.test', subject: 'news' })), ['News for ann'])
  t.same(subjectsOf(await find({ recipient: 'nn@b.test' })), [], 'it is no part of another address')
})

t.test('the pages of an address and of a walk have every email once, in both orders', async (t) => {
  const ofAnn = ['First', 'Second', 'News for ann', 'Third']
  t.same(await findAll({ recipient: 'ann@b.test', order: 'oldest' }), ofAnn)
  t.same(await findAll({ recipient: 'ann@b.test' }), ofAnn.toReversed())
  t.same(await findAll({ order: 'oldest' }), ['First', 'Second', 'Third'])
  t.same(await findAll({}), ['Third', 'Second', 'First'])
  const all = await findAll({ broadcasts: 'all' })
  t.equal(all.length, 8)
  t.same(await findAll({ broadcasts: 'all', order: 'oldest' }), all.toReversed())
  t.equal((await findAll({ broadcast_id: broadcast })).length, 5, 'the cursor of an email of a broadcast is accepted')
})

t.test('emails of broadcasts are compared if that is asked for, with each filter', async (t) => {
  const without = await find({ subject: 'news' })
  t.match([subjectsOf(without), without.with_broadcasts], [[], false])
  t.equal((await find({ subject: 'news', broadcasts: 'all' })).data.length, 5)
  t.same(subjectsOf(await find({ recipient: 'carl@', broadcasts: 'all' })), ['News for car', 'Second'])
  t.same(subjectsOf(await find({ status: 'bounced', broadcasts: 'all' })), ['News for car', 'Second'])
  t.equal((await find({ status: 'delivered', broadcasts: 'all', order: 'oldest' })).data.length, 7)
})

t.test('a text that looks like an address and is a Message-ID is found as one', async (t) => {
  const [row] = await app.rows<{ message_id: string }>(`select message_id from emails where subject = 'Third'`)
  t.same(subjectsOf(await find({ text: row?.message_id ?? '' })), ['Third'])
})

t.test('emails of one key are found, the oldest first too', async (t) => {
  const [row] = await app.rows<{ key_id: string }>(`select key_id from emails where subject = 'Third'`)
  const id = row?.key_id ?? ''
  t.same(subjectsOf(await find({ key_id: id, order: 'oldest', limit: '1' })), ['First'])
  t.same(subjectsOf(await find({ key_id: id, recipient: 'bob@b.test' })).includes('Second'), true)
  t.same(subjectsOf(await find({ key_id: 'another' })), [])
})

t.test('an email that is gone is in no list, and two ways to name broadcasts are refused', async (t) => {
  const both = new URLSearchParams({ broadcast_id: broadcast, broadcasts: 'all' })
  t.equal((await browser.ask('GET', `/emails?${both}`)).status, 400)
  await app.daemon.database.commit([{ sql: `delete from emails where subject = 'First'`, parameters: [] }])
  t.same(subjectsOf(await find({ recipient: 'ann@b.test' })), ['Third', 'News for ann', 'Second'])
})
