/** Holds of prefixes: which are in force, their release, and their removal. */
import t from 'tap'
import {
  holdsOfWorkspace,
  insertHold,
  isInForce,
  listHolds,
  readNewestHold,
  releaseHolds,
  removeOldHolds,
} from '../../../src/workspaces/sms/holds.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const noon = Date.UTC(2026, 10, 22, 12)

const hold = (workspaceId: string, prefix: string, at: number) => ({
  ...{ workspace_id: workspaceId, prefix, held_at: at, until_at: at + HOUR, sent: 40, verified: 1 },
})
const insert = (workspaceId: string, prefix: string, at: number) =>
  insertHold({ ...hold(workspaceId, prefix, at), since: 0 })

t.test('holds in force are listed, and released by prefix and workspace', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit([
    insert('a', '+43660', noon - 2 * HOUR),
    insert('a', '+43660', noon + 1),
    insert('a', '+43664', noon),
    insert('b', '+43660', noon + 2),
    insert('c', '+43660', noon + 3),
  ])
  const listed = async (now: number): Promise<string[]> =>
    (await listHolds(read, now)).map((row) => `${row.workspace_id} ${row.prefix}`)
  t.strictSame(await listed(noon + 3), ['a +43664', 'a +43660', 'b +43660', 'c +43660'])
  t.strictSame(await listed(noon + HOUR), ['a +43660', 'b +43660', 'c +43660'], 'the first has ended')
  t.match(await holdsOfWorkspace(read, { workspaceId: 'a', now: noon + 3, limit: 9 }), [
    { prefix: '+43660', until_at: noon + 1 + HOUR },
    { prefix: '+43664', until_at: noon + HOUR },
  ])
  const release = (workspaceId: string | null, prefix = '+43660') =>
    releaseHolds(database, { workspaceId, prefix, now: noon + 10 })
  t.strictSame(await release('z'), [])
  t.strictSame(await release('a', '+4366'), [], 'a prefix is not the beginning of one')
  t.strictSame(await release('b'), [{ ...hold('b', '+43660', noon + 2), released_at: null }])
  t.strictSame(await release('b'), [], 'once')
  t.strictSame(
    (await release(null)).map((row) => row.workspace_id),
    ['a', 'c'],
    'in all workspaces',
  )
  t.strictSame(await listed(noon + 10), ['a +43664'])
  t.equal((await holdsOfWorkspace(read, { workspaceId: 'b', now: noon + 10, limit: 9 })).length, 0, 'released')
  const released = await readNewestHold(read, { workspaceId: 'b', prefix: '+43660' })
  t.match(released, { released_at: noon + 10 })
  t.equal(released === undefined || isInForce(released, noon + 11), false)
})

t.test('holds that ended more than 30 days ago are removed in portions', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const old = Array.from({ length: 501 }, (_, place) => insert('a', `+43${1000 + place}`, noon - 30 * DAY - HOUR - 1))
  await commit([...old, insert('a', '+43660', noon - 30 * DAY - HOUR), insert('a', '+43660', noon)])
  const count = async (): Promise<number> =>
    (await read<{ n: number }>('select count(*) as n from sms_holds', []))[0]?.n ?? -1
  t.equal(await removeOldHolds(database, noon), true)
  t.equal(await count(), 3)
  t.equal(await removeOldHolds(database, noon), false)
  t.equal(await count(), 2)
})
