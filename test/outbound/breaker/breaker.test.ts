/** The breaker over a database: what each state becomes, when it cools, and who ends a hold. */
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { closeWorkspace } from '../../../src/base/storage/maintenance/erase.js'
import { Breaker } from '../../../src/outbound/breaker/breaker.js'
import { statesOfWorkspace } from '../../../src/outbound/breaker/breaker-states.js'
import { listScopes } from '../../../src/outbound/breaker/list-scopes.js'
import { requireNothingHeld } from '../../../src/outbound/breaker/owners-hold.js'
import { PendingCounts } from '../../../src/outbound/breaker/pending-counts.js'
import { releaseById } from '../../../src/outbound/breaker/release-scope.js'
import { operatorActor } from '../../../src/workspaces/accounts/access/audit-log.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { waitUntil } from '../../helpers/wait-until.js'

const DAY = 86_400_000
const limits = {
  ...{ enabled: true, bounce_warn_percent: 5, bounce_hold_percent: 10 },
  ...{ complaint_warn_percent: 0.1, complaint_hold_percent: 0.3 },
  ...{ min_messages: 100, min_bounces: 10, min_delivered: 1_000, min_complaints: 3 },
}

async function openBench(t: Test) {
  const { database } = await temporaryDatabase(t)
  const [sql, parameters] = [
    'insert into workspaces (id, name, slug, plan, created_at) values (?, ?, ?, ?, 0)',
    ['ws_1', 'one', 'one', 'free'],
  ]
  await database.commit([{ sql, parameters }])
  const row = rowOf(database.read)
  await database.commit([
    await row('workspaces', { id: 'ws_2', slug: 'two' }),
    ...(await Promise.all(
      ['ws_1', 'ws_2'].map((id) => row('members', { id, workspace_id: id, user_id: 'anna', role: 'owner' })),
    )),
    await row('users', { id: 'anna' }),
  ])
  const bench = { now: Date.UTC(2030, 0, 31, 12), broadcast: 'sending' as 'sending' | 'paused' | 'ended', changes: 0 }
  const lines: string[] = []
  const write = (line: string): void => void lines.push((JSON.parse(line) as { readonly msg: string }).msg)
  const log = pino({ level: 'info' }, { write })
  const nothing = { sql: 'delete from breaker_counts where 1 = 0', parameters: [] }
  const broadcasts = {
    statusOf: async () => bench.broadcast,
    pause: () => {
      bench.broadcast = 'paused'
      return nothing
    },
    resume: () => {
      bench.broadcast = 'sending'
      return nothing
    },
  }
  const counts = new PendingCounts({ clock: () => bench.now, isSimulated: () => false, ownerOf: () => 'anna' })
  const settings = { ...limits }
  const open = (): Breaker =>
    new Breaker({
      leads: () => true,
      ...{ read: database.read, commit: database.commit, clock: () => bench.now, counts, broadcasts },
      ...{
        limits: () => settings,
        log,
        onHoldsChanged: async () => {
          bench.changes += 1
        },
      },
    })
  const breaker = open()
  t.teardown(() => breaker.stop())
  const send = (
    accepted: number,
    bounced: number,
    broadcastId: string | null = null,
    senderDomain = 'a.test',
    workspaceId = 'ws_1',
  ): void => {
    const recipientDomain = parseDomainName('c.test')
    const place = { workspaceId, senderDomain, broadcastId, recipientDomain }
    for (let at = 0; at < accepted; at += 1) counts.count({ ...place, kind: 'accepted' })
    for (let at = 0; at < bounced; at += 1) counts.count({ ...place, kind: 'bounced' })
  }
  const states = async (): Promise<readonly string[]> =>
    (await statesOfWorkspace(database.read, { workspaceId: 'ws_1', limit: 10 })).map(
      ({ scope, subject, state }) => `${scope} ${subject} ${state}`,
    )
  /** Looks until the states are these; each look is one of the timer's. */
  const expectStates = async (...expected: readonly string[]): Promise<void> => {
    await waitUntil(`states: ${expected.join(', ')}`, async () => {
      await breaker.wake()
      return JSON.stringify(await states()) === JSON.stringify(expected)
    })
  }
  const events = async (): Promise<readonly string[]> =>
    (await database.read<{ type: string }>("select type from events where type like 'sending.%' order by seq", [])).map(
      ({ type }) => type,
    )
  return { database, bench, lines, broadcasts, counts, settings, breaker, send, states, expectStates, events }
}

const rulesIn = async (read: Read): Promise<readonly unknown[]> =>
  read('select workspace_id, sender, ending, reason from hold_rules order by sender nulls first', [])

t.test('a warning, then a hold, then cooled', async (t) => {
  const { database, bench, lines, settings, send, expectStates, events } = await openBench(t)
  send(94, 6)
  send(0, 4)
  await expectStates('domain a.test warning', 'workspace ws_1 warning')
  t.same(await events(), ['sending.warned', 'sending.warned'])
  t.same(await rulesIn(database.read), [])
  send(0, 10)
  await expectStates('domain a.test held', 'workspace ws_1 held')
  const reason = '17.54 % of 114 messages of the last day bounced'
  t.match(await rulesIn(database.read), [
    { workspace_id: 'ws_1', sender: null, reason },
    { workspace_id: 'ws_1', sender: 'a.test', reason },
  ])
  t.equal(bench.changes, 2)
  bench.now += DAY - 60_000
  await expectStates('domain a.test held', 'workspace ws_1 held')
  bench.now += 16 * 60_000
  await expectStates()
  t.match(await rulesIn(database.read), [{ ending: 1 }, { ending: 1 }])
  t.same((await events()).slice(-2), ['sending.released', 'sending.released'])
  t.equal(lines.at(-1), 'mail that was held is released')
  t.equal(settings.enabled, true)
})

