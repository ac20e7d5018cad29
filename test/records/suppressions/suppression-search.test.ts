/** The search of the suppression list finds in pages what a comparison of all its addresses finds. */
import fc from 'fast-check'
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { searchSuppressions, searchSuppressionsBefore } from '../../../src/records/suppressions/suppression-search.js'
import { addSuppression } from '../../../src/records/suppressions/suppressions.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { plansOfSqlite, skipOnPostgres } from '../../helpers/database/test-engine.js'

type Reason = 'manual' | 'hard_bounce'

function suppress(workspaceId: string, email: string, reason: Reason): ReturnType<typeof addSuppression> {
  return addSuppression({ workspaceId, email: parseAddress(email), reason, sourceEmailId: null, metadata: {}, at: 1 })
}

async function searchAll(
  { read }: Database,
  search: { readonly workspaceId: string; readonly beginning: string; readonly reason?: Reason },
  limit: number,
): Promise<string[]> {
  const found: string[] = []
  for (;;) {
    const rows = await searchSuppressions(read, { reason: undefined, ...search, after: found.at(-1), limit })
    found.push(...rows.map(({ email }) => email))
    if (rows.length < limit) return found
  }
}

async function searchAllBack(
  { read }: Database,
  search: { readonly workspaceId: string; readonly beginning: string; readonly reason: Reason },
  limit: number,
): Promise<string[]> {
  const found: string[] = []
  for (;;) {
    const rows = await searchSuppressionsBefore(read, { ...search, before: found[0], limit })
    found.unshift(...rows.map(({ email }) => email))
    if (rows.length < limit) return found
  }
}

const part = fc.string({ unit: fc.constantFrom('a', 'B', '.', '-', 'ü', '😀'), minLength: 1, maxLength: 4 })
const localPart = part.filter((text) => !/^\.|\.$|\.\./.test(text))
const address = fc
  .tuple(localPart, fc.constantFrom('a.test', 'a.test.example', 'b.test'))
  .map(([local, domain]) => `${local}@${domain}`)

t.test('every address that begins with the text is found once, in order', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.tuple(address, fc.constantFrom<Reason>('manual', 'hard_bounce')), {
        maxLength: 30,
        selector: ([email]) => email.toLowerCase(),
      }),
      fc.oneof(part, address),
      fc.option(fc.constantFrom<Reason>('manual', 'hard_bounce'), { nil: undefined }),
      fc.integer({ min: 1, max: 5 }),
      async (stored, beginning, reason, limit) => {
        const { database } = await temporaryDatabase(t)
        const others = stored.map(([email, why]) => suppress('ws_2', `x${email}`, why))
        await database.commit([...stored.map(([email, why]) => suppress('ws_1', email, why)), ...others])
        const search = { workspaceId: 'ws_1', beginning, ...(reason === undefined ? {} : { reason }) }
        const expected = stored
          .filter(([, why]) => reason === undefined || why === reason)
          .map(([email]) => email.toLowerCase())
          .filter((email) => email.startsWith(beginning.toLowerCase()))
          .sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
        t.same(await searchAll(database, search, limit), expected)
        if (reason !== undefined) t.same(await searchAllBack(database, { ...search, reason }, limit), expected)
      },
    ),
    { numRuns: 40 },
  )
})

t.test('pages go back over characters that databases and programs put in another order', async (t) => {
  const { database } = await temporaryDatabase(t)
  const addresses = ['aa@a.test', 'ab@a.test', 'a～@a.test', 'a😀@a.test']
  await database.commit(addresses.map((email) => suppress('ws_1', email, 'manual')))
  const search = { workspaceId: 'ws_1', beginning: 'a', reason: 'manual', limit: 2 } as const
  for (const [before, expected] of [
    [undefined, addresses.slice(2)],
    ['a～@a.test', addresses.slice(0, 2)],
    ['aa@a.test', []],
    ['b@a.test', addresses.slice(2)],
  ] as const) {
    const rows = await searchSuppressionsBefore(database.read, { ...search, before })
    t.same(
      rows.map(({ email }) => email),
      expected,
      before ?? 'the last page',
    )
  }
})

t.test(
  'a search with a reason looks at no address with another reason',
  { skip: skipOnPostgres(plansOfSqlite) },
  async (t) => {
    const { database } = await temporaryDatabase(t)
    const plans: string[] = []
    const read: Database['read'] = async (sql, parameters) => {
      const plan = await database.read<{ readonly detail: string }>(`explain query plan ${sql}`, parameters)
      plans.push(...plan.map(({ detail }) => detail))
      return database.read(sql, parameters)
    }
    await searchSuppressions(read, {
      workspaceId: 'ws_1',
      beginning: 'a',
      reason: 'manual',
      after: undefined,
      limit: 1,
    })
    t.match(plans, [/^SEARCH .*\(workspace_id=\? AND reason=\? AND email>\? AND email<\?\)$/])
    t.equal(plans.length, 1)
  },
)
