/** The lanes of webhooks: those of enabled ones of existing workspaces, also after a fault of the database. */
import { setImmediate as nextTurn } from 'node:timers/promises'
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
  /** What happens after the next read, and before its rows are used. */
  readonly onceRead: (act: () => Promise<void>) => void
}

/** `faults`: so many reads fail at first. */
async function open(t: Test, faults = 0): Promise<Place> {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const webhook = (id: string, workspace_id: string, enabled = 1) =>
    row('webhooks', { id, workspace_id, url: 'https://a.test/', events: toJson(['email.sent'] as const), enabled })
  await database.commit([
    await row('workspaces', { id: 'ws_1', slug: 'a' }),
    await row('workspaces', { id: 'ws_2', slug: 'b' }),
    await webhook('wh_1', 'ws_1'),
    await webhook('wh_2', 'ws_1'),
    await webhook('wh_3', 'ws_2'),
    await webhook('wh_4', 'ws_2', 0),
    await webhook('wh_5', 'ws_gone'),
  ])
  let left = faults
  let afterRead = async (): Promise<void> => undefined
  const read: Read = async (...query) => {
    left -= 1
    if (left >= 0) throw new StorageFault('SQLITE_IOERR_READ', 'the disk fails')
    const rows = await database.read<never>(...query)
    await afterRead()
    return rows
  }
  const added: string[] = []
  const errors: unknown[] = []
  const registry = new LaneRegistry(
    {
      read,
      node: database.node,
      pages: { forget: () => undefined },
      log: { error: (fields: object) => void errors.push(fields) },
    },
    { onAdded: ({ ref }) => void added.push(ref.id), onRemoved: () => undefined },
  )
  t.teardown(() => registry.stop())
  const onceRead = (act: () => Promise<void>): void => {
    afterRead = () => {
      afterRead = async () => undefined
      return act()
    }
  }
  return { database, registry, ids: () => [...registry.lanes()].map(({ ref }) => ref.id), added, errors, onceRead }
}

t.test('enabled webhooks of existing workspaces have a lane, and changes are taken over', async (t) => {
  const { database, registry, ids } = await open(t)
  await registry.reload()
  t.same(ids(), ['wh_1', 'wh_2', 'wh_3'])
  const change = (sql: string): Promise<void> => database.commit([{ sql, parameters: [] }])
  await change(`update webhooks set enabled = 0 where id = 'wh_1'`)
  await change(`update webhooks set enabled = 1 where id = 'wh_4'`)
  await registry.refresh({ workspaceId: 'ws_1', id: 'wh_1' })
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
  await registry.refresh({ workspaceId: 'ws_1', id: 'wh_1' })
  t.same(ids(), [])
  await waitUntil('they are read', () => ids().length === 3)
  t.equal(errors.length, 1)
})

t.test('rows that were read before a change do not replace later ones', async (t) => {
  const { database, registry, onceRead } = await open(t)
  let refreshed: Promise<void> | undefined
  onceRead(async () => {
    await database.commit([{ sql: `update webhooks set url = 'https://b.test/' where id = 'wh_1'`, parameters: [] }])
    refreshed = registry.refresh({ workspaceId: 'ws_1', id: 'wh_1' })
  })
  await registry.reload()
  await refreshed
  t.equal([...registry.lanes()].find(({ ref }) => ref.id === 'wh_1')?.webhook.url, 'https://b.test/')
})

t.test('webhooks of a workspace that closes while they are read have no lane', async (t) => {
  const { registry, ids, onceRead } = await open(t)
  onceRead(async () => registry.closeWorkspace('ws_1'))
  await registry.reload()
  t.same(ids(), ['wh_3'])
})

t.test('a stop waits for what is read', async (t) => {
  const { registry, ids, added, onceRead } = await open(t)
  onceRead(() => nextTurn())
  const loading = registry.reload()
  await registry.stop()
  await loading
  t.same([ids(), added], [[], []])
})
