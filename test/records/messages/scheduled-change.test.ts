/** Changes of a scheduled email: each is complete, or misses if another one was faster. */
import t from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { releaseRecipients } from '../../../src/records/messages/email/recipients.js'
import { rollUpEmail } from '../../../src/records/messages/email/roll-up.js'
import { detailsOfAnyWorkspace } from '../../../src/records/messages/email-details.js'
import type { Viewer } from '../../../src/records/messages/email-resource.js'
import { MimeReader } from '../../../src/records/messages/mime/mime-parts.js'
import { entryById, leaseEntry, type QueueEntry } from '../../../src/records/messages/queue/queue.js'
import { deleteEntry, holdEntry, listEntries } from '../../../src/records/messages/queue/queue-admin.js'
import { cancelScheduled, reschedule, sendScheduledNow } from '../../../src/records/messages/scheduled-change.js'
import { cancelRoute, rescheduleRoute } from '../../../src/servers/api/emails/change.js'
import { createKeylessPrincipal } from '../../../src/workspaces/accounts/access/principal.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { testNode } from '../../helpers/database/test-engine.js'

const { database } = await temporaryDatabase(t)
const conflict = (status: string): { name: string; kind: string; details: object } => ({
  name: 'Refusal',
  kind: 'conflict',
  details: { status },
})
const notFound = { name: 'Refusal', kind: 'email-not-found' }

interface Scheduled {
  readonly viewer: Viewer
  readonly id: string
  readonly entries: () => Promise<QueueEntry[]>
}

let workspaces = 0

/** In a workspace of its own, an email to three recipients, one of them suppressed, that waits for the moment 9000. */
async function storeScheduled(scheduledFor: number | null = 9000): Promise<Scheduled> {
  workspaces += 1
  const workspaceId = `ws_${workspaces}`
  const to = ['one@b.test', 'two@b.test', 'gone@b.test']
  const { email, writes } = bulkEmail({ workspaceId, to, suppressed: ['gone@b.test'], at: 1000, scheduledFor })
  await database.commit(writes)
  const entries = async (): Promise<QueueEntry[]> => {
    const ids = await database.read<{ id: string }>('select id from queue where email_id = ? order by id', [email.id])
    return (await Promise.all(ids.map(async ({ id }) => entryById(database.read, { id })))).flat()
  }
  return { viewer: { workspaceId, ownKey: null }, id: email.id, entries }
}

/** The writes of a release: the lease of its first entry, and all entries leave `scheduled` with it. */
function releaseWrites(id: string, entry: QueueEntry | undefined): Write[] {
  if (entry === undefined) throw new Error('no entry')
  return [
    leaseEntry({
      id: entry.id,
      node: testNode,
      attempts: entry.attempts,
      dueAt: entry.next_attempt_at,
      until: 900_000,
    }),
    releaseRecipients({ emailId: id }),
    rollUpEmail({ emailId: id, sentAt: null, deliveredAt: null, bouncedAt: null }),
  ]
}

t.test('cancelling settles every waiting recipient, and nothing is left in the queue', async (t) => {
  const { viewer, id, entries } = await storeScheduled()
  await cancelScheduled(database, viewer, id, 5000)
  t.same(await entries(), [])
  t.match(await detailsOfAnyWorkspace(database.read, id), {
    status: 'cancelled',
    scheduled_for: '1970-01-01T00:00:09.000Z',
    recipients: [{ status: 'cancelled' }, { status: 'cancelled' }, { status: 'suppressed' }],
  })
  t.match(await database.read(`select settled_at from recipients where email_id = ? and status = 'cancelled'`, [id]), [
    { settled_at: 5000 },
    { settled_at: 5000 },
  ])
  t.match(
    await database.read('select status, count from email_counts where workspace_id = ? and count > 0', [
      viewer.workspaceId,
    ]),
    [{ status: 'cancelled', count: 1 }],
  )
  await t.rejects(cancelScheduled(database, viewer, id, 5000), conflict('cancelled'), 'once')
  await t.rejects(reschedule(database, viewer, id, 8000), conflict('cancelled'))
  await t.rejects(sendScheduledNow(database, viewer, id, 8000), conflict('cancelled'))
  t.same(
    await database.read(`select type from events where email_id = ? and type <> 'email.queued'`, [id]),
    [],
    'no event tells of it',
  )
})

t.test('moving an email moves all of its entries, and its age counts from there', async (t) => {
  const { viewer, id, entries } = await storeScheduled()
  await reschedule(database, viewer, id, 20_000)
  const moved = { next_attempt_at: 20_000, enqueued_at: 20_000, attempts: 0 }
  t.match(await entries(), [moved, moved])
  t.match(await detailsOfAnyWorkspace(database.read, id), {
    status: 'scheduled',
    scheduled_for: '1970-01-01T00:00:20.000Z',
    recipients: [{ status: 'scheduled' }, { status: 'scheduled' }, { status: 'suppressed' }],
  })
})

t.test('an email released now is as if it had never been scheduled', async (t) => {
  const { viewer, id, entries } = await storeScheduled()
  await sendScheduledNow(database, viewer, id, 6000)
  const moved = { next_attempt_at: 6000, enqueued_at: 6000 }
  t.match(await entries(), [moved, moved])
  t.match(await detailsOfAnyWorkspace(database.read, id), {
    status: 'queued',
    scheduled_for: null,
    recipients: [{ status: 'queued' }, { status: 'queued' }, { status: 'suppressed' }],
  })
  await t.rejects(cancelScheduled(database, viewer, id, 6001), conflict('queued'), 'and cannot be called back')
})

