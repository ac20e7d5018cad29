/** Counted outcomes: their sums over the windows are those of a recount, in whatever order and portions they come. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { addCounts, readFigures, removeCounts, removeOldCounts } from '../../../src/outbound/breaker/outcome-counts.js'
import { COUNT_BUCKET, type Outcome, PendingCounts } from '../../../src/outbound/breaker/pending-counts.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const DAY = 86_400_000
const NOW = Date.UTC(2030, 0, 31, 12, 7)
const simulator = parseDomainName('simulator.service.test')

async function openTwoWorkspaces(t: Test) {
  const { database } = await temporaryDatabase(t)
  const sql = 'insert into workspaces (id, name, slug, plan, created_at) values (?, ?, ?, ?, 0)'
  await database.commit(['ws_1', 'ws_2'].map((id) => ({ sql, parameters: [id, id, id, 'free'] })))
  return database
}

interface Timed {
  readonly ago: number
  readonly outcome: Outcome
}

const timed: fc.Arbitrary<Timed> = fc.record({
  ago: fc.integer({ min: 0, max: 9 * DAY }),
  outcome: fc.record({
    workspaceId: fc.constantFrom('ws_1', 'ws_2', 'service'),
    senderDomain: fc.constantFrom('a.test', 'b.test'),
    broadcastId: fc.constantFrom(null, 'bc_1'),
    recipientDomain: fc.constantFrom(parseDomainName('c.test'), simulator),
    kind: fc.constantFrom('accepted', 'bounced', 'returned', 'complained'),
  }),
})

function recount(all: readonly Timed[], isMeant: (outcome: Outcome) => boolean) {
  const within = (window: number): readonly Outcome['kind'][] =>
    all
      .filter(({ ago }) => NOW - ago - ((NOW - ago) % COUNT_BUCKET) > NOW - window)
      .filter(({ outcome }) => isMeant(outcome) && outcome.recipientDomain !== simulator)
      .map(({ outcome }) => outcome.kind)
  const count = (kinds: readonly string[], ...wanted: readonly string[]): number =>
    kinds.filter((kind) => wanted.includes(kind)).length
  const [day, week] = [within(DAY), within(7 * DAY)]
  const returned = count(week, 'bounced', 'returned')
  return {
    settled: count(day, 'accepted', 'bounced'),
    bounced: count(day, 'bounced', 'returned'),
    delivered: Math.max(0, count(week, 'accepted', 'bounced') - returned),
    complained: count(week, 'complained'),
  }
}

t.test('the windows have what a recount has', async (t) => {
  const database = await openTwoWorkspaces(t)
  const { read, commit } = database
  await fc.assert(
    fc.asyncProperty(fc.array(timed, { maxLength: 60 }), fc.integer({ min: 1, max: 7 }), async (all, portion) => {
      await commit([{ sql: 'delete from breaker_counts', parameters: [] }])
      let now = NOW
      const counts = new PendingCounts({ clock: () => now, isSimulated: (domain) => domain === simulator })
      for (const [at, { ago, outcome }] of all.entries()) {
        now = NOW - ago
        counts.count(outcome)
        if (at % portion === 0) await commit(counts.take().map(addCounts))
      }
      const left = counts.take()
      counts.putBack(left)
      t.same(counts.take(), left, 'what is put back is there')
      await commit(left.map(addCounts))
      const ofWorkspace = { workspaceId: 'ws_1', scope: 'workspace', subject: 'ws_1' } as const
      const isOwn = ({ workspaceId }: Outcome): boolean => workspaceId === 'ws_1'
      t.same(await readFigures(read, ofWorkspace, NOW), recount(all, isOwn))
      const ofDomain = { workspaceId: 'ws_1', scope: 'domain', subject: 'a.test' } as const
      t.same(
        await readFigures(read, ofDomain, NOW),
        recount(all, (one) => isOwn(one) && one.senderDomain === 'a.test'),
      )
      const ofBroadcast = { workspaceId: 'ws_1', scope: 'broadcast', subject: 'bc_1' } as const
      t.same(
        await readFigures(read, ofBroadcast, NOW),
        recount(all, (one) => isOwn(one) && one.broadcastId === 'bc_1'),
      )
      t.same(
        await read("select 1 from breaker_counts where workspace_id = 'service'", []),
        [],
        'nothing of the service',
      )
    }),
    { numRuns: 25 },
  )
})

const outcome: Outcome = {
  ...{ workspaceId: 'ws_1', senderDomain: 'a.test', broadcastId: null },
  ...{ recipientDomain: parseDomainName('c.test'), kind: 'bounced' },
}

t.test('a release forgets what is stored and what is pending, and nothing else', async (t) => {
  const database = await openTwoWorkspaces(t)
  const counts = new PendingCounts({ clock: () => NOW, isSimulated: () => false })
  const ofDomain = { workspaceId: 'ws_1', scope: 'domain', subject: 'a.test' } as const
  const ofWorkspace = { workspaceId: 'ws_1', scope: 'workspace', subject: 'ws_1' } as const
  const countBoth = (): void => {
    counts.count(outcome)
    counts.count({ ...outcome, workspaceId: 'ws_2' })
  }
  countBoth()
  t.ok(counts.hasFailures)
  await database.commit(counts.take().map(addCounts))
  t.notOk(counts.hasFailures)
  countBoth()
  counts.forget([ofDomain])
  t.same(
    counts.take().map(({ workspace_id: id, scope }) => `${id} ${scope}`),
    ['ws_1 workspace', 'ws_2 workspace', 'ws_2 domain'],
  )
  await database.commit([removeCounts(ofDomain)])
  t.match(await readFigures(database.read, ofDomain, NOW), { bounced: 0 })
  t.match(await readFigures(database.read, ofWorkspace, NOW), { bounced: 1 })
  countBoth()
  counts.forget([ofWorkspace])
  t.same(
    counts.take().map(({ workspace_id: id }) => id),
    ['ws_2', 'ws_2'],
  )
  await database.commit([removeCounts(ofWorkspace)])
  t.match(await readFigures(database.read, ofWorkspace, NOW), { bounced: 0 })
  t.match(await readFigures(database.read, { ...ofWorkspace, workspaceId: 'ws_2', subject: 'ws_2' }, NOW), {
    bounced: 1,
  })
})

t.test('what no window reaches is removed', async (t) => {
  const database = await openTwoWorkspaces(t)
  const row = {
    workspace_id: 'ws_1',
    scope: 'domain',
    subject: 'a.test',
    settled: 1,
    bounced: 0,
    complained: 0,
  } as const
  await database.commit([
    addCounts({ ...row, bucket: NOW - 8 * DAY - 1 }),
    addCounts({ ...row, bucket: NOW - 7 * DAY }),
  ])
  t.equal(await removeOldCounts(database, NOW), true)
  t.equal(await removeOldCounts(database, NOW), false)
  t.same(await database.read('select bucket from breaker_counts', []), [{ bucket: NOW - 7 * DAY }])
})

t.test('nothing is counted of a workspace that was deleted', async (t) => {
  const database = await openTwoWorkspaces(t)
  const counts = new PendingCounts({ clock: () => NOW, isSimulated: () => false })
  counts.count({ ...outcome, workspaceId: 'ws_gone' })
  await database.commit(counts.take().map(addCounts))
  t.same(await database.read('select 1 from breaker_counts', []), [])
})

t.test('memory is bounded', async (t) => {
  const counts = new PendingCounts({ clock: () => NOW, isSimulated: () => false })
  for (let at = 0; at < 12_000; at += 1) counts.count({ ...outcome, senderDomain: `${at}.test` })
  t.equal(counts.take().length, 10_000)
})
