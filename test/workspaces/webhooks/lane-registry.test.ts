/** The lanes of webhooks: those of enabled ones of existing workspaces, also after a fault of the database. */
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { StorageFault } from '../../../src/base/storage/db/write.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { LaneRegistry } from '../../../src/workspaces/webhooks/lane-registry.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { waitUntil } from '../../helpers/wait-until.js'

interface Place {
  readonly database: Database
  readonly registry: LaneRegistry
  readonly ids: () => readonly string[]
  readonly added: string[]
  readonly errors: unknown[]
}

/** `faults`: so many reads fail at first. */
async function open(t: Test, faults = 0): Promise<Place> {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const webhook = (id: string, workspace_id: string, enabled = 1) =>
    row('webhooks', { id, workspace_id, url: 'https://a.test/', events: toJson(['email.sent'] as const), enabled })
  await database.commit([
    row('workspaces', { id: 'ws_1', slug: 'a' }),
    row('workspaces', { id: 'ws_2', slug: 'b' }),
    webhook('wh_1', 'ws_1'),
    webhook('wh_2', 'ws_1'),
    webhook('wh_3', 'ws_2'),
    webhook('wh_4', 'ws_2', 0),
    webhook('wh_5', 'ws_gone'),
  ])
  let left = faults
  const read: Read = (...query) => {
    left -= 1
    if (left >= 0) throw new StorageFault('SQLITE_IOERR_READ', 'the disk fails')
    return database.read(...query)
  }
  const added: string[] = []
  const errors: unknown[] = []
  const registry = new LaneRegistry(
    { read, log: { error: (fields: object) => void errors.push(fields) } },
    { onAdded: ({ ref }) => void added.push(ref.id), onRemoved: () => undefined },
  )
  t.teardown(() => registry.stop())
  return { database, registry, ids: () => [...registry.lanes()].map(({ ref }) => ref.id), added, errors }
}

t.test('enabled webhooks of existing workspaces have a lane, and changes are taken over', async (t) => {
  const { database, registry, ids } = await open(t)
  await registry.reload()
  t.same(ids(), ['wh_1', 'wh_2', 'wh_3'])
  const change = (sql: string): Promise<void> => database.commit([{ sql, parameters: [] }])
  await change(`update webhooks set enabled = 0 where id = 'wh_1'`)
  await change(`update webhooks set enabled = 1 where id = 'wh_4'`)
  registry.refresh({ workspaceId: 'ws_1', id: 'wh_1' })
  t.same(ids(), ['wh_2', 'wh_3'])
  await registry.reload()
  t.same(ids(), ['wh_2', 'wh_3', 'wh_4'])
  await change(`delete from webhooks where id = 'wh_2'`)
  await registry.reload()
  t.same(ids(), ['wh_3', 'wh_4'])
  registry.closeWorkspace('ws_2')
  t.same(ids(), [])
  t.equal(registry.size, 0)
})

t.test('webhooks that could not be read are read later, and the fault is logged once', async (t) => {
  const { registry, ids, errors } = await open(t, 2)
  await registry.reload()
  registry.refresh({ workspaceId: 'ws_1', id: 'wh_1' })
  t.same(ids(), [])
  await waitUntil('they are read', () => ids().length === 3)
  t.equal(errors.length, 1)
})
