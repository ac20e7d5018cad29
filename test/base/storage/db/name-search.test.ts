/** Names among many rows: every match of the newest ones, and nothing of other workspaces. */
import t from 'tap'
import { searchAudiences } from '../../../../src/workspaces/audiences/audience-search.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const { database } = await temporaryDatabase(t)
const { read, commit } = database

const idOf = (n: number): string => `0197b9e5-5c1c-7cf4-8d1f-${n.toString(16).padStart(12, '0')}`

async function storeAudiences(workspaceId: string, first: number, count: number): Promise<void> {
  const sql = `insert into audiences (id, workspace_id, name, description, created_at, updated_at)
    values (?, ?, ?, null, ?, ?)`
  for (let at = first; at < first + count; at += 10_000) {
    const numbers = Array.from({ length: Math.min(10_000, first + count - at) }, (_, place) => at + place)
    await commit(numbers.map((n) => ({ sql, parameters: [idOf(n), workspaceId, `List ${n}`, n, n] })))
  }
}

t.test('the newest 25,000 rows are compared, and an answer says that older ones are left', async (t) => {
  await storeAudiences('ws', 0, 100_000)
  await storeAudiences('other', 100_000, 10)
  const find = (text: string) => searchAudiences(read, { workspaceId: 'ws', text, limit: 5 })
  const titlesOf = async (text: string): Promise<readonly string[]> => (await find(text)).rows.map(({ title }) => title)
  t.same(await titlesOf('lIST 9999'), [
    'List 99999',
    'List 99998',
    'List 99997',
    'List 99996',
    'List 99995',
    'List 99994',
  ])
  t.same(await titlesOf('75001'), ['List 75001'])
  t.same(await find('List 74999'), { rows: [], isPartial: true })
  t.same(await find('List 10000'), { rows: [], isPartial: true }, 'also not those of another workspace')
  t.same(await searchAudiences(read, { workspaceId: 'other', text: 'list', limit: 20 }), {
    rows: Array.from({ length: 10 }, (_, at) => 100_009 - at).map((n) => ({
      ...{ id: idOf(n), title: `List ${n}`, note: null, status: null },
    })),
    isPartial: false,
  })
})