t.test('what was too few is judged in the minute in which it becomes enough', async (t) => {
  const { database, bench, breaker, send, expectStates } = await openBench(t)
  send(0, 60)
  await waitUntil('the bounces are stored', async () => {
    await breaker.wake()
    return (await database.read('select 1 from breaker_counts', [])).length > 0
  })
  await expectStates()
  send(60, 0)
  bench.now += 61_000
  await expectStates('domain a.test held', 'workspace ws_1 held')
})

t.test('released by hand, the figures begin anew', async (t) => {
  const { database, bench, broadcasts, send, expectStates } = await openBench(t)
  send(80, 20)
  await expectStates('domain a.test held', 'workspace ws_1 held')
  const deps = { read: database.read, commit: database.commit, broadcasts }
  const release = (id: string) => releaseById(deps, { workspaceId: 'ws_1', id, actor: operatorActor, now: bench.now })
  const notHeld = { message: 'nothing of this id is held' }
  await t.rejects(release('b.test'), notHeld)
  await t.rejects(releaseById(deps, { workspaceId: 'ws_2', id: 'a.test', actor: operatorActor, now: 0 }), notHeld)
  t.equal((await release('ws_1')).length, 2, 'with what is in it')
  await t.rejects(release('ws_1'), notHeld)
  send(0, 1)
  bench.now += 61_000
  await expectStates()
  send(85, 14)
  await expectStates('domain a.test held', 'workspace ws_1 held')
})

t.test('an operator who ends the rule, or disables the breaker, releases', async (t) => {
  const { database, bench, settings, send, expectStates, events } = await openBench(t)
  send(80, 20)
  await expectStates('domain a.test held', 'workspace ws_1 held')
  await database.commit([{ sql: "update hold_rules set ending = 1 where sender = 'a.test'", parameters: [] }])
  bench.now += 61_000
  await expectStates('workspace ws_1 held')
  t.equal((await events()).at(-1), 'sending.released')
  settings.enabled = false
  bench.now += 61_000
  await expectStates()
})

t.test(
  'a broadcast is paused, and held no more when it is resumed; one that has ended is only warned of',
  async (t) => {
    const { bench, send, expectStates } = await openBench(t)
    send(5_000, 0)
    send(80, 20, 'bc_1')
    await expectStates('broadcast bc_1 held')
    t.equal(bench.broadcast, 'paused')
    bench.broadcast = 'sending'
    bench.now += 61_000
    await expectStates()
    bench.broadcast = 'ended'
    send(80, 20, 'bc_2')
    await expectStates('broadcast bc_2 warning')
  },
)

t.test('new domains do not evade the workspace, and other workspaces are not concerned', async (t) => {
  const { send, counts, states, expectStates } = await openBench(t)
  for (let at = 0; at < 20; at += 1) send(5, 1, null, `d${at}.test`)
  counts.count({
    ...{ workspaceId: 'ws_2', senderDomain: 'a.test', broadcastId: null },
    ...{ recipientDomain: parseDomainName('c.test'), kind: 'bounced' },
  })
  await expectStates('workspace ws_1 held')
  t.equal((await states()).length, 1)
})

t.test('what is too little in each workspace is judged for their owner, and one rule holds all of them', async (t) => {
  const { database, bench, broadcasts, send, expectStates } = await openBench(t)
  send(48, 12)
  send(48, 12, null, 'b.test', 'ws_2')
  await expectStates('workspace ws_1 held')
  const rules = async () => database.read('select workspace_id, owner, ending from hold_rules', [])
  t.same(await rules(), [{ workspace_id: 'ws_1', owner: 'anna', ending: 0 }])
  send(0, 5, null, 'b.test', 'ws_2')
  await expectStates('workspace ws_1 held')
  bench.now += 61_000
  await expectStates('workspace ws_1 held')
  t.equal((await rules()).length, 1, 'no second rule')

  t.match((await listScopes(database.read, 'ws_2', bench.now))[0], {
    id: 'ws_2',
    state: 'held',
    reason: /released in ws_1$/,
  })
  for (const workspaceId of ['ws_1', 'ws_2']) {
    await t.rejects(() => requireNothingHeld(database.read, workspaceId, 'deleted'), {
      kind: 'conflict',
      message: /cannot be deleted .*POST \/v1\/breakers\/ws_1\/release/,
    })
  }
  const deps = { read: database.read, commit: database.commit, broadcasts }
  await releaseById(deps, { workspaceId: 'ws_1', id: 'ws_1', actor: operatorActor, now: bench.now })
  t.match(await rules(), [{ ending: 1 }])
  t.match((await listScopes(database.read, 'ws_2', bench.now))[0], { state: 'ok' })
  await requireNothingHeld(database.read, 'ws_2', 'deleted')
  send(0, 3)
  bench.now += 61_000
  await expectStates()
})

t.test('what an owner has sent counts on when its workspace is deleted', async (t) => {
  const { database, breaker, send, states } = await openBench(t)
  send(48, 12, null, 'b.test', 'ws_2')
  await waitUntil('it is stored', async () => {
    await breaker.wake()
    return (await database.read("select 1 from breaker_counts where subject = 'owner'", [])).length > 0
  })
  await database.commit(closeWorkspace('ws_2', 1))
  send(48, 12)
  await waitUntil('the other is held', async () => {
    await breaker.wake()
    return (await states()).includes('workspace ws_1 held')
  })
})
