/** The cache of the suppression list: always the answer of the database, mostly without a read. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { StorageFault, type Write } from '../../../src/base/storage/db/write.js'
import { type CacheLimits, SuppressionCache } from '../../../src/records/suppressions/suppression-cache.js'
import {
  addSuppression,
  isSuppressed,
  removeSuppression,
  suppress,
} from '../../../src/records/suppressions/suppressions.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

interface Fixture {
  readonly cache: SuppressionCache
  readonly read: Read
  readonly reads: { count: number }
  readonly commit: (writes: readonly Write[]) => Promise<void>
}

async function fixture(t: Test, limits?: CacheLimits): Promise<Fixture> {
  const { database } = await temporaryDatabase(t)
  const reads = { count: 0 }
  const read: Read = async (sql, parameters) => {
    reads.count += 1
    return database.read(sql, parameters)
  }
  const cache = new SuppressionCache(read, limits)
  return { cache, read: database.read, reads, commit: cache.watch(database.commit) }
}

const of = (workspaceId: string, address: string): Parameters<typeof addSuppression>[0] => ({
  workspaceId,
  email: parseAddress(address),
  reason: 'manual',
  sourceEmailId: null,
  metadata: {},
  at: 1000,
})
const bob = parseAddress('Bob@b.test')

t.test('an address that is not on the list is read once for all', async (t) => {
  const { cache, reads, commit } = await fixture(t)
  t.equal(await cache.isSuppressed('ws_1', bob), false)
  t.equal(await cache.isSuppressed('ws_1', parseAddress('other@b.test')), false)
  t.equal(reads.count, 1)
  await commit([addSuppression(of('ws_1', 'bob@B.test'))])
  t.equal(await cache.isSuppressed('ws_1', bob), true)
  t.equal(await cache.isSuppressed('ws_2', bob), false, 'in another workspace')
  t.equal(await cache.isSuppressed('ws_1', parseAddress('other@b.test')), false)
})

t.test('a list whose load began before an addition is not kept without it', async (t) => {
  const { database } = await temporaryDatabase(t)
  let duringRead = async (): Promise<void> => undefined
  let reads = 0
  const read: Read = async (...query) => {
    reads += 1
    const rows = await database.read<never>(...query)
    await duringRead()
    return rows
  }
  const cache = new SuppressionCache(read)
  const commit = cache.watch(database.commit)
  duringRead = async () => {
    duringRead = async () => undefined
    await commit([addSuppression(of('ws_1', 'bob@b.test'))])
  }
  t.equal(await cache.isSuppressed('ws_1', bob), false, 'it was asked before')
  t.equal(await cache.isSuppressed('ws_1', bob), true)
  reads = 0
  await Promise.all(['a', 'b', 'c'].map((name) => cache.isSuppressed('ws_2', parseAddress(`${name}@b.test`))))
  t.equal(reads, 1, 'loads of one list at once are one')
})

t.test('removals, and additions of another process, are noticed', async (t) => {
  const { cache, read, commit } = await fixture(t)
  const { record } = await suppress({ read, commit }, of('ws_1', 'bob@b.test'))
  t.equal(await cache.isSuppressed('ws_1', bob), true)
  await commit([removeSuppression({ workspaceId: 'ws_1', id: record.id })])
  t.equal(await cache.isSuppressed('ws_1', bob), false)
  const { sql, parameters } = addSuppression(of('ws_1', 'alice@b.test'))
  await commit([{ sql, parameters }])
  const alice = parseAddress('alice@b.test')
  t.equal(await cache.isSuppressed('ws_1', alice), false, 'not before the cache is dropped')
  cache.drop()
  t.equal(await cache.isSuppressed('ws_1', alice), true)
})

t.test('an addition counts even if it is unknown whether it is on disk', async (t) => {
  const { database } = await temporaryDatabase(t)
  const cache = new SuppressionCache(database.read)
  t.equal(await cache.isSuppressed('ws_1', bob), false)
  const commit = cache.watch(async (writes) => {
    await database.commit(writes)
    throw new StorageFault('SQLITE_ABORT', 'the writer ended')
  })
  await t.rejects(commit([addSuppression(of('ws_1', 'bob@b.test'))]), StorageFault)
  t.equal(await cache.isSuppressed('ws_1', bob), true)
})

t.test('for any changes and any cache size, the answer is that of the database', async (t) => {
  const act = fc.record({
    what: fc.constantFrom('add', 'remove', 'drop', 'ask'),
    workspace: fc.constantFrom('ws_1', 'ws_2', 'ws_3'),
    address: fc.constantFrom('a@b.test', 'b@b.test', 'c@b.test', 'd@b.test'),
  })
  const property = fc.asyncProperty(
    fc.array(act, { maxLength: 40 }),
    fc.integer({ min: 1, max: 3 }),
    fc.integer({ min: 1, max: 8 }),
    async (acts, addressesPerList, totalAddresses) => {
      const { cache, read, commit } = await fixture(t, { addressesPerList, totalAddresses })
      for (const { what, workspace, address } of acts) {
        const ids = await read<{ id: string }>('select id from suppressions where workspace_id = ? and email = ?', [
          workspace,
          address,
        ])
        if (what === 'add') await commit([addSuppression(of(workspace, address))])
        if (what === 'remove') await commit(ids.map(({ id }) => removeSuppression({ workspaceId: workspace, id })))
        if (what === 'drop') cache.drop()
        const email = parseAddress(address)
        t.equal(await cache.isSuppressed(workspace, email), await isSuppressed(read, workspace, email))
      }
    },
  )
  await fc.assert(property, { numRuns: 20, seed: 11 })
})
