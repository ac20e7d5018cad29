/** How much a search of contacts by parts and by state reads, and where it continues. */
import t from 'tap'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { type ContactWalk, walkContacts } from '../../../src/workspaces/audiences/contact-walk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { plansOfSqlite, skipOnPostgres } from '../../helpers/database/test-engine.js'

const { database } = await temporaryDatabase(t)
const { read, commit } = database
const COUNT = 30_000

const insertMany = `
  with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
  insert into contacts (id, workspace_id, audience_id, email, email_key, subscribed, metadata, created_at, updated_at)
  select number, 'ws', 'aud', number || '@b.test', number || '@b.test', case when i % 5000 = 1 then 0 else 1 end, '{}', 0, 0
  from (select i, substr(cast(1000000 + i as text), 2) as number from n) as numbers`
await commit([{ sql: insertMany, parameters: [COUNT] }])

const all: ContactWalk = { workspaceId: 'ws', audienceId: null, part: null, state: null, without: null }
const TOP = 'g'

t.test('a request compares 25,000 contacts, and the next one continues there', async (t) => {
  const walk = { ...all, part: '000003@' }
  const first = await walkContacts(read, walk, { before: TOP, limit: 10 })
  t.same(first, { contacts: [], next: '005001' })
  const second = await walkContacts(read, walk, { before: first.next ?? '', limit: 10 })
  t.match(second, { contacts: [{ id: '000003' }], next: null })
})

t.test('pages have each contact once, newest first', async (t) => {
  const found: string[] = []
  let before: string | null = TOP
  while (before !== null) {
    const page = await walkContacts(read, { ...all, audienceId: 'aud', part: '77' }, { before, limit: 40 })
    t.ok(page.contacts.length <= 40)
    found.push(...page.contacts.map(({ id }) => id))
    before = page.next
  }
  const numbers = Array.from({ length: COUNT }, (_, at) => String(1_000_000 + COUNT - at).slice(1))
  t.same(
    found,
    numbers.filter((id) => id.includes('77')),
  )
  t.same(await walkContacts(read, { ...all, workspaceId: 'other' }, { before: TOP, limit: 5 }), {
    contacts: [],
    next: null,
  })
})

t.test(
  'the few unsubscribed are found along an index of their own',
  { skip: skipOnPostgres(plansOfSqlite) },
  async (t) => {
    const places = new Set<string>()
    const readAndExplain: Read = async (sql, parameters) => {
      const plan = await read<{ detail: string }>(`explain query plan ${sql}`, parameters)
      for (const { detail } of plan) places.add(/INDEX (\w+)/.exec(detail)?.[1] ?? detail)
      return read(sql, parameters)
    }
    for (const audienceId of [null, 'aud']) {
      const walk = { ...all, audienceId, state: 'unsubscribed' as const }
      t.equal((await walkContacts(readAndExplain, walk, { before: TOP, limit: 50 })).contacts.length, 6)
    }
    t.same([...places].toSorted(), ['contacts_of_audience_unsubscribed', 'contacts_unsubscribed'])
  },
)