t.test('emails that were never scheduled, or are being sent, cannot be changed', async (t) => {
  const never = await storeScheduled(null)
  for (const act of [
    () => cancelScheduled(database, never.viewer, never.id, 5000),
    () => reschedule(database, never.viewer, never.id, 8000),
  ]) {
    await t.rejects(act(), conflict('queued'))
  }
  const gone = await storeScheduled()
  await database.commit(releaseWrites(gone.id, (await gone.entries())[0]))
  await t.rejects(cancelScheduled(database, gone.viewer, gone.id, 5000), conflict('queued'))
  t.equal((await gone.entries()).length, 2)
})

t.test('an attempt that began without a release, by an internal fault, counts as one', async (t) => {
  const { viewer, id, entries } = await storeScheduled()
  const [lease] = releaseWrites(id, (await entries())[0])
  if (lease === undefined) throw new Error('no lease')
  await database.commit([lease])
  await t.rejects(cancelScheduled(database, viewer, id, 5000), { ...conflict('scheduled'), message: /is being sent/ })
})

t.test('a concurrent change and release: one is done and the other misses completely', async (t) => {
  for (const act of [cancelScheduled, reschedule, sendScheduledNow]) {
    for (const first of ['change', 'release']) {
      const { viewer, id, entries } = await storeScheduled()
      const [entry] = await entries()
      const commits: Promise<void>[] = []
      // The release comes right before or right after the commit of the change.
      const commit: Database['commit'] = (writes) => {
        const begin = [() => database.commit(writes), () => database.commit(releaseWrites(id, entry))]
        if (commits.length === 0) for (const one of first === 'change' ? begin : begin.reverse()) commits.push(one())
        return commits[first === 'change' ? 0 : 1] ?? Promise.reject(new Error('no commit'))
      }
      const changing = act({ read: database.read, commit }, viewer, id, 8000)
      await Promise.allSettled([changing])
      const outcomes = await Promise.allSettled(commits)
      t.same(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'rejected'],
        `${act.name}: the ${first} came first`,
      )
      const status = (await detailsOfAnyWorkspace(database.read, id))?.status
      if (first === 'release') t.equal(status, 'queued')
      t.same(
        (await entries()).map(({ leased }) => leased),
        first === 'release' ? [1, 0] : act === cancelScheduled ? [] : [0, 0],
      )
    }
  }
})

t.test('two concurrent changes are done one after the other', async (t) => {
  const { viewer, id, entries } = await storeScheduled()
  const [later, ...cancelled] = await Promise.allSettled([
    reschedule(database, viewer, id, 8000),
    cancelScheduled(database, viewer, id, 5000),
    cancelScheduled(database, viewer, id, 5000),
  ])
  const [refused, ...others] = cancelled.filter(({ status }) => status === 'rejected')
  t.match([refused, others], [{ reason: conflict('cancelled') }, []], 'one of two cancels')
  t.match(later, later.status === 'fulfilled' ? {} : { reason: conflict('cancelled') }, 'in either order')
  t.same(await entries(), [])
})

t.test('a held email can be cancelled; one deleted meanwhile stays failed', async (t) => {
  const { viewer, id, entries } = await storeScheduled()
  const [first, second] = await listEntries(database.read, { workspaceId: viewer.workspaceId, after: '', limit: 100 })
  if (first === undefined || second === undefined) throw new Error('no entries')
  await database.commit([holdEntry(first.id, 2000)])
  const deleted = database.commit(deleteEntry(second, 2000, 'operator'))
  await Promise.all([deleted, cancelScheduled(database, viewer, id, 5000)])
  t.same(await entries(), [])
  t.match(await detailsOfAnyWorkspace(database.read, id), {
    status: 'cancelled',
    recipients: [{ status: 'cancelled' }, { status: 'failed', reason: 'operator' }, { status: 'suppressed' }],
  })
})

t.test('an email of another workspace is not found', async (t) => {
  const { viewer, id, entries } = await storeScheduled()
  for (const other of [
    { ...viewer, workspaceId: 'ws_other' },
    { ...viewer, ownKey: 'key' },
  ]) {
    await t.rejects(cancelScheduled(database, other, id, 5000), notFound)
    await t.rejects(reschedule(database, other, id, 8000), notFound)
  }
  await t.rejects(cancelScheduled(database, viewer, 'nothing', 5000), notFound)
  t.equal((await entries()).length, 2)
})

t.test('a change is reported even if its message cannot be read', async (t) => {
  const mime = new MimeReader()
  await mime.close()
  await t.rejects(
    mime.read('ws_1', () => undefined),
    { name: 'Refusal', kind: 'unavailable' },
  )
  const { viewer, id } = await storeScheduled()
  const deps = {
    ...database,
    mime,
    delivery: { runner: { markDue: () => undefined } },
    findHtmlChange: async () => null,
  }
  const call = {
    principal: { ...createKeylessPrincipal(viewer.workspaceId), scopes: ['full'] as const },
    ownKey: null,
    params: { id },
    query: undefined,
    body: { scheduled_for: '1970-01-01T00:00:08Z' },
    fingerprint: () => '',
    header: () => undefined,
    remoteAddress: '127.0.0.1',
    now: 5000,
  }
  t.match(await rescheduleRoute(deps).run(call), {
    status: 200,
    body: { id, scheduled_for: '1970-01-01T00:00:08.000Z', html: null, text: null, attachments: [] },
  })
  t.match(await cancelRoute(deps).run(call), { status: 200, body: { id, status: 'cancelled' } })
})
