/** Contacts by the beginning of their address: order, pages, audiences, and how much one search reads. */
import t from 'tap'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { type AddressPlace, searchContacts } from '../../../src/workspaces/audiences/contact-search.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { plansOfSqlite, skipOnPostgres } from '../../helpers/database/test-engine.js'

const { database } = await temporaryDatabase(t)
const { read, commit } = database

const insertMany = `
  with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
  insert into contacts (id, workspace_id, audience_id, email, email_key, subscribed, metadata, created_at, updated_at)
  select ? || '-' || number, 'ws', ?, ? || number || '@b.test', ? || number || '@b.test', 1, '{}', 0, 0
  from (select substr(cast(1000000 + i as text), 2) as number from n) as numbers`

async function storeContacts(audience: string | null, start: string, count: number): Promise<void> {
  await commit([{ sql: insertMany, parameters: [count, `${audience}-${start}`, audience, start, start] }])
}

await storeContacts('large', 'a', 5_000)
await storeContacts('small', 'a', 3)
await storeContacts('small', 'z', 3)
await storeContacts(null, 'a', 2)

async function searchAll(audienceId: string | null, prefix: string, limit: number): Promise<readonly string[]> {
  const found: string[] = []
  for (let after: AddressPlace | null = null; ; ) {
    const page = await searchContacts(read, { workspaceId: 'ws', audienceId }, { prefix, after, limit })
    found.push(...page.map(({ email_key: key, audience_id: audience }) => `${key} ${audience ?? ''}`))
    const last = page.at(-1)
    if (last === undefined) return found
    after = { key: last.email_key, audience: last.audience_id ?? '' }
  }
}

t.test('pages have every contact once, in the order of addresses', async (t) => {
  const small = ['a000001@b.test small', 'a000002@b.test small', 'a000003@b.test small']
  t.same(await searchAll('small', 'A', 2), small)
  t.same(await searchAll('small', 'a000002@b.test', 2), ['a000002@b.test small'])
  t.same(await searchAll('small', 'b', 2), [])
  t.same(await searchAll(null, 'a000002@b.test', 1), [
    'a000002@b.test ',
    'a000002@b.test large',
    'a000002@b.test small',
  ])
  t.same((await searchAll(null, 'a00000', 2)).slice(0, 4), [
    ...['a000001@b.test ', 'a000001@b.test large', 'a000001@b.test small', 'a000002@b.test '],
  ])
  t.equal((await searchAll(null, 'a', 1_000)).length, 5_005)
})

t.test(
  'a search in a small audience reads its own contacts, not those of the workspace',
  { skip: skipOnPostgres(plansOfSqlite) },
  async (t) => {
    const places: string[] = []
    const readAndExplain: Read = async (sql, parameters) => {
      const plan = await read<{ detail: string }>(`explain query plan ${sql}`, parameters)
      places.push(...plan.map(({ detail }) => detail))
      return read(sql, parameters)
    }
    const filter = { workspaceId: 'ws', audienceId: 'small' }
    t.equal((await searchContacts(readAndExplain, filter, { prefix: 'z', after: null, limit: 25 })).length, 3)
    t.same(places, [
      'SEARCH contacts USING INDEX contacts_of_audience_by_address ' +
        '(workspace_id=? AND audience_id=? AND email_key>? AND email_key<?)',
    ])
  },
)
