/**
 * Notices of events that several nodes have stored: each is written once, whichever node writes them.
 *
 * Runs alone: it sets the engine of its process.
 */
import { createSecretKey } from 'node:crypto'
import t, { type Test } from 'tap'
import { parseAddress } from '../../src/base/mail/address.js'
import type { Database } from '../../src/base/storage/db/database.js'
import type { Write } from '../../src/base/storage/db/write.js'
import { NoticeWriter } from '../../src/operations/notices/notice-writer.js'
import { recordEvent } from '../../src/records/events/event-log.js'
import { insertMember } from '../../src/workspaces/accounts/people/members.js'
import { insertUser } from '../../src/workspaces/accounts/people/users.js'
import { openTestPostgres, stopServer, temporaryPostgres } from '../helpers/database/postgres-database.js'
import { holdCommits } from '../helpers/database/slow-commit.js'
import { withoutPostgres } from '../helpers/programs/postgres.js'
import { waitUntil } from '../helpers/wait-until.js'

t.teardown(stopServer)

const skip = withoutPostgres

interface Cluster {
  readonly url: string
  readonly one: Database
  readonly two: Database
}

async function openCluster(t: Test): Promise<Cluster> {
  const url = await temporaryPostgres(t)
  const one = await openTestPostgres(t, url)
  const two = await openTestPostgres(t, url, { node: 'two' })
  const email = parseAddress('owner@a.test')
  await one.commit([
    insertUser({ id: 'u', email, full_name: 'u', password_hash: null, created_at: 0 }),
    insertMember({ id: 'm', workspace_id: 'ws_1', user_id: 'u', role: 'owner', joined_at: 0 }),
  ])
  return { url, one, two }
}

/** The subject of its notice says how many failures it has. */
function failures(count: number): Write {
  const finding = { check: 'disk', subject: 'a', state: 'fail', text: 'it is full', remedy: [] } as const
  const findings = Array.from({ length: count }, () => finding)
  return recordEvent({
    ...{ workspaceId: 'ws_1', emailId: null, recipient: null, at: Date.now(), type: 'service.checks_failed' },
    data: { checked_at: new Date().toISOString(), findings },
  })
}

function startWriter(t: Test, { read, commit }: Database): NoticeWriter {
  const writer = new NoticeWriter({
    ...{ read, commit, clock: Date.now, publicUrl: 'https://mail.test', hostname: 'mail.test' },
    ...{ mailFrom: parseAddress('service@mail.test'), secret: createSecretKey(Buffer.alloc(32)) },
    log: { info: () => undefined, error: () => t.fail('an error was logged') },
    offer: () => undefined,
  })
  writer.start()
  t.teardown(() => writer.stop())
  return writer
}

/** How many failures each notice has. */
async function listNotices({ read }: Database): Promise<readonly number[]> {
  const rows = await read<{ subject: string }>('select subject from emails', [])
  return rows.map(({ subject }) => Number(/\d+/.exec(subject)?.[0])).toSorted((one, other) => one - other)
}

t.test('a notice of an event that becomes visible late is written', { skip }, async (t) => {
  const { url, one, two } = await openCluster(t)
  const held = await holdCommits(t, url)
  const { commit } = await held.begin(one, [failures(2)])
  await two.commit([failures(3)])
  const writer = startWriter(t, two)
  await waitUntil('the later one is written', async () => (await listNotices(one)).length === 1)
  await held.release()
  await commit
  writer.wake()
  await waitUntil('the earlier one is written', async () => (await listNotices(one)).length === 2)
  t.same(await listNotices(one), [2, 3])
})

t.test('none is written twice, even while two nodes write them', { skip }, async (t) => {
  const { one, two } = await openCluster(t)
  const writers = [startWriter(t, one), startWriter(t, two)]
  for (let count = 2; count < 32; count += 1) {
    await (count % 2 === 0 ? one : two).commit([failures(count)])
    for (const writer of writers) writer.wake()
  }
  const all = Array.from({ length: 30 }, (_, at) => at + 2)
  await waitUntil('all are written', async () => (await listNotices(one)).length >= all.length)
  await Promise.all(writers.map((writer) => writer.stop()))
  t.same(await listNotices(one), all)
})
