/**
 * The daemon that the rows are tested against: a workspace with an owner, an admin and a member and a key of every
 * kind, another workspace beside it, and a server that accepts what is sent.
 *
 * Only what no request can arrange is set up inside the program; every request is made by the plain client.
 */
import type { Test } from 'tap'
import type { Role } from '../../../src/base/storage/tables/account-tables.js'
import { generateKey, insertKey } from '../../../src/workspaces/accounts/keys/api-keys.js'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../../helpers/daemon/test-daemon.js'
import { openSink, type ScriptedSink } from '../../helpers/smtp/scripted-sink.js'
import { type PlainClient, plainClient } from './plain-client.js'
import type { Asker } from './row.js'

export interface World {
  readonly app: TestDaemon
  readonly sink: ScriptedSink
  readonly client: PlainClient
  readonly keys: ReadonlyMap<Asker, string | null>
  /** Values by the names that cases use. */
  readonly kept: Map<string, string>
}

export async function createWorld(t: Test, options: TestDaemonOptions = {}): Promise<World> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { ...options, routes: { 'b.test': sink, ...options.routes } })
  const endpoint = app.daemon.api.find(({ kind }) => kind === 'tls')
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('no HTTPS port')
  const client = plainClient(endpoint.port, app.daemon.tls.cert)
  t.teardown(() => client.close())
  const kept = new Map([
    ['workspace', app.workspaceId],
    ['other_workspace', app.otherWorkspaceId],
    ['unknown', '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10'],
    ['soon', new Date(app.now() + 3_600_000).toISOString()],
    ['later', new Date(app.now() + 7_200_000).toISOString()],
    ['too_late', new Date(app.now() + 31 * 86_400_000).toISOString()],
  ])
  const keys = await createKeys(app)
  const members = 'select id, role from members where workspace_id = ?'
  for (const { id, role } of await app.rows<{ id: string; role: string }>(members, app.workspaceId)) {
    kept.set(`${role}_member`, id)
  }
  return { app, sink, client, kept, keys }
}

async function createKeys(app: TestDaemon): Promise<ReadonlyMap<Asker, string | null>> {
  const made = async (role: Role, more: object = {}): Promise<string> => {
    const userId = await createMember(app, role)
    const at = app.now() - 1000
    const key = generateKey({ workspaceId: app.workspaceId, userId, name: role, now: at, scopes: ['full'], ...more })
    await app.daemon.database.commit([insertKey(key.row)])
    return key.secret
  }
  const revoked = await made('owner')
  await app.daemon.database.commit([
    {
      sql: 'update api_keys set revoked_at = ? where key_prefix = ?',
      parameters: [app.now(), revoked.slice(0, 11)],
      rows: 1,
    },
  ])
  return new Map<Asker, string | null>([
    ['owner', app.key],
    ['admin', await made('admin')],
    ['member', await made('member')],
    ['send', await made('owner', { scopes: ['send'] })],
    ['read', await made('owner', { scopes: ['read'] })],
    ['expired', await made('owner', { expiresAt: app.now() })],
    ['revoked', revoked],
    ['foreign', app.otherKey],
    ['wrong', 'ph_wrong'],
    ['none', null],
  ])
}

async function createMember(app: TestDaemon, role: Role): Promise<string> {
  const find = 'select user_id as id from members where workspace_id = ? and role = ?'
  const [there] = await app.rows<{ id: string }>(find, app.workspaceId, role)
  if (there !== undefined) return there.id
  const user = 'insert into users (id, email, full_name, created_at) values (?, ?, ?, 0)'
  const member = 'insert into members (id, workspace_id, user_id, role, joined_at) values (?, ?, ?, ?, 0)'
  const { id, memberId } = ids[role]
  await app.daemon.database.commit([
    { sql: user, parameters: [id, `${role}@a.test`, `The ${role}`] },
    { sql: member, parameters: [memberId, app.workspaceId, id, role] },
  ])
  return id
}

const ids = {
  owner: { id: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4b01', memberId: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4b11' },
  admin: { id: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4b02', memberId: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4b12' },
  member: { id: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4b03', memberId: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4b13' },
} satisfies Record<Role, object>
