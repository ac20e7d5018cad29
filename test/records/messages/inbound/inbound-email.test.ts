/** Records of inbound mail: their states, lists, bytes and retention. */
import t from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { WriteConflict } from '../../../../src/base/storage/db/write.js'
import { verifyData } from '../../../../src/base/storage/maintenance/verify.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import {
  hasInboundRaw,
  inboundById,
  markFailed,
  markProcessed,
  readInboundRaw,
  removeInbound,
  removeInboundRaw,
  setSpamStatus,
  storeInbound,
  storeRecord,
  unprocessedOfWorkspace,
} from '../../../../src/records/messages/inbound/inbound-email.js'
import { type InboundFilter, listInbound } from '../../../../src/records/messages/inbound/inbound-list.js'
import {
  type InboundContent,
  type NewInbound,
  toProcessed,
  toUnprocessed,
} from '../../../../src/records/messages/inbound/inbound-record.js'
import { InboundPurge } from '../../../../src/records/messages/inbound/inbound-retention.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { isOnPostgres, testNode } from '../../../helpers/database/test-engine.js'
import { type InboundMail, inboundMail } from '../../../helpers/mail/inbound-mail.js'

const raw = Buffer.from('From: bob@b.test\r\n\r\nhello\r\n')

const mail = (id: string, more: Omit<InboundMail, 'id'> = {}): NewInbound =>
  inboundMail({ id, received_at: 1000, ...more })

const content: InboundContent = {
  message_id: '<1@b.test>',
  reference_ids: toJson([]),
  from_email: 'Bob@b.test',
  from_name: 'Bob',
  to_emails: toJson(['info@a.test']),
  cc_emails: toJson([]),
  subject: 'Hello',
  has_html: 0,
  has_text: 1,
  attachment_count: 0,
  spam_status: 'clean',
  spam_score: 120,
  spam_report: toJson([]),
}

const place = (id: string, workspaceId = 'ws_1'): { id: string; workspaceId: string } => ({ id, workspaceId })
const ofWorkspace = (id: string, at = 2000): InboundContent & { id: string; workspace_id: string; at: number } => ({
  id,
  workspace_id: 'ws_1',
  at,
  ...content,
})
const waiting = async ({ read }: Database): Promise<string[]> =>
  (
    await unprocessedOfWorkspace(read, { node: testNode, workspaceId: 'ws_1', afterTime: 0, afterId: '', limit: 10 })
  ).map(({ id }) => id)

t.test('feedback before processing is kept', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit(storeInbound(mail('a'), raw))
  await commit([setSpamStatus({ ...place('a'), status: 'clean' })])
  await commit([markProcessed({ ...ofWorkspace('a'), spam_status: 'spam', spam_score: 900 })])
  t.match(await inboundById(read, place('a')), [{ status: 'processed', spam_status: 'clean', spam_score: 900 }])
})

t.test('a stored message waits until it is processed, once', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit([
    ...storeInbound(mail('b'), raw),
    ...storeInbound(mail('a'), raw),
    ...storeInbound(mail('c', { received_at: 5 }), raw),
  ])
  t.same(await waiting(database), ['c', 'a', 'b'], 'the oldest first')
  t.same(
    (
      await unprocessedOfWorkspace(read, {
        node: testNode,
        workspaceId: 'ws_1',
        afterTime: 1000,
        afterId: 'a',
        limit: 10,
      })
    ).map(({ id }) => id),
    ['b'],
  )
  t.match(await inboundById(read, place('a')), [
    { status: 'received', size: raw.length, spam_score: null, processed_at: null },
  ])
  await commit([markProcessed(ofWorkspace('a'))])
  t.match(await inboundById(read, place('a')), [
    { status: 'processed', subject: 'Hello', spam_score: 120, processed_at: 2000 },
  ])
  await commit([markFailed({ ...place('b'), at: 2000 })])
  t.match(await inboundById(read, place('b')), [{ status: 'failed', subject: '', processed_at: 2000 }])
  t.same(await readInboundRaw(read, place('b')), raw, 'its bytes stay')
  for (const again of [
    markProcessed(ofWorkspace('a')),
    markProcessed(ofWorkspace('b')),
    markFailed({ ...place('a'), at: 1 }),
  ])
    await t.rejects(commit([again]), WriteConflict)
  t.same(await waiting(database), ['c'])
})

t.test('records of another workspace, and reports, are not found', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  await commit([...storeInbound(mail('a'), raw), ...storeInbound(mail('r', { kind: 'report' }), raw)])
  t.same(await inboundById(read, place('a', 'ws_2')), [])
  t.notOk(await hasInboundRaw(read, place('a', 'ws_2')))
  t.same(await inboundById(read, place('r')), [])
  t.same(await listInbound(read, { workspaceId: 'ws_2' }, { offset: 0, limit: 10 }), [])
  t.same(
    (await listInbound(read, { workspaceId: 'ws_1' }, { offset: 0, limit: 10 })).map(({ id }) => id),
    ['a'],
  )
  await t.rejects(commit([removeInbound(place('a', 'ws_2')), removeInboundRaw(place('a', 'ws_2'))]), WriteConflict)
  t.equal((await inboundById(read, place('a'))).length, 1)
  await commit([removeInbound(place('a')), removeInboundRaw(place('a'))])
  t.equal(await readInboundRaw(read, place('a')), undefined)
})

t.test('lists are newest first, in pages, narrowed by each filter', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const ids = async (filter: Omit<InboundFilter, 'workspaceId'>, offset = 0, limit = 10): Promise<string> =>
    (await listInbound(read, { workspaceId: 'ws_1', ...filter }, { offset, limit })).map(({ id }) => id).join('')
  await commit([
    ...storeInbound(mail('a', { received_at: 1 }), raw),
    ...storeInbound(mail('b', { received_at: 2, domain: 'other.test' }), raw),
    ...storeInbound(mail('c', { received_at: 2 }), raw),
    ...storeInbound(mail('d', { received_at: 3 }), raw),
    markProcessed({ ...ofWorkspace('a'), spam_status: 'spam' }),
    markProcessed(ofWorkspace('b')),
    markFailed({ ...place('c'), at: 9 }),
  ])
  t.equal(await ids({}), 'dcba')
  t.same([await ids({}, 0, 2), await ids({}, 2, 2), await ids({}, 3, 2), await ids({}, 4, 2)], ['dc', 'ba', 'a', ''])
  t.equal(await ids({ status: 'processed' }), 'ba')
  t.equal(await ids({ status: 'processed' }, 1), 'a')
  t.equal(await ids({ status: 'received' }), 'd')
  t.equal(await ids({ domain: 'other.test' }), 'b')
  t.equal(await ids({ from: 'bob@B.TEST' }), 'ba')
  t.equal(await ids({ from: "'; drop table inbound_emails; --" }), '')
  t.equal(await ids({ spamStatus: 'spam' }), 'a')
  t.equal(await ids({ since: 2 }), 'dcb')
  t.equal(await ids({ since: 2, status: 'processed', spamStatus: 'clean' }), 'b')
})

t.test('any combination of filters returns the right page for any order of rows', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const odd = (n: number, every: number): boolean => n % every === 0
  const all = Array.from({ length: 1_100 }, (_, n) => ({
    id: `m${String(n).padStart(4, '0')}`,
    received_at: 1000 + Math.floor(n / 3),
    domain: odd(n, 400) ? 'rare.test' : 'in.test',
    status: odd(n, 7) ? ('received' as const) : ('processed' as const),
    spam_status: odd(n, 5) ? ('spam' as const) : ('clean' as const),
    from_email: odd(n, 2) ? 'Bob@b.test' : 'Eve@b.test',
  }))
  await commit([
    ...all.flatMap(({ id, received_at, domain }) => storeInbound(mail(id, { received_at, domain }), raw)),
    ...all.flatMap(({ id, status, spam_status, from_email }) =>
      status === 'received' ? [] : [markProcessed({ ...ofWorkspace(id), spam_status, from_email })],
    ),
  ])
  const filters = {
    status: ['processed', 'received', 'failed'],
    domain: ['in.test', 'rare.test', 'none.test'],
    from: ['bob@b.test', 'nobody@b.test'],
    spamStatus: ['spam', 'clean'],
    since: [1100, 9000],
  } as const
  let some: Omit<InboundFilter, 'workspaceId'>[] = [{}]
  for (const [name, values] of Object.entries(filters)) {
    some = some.flatMap((filter) => [filter, ...values.map((value) => ({ ...filter, [name]: value }))])
  }
  const wrong: unknown[] = []
  for (const filter of some) {
    const fitting = all.toReversed().filter((row) => fits(row, filter))
    for (const offset of [0, 3, 300]) {
      const found = await listInbound(read, { workspaceId: 'ws_1', ...filter }, { offset, limit: 5 })
      const right = fitting.slice(offset, offset + 5).map(({ id }) => id)
      if (found.map(({ id }) => id).join() !== right.join()) wrong.push({ filter, offset, right, found })
    }
  }
  t.equal(some.length, 4 * 4 * 3 * 3 * 3)
  t.same(wrong, [])
})

interface Row {
  readonly status: string
  readonly domain: string
  readonly from_email: string
  readonly spam_status: string
  readonly received_at: number
}

function fits(row: Row, { status, domain, from, spamStatus, since = 0 }: Omit<InboundFilter, 'workspaceId'>): boolean {
  // An unprocessed message has neither a From address nor a spam status.
  const read = row.status === 'processed'
  return (
    (status === undefined || row.status === status) &&
    (domain === undefined || row.domain === domain) &&
    (from === undefined || (read && row.from_email.toLowerCase() === from)) &&
    (spamStatus === undefined || (read && row.spam_status === spamStatus)) &&
    row.received_at >= since
  )
}

t.test('bytes are removed first and records later; unprocessed messages keep both', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  const { read, commit } = database
  const workspace = {
    sql: 'insert into workspaces (id, name, slug, plan, created_at) values (?, ?, ?, ?, 0)',
    parameters: ['ws_1', 'W', 'w', 'free'],
  }
  const many = Array.from({ length: 250 }, (_, n) => `m${String(n).padStart(3, '0')}`)
  await commit([
    workspace,
    ...many.flatMap((id) => [...storeInbound(mail(id), raw), markProcessed(ofWorkspace(id))]),
    ...storeInbound(mail('waits'), raw),
    ...storeInbound(mail('young', { received_at: 9000 }), raw),
    markProcessed(ofWorkspace('young')),
  ])
  const count = async (table: string): Promise<number> =>
    (await read<{ n: number }>(`select count(*) as n from ${table}`, []))[0]?.n ?? -1
  const bytesOnly = { messagesBefore: 5000, eventsBefore: 0 }
  const purge = new InboundPurge(database, bytesOnly)
  t.equal(await purge.step(), true)
  t.equal(await purge.step(), false)
  t.equal(await purge.step(), false, 'and then there is nothing to do')
  t.same([await count('inbound_raw'), await count('inbound_emails')], [2, 252])
  const all = { messagesBefore: 5000, eventsBefore: 5000 }
  const rest = new InboundPurge(database, all)
  while (await rest.step());
  t.same([await count('inbound_raw'), await count('inbound_emails')], [2, 2])
  t.same(await waiting(database), ['waits'])
  if (isOnPostgres()) return
  t.same(verifyData(file), [])
  await commit([{ sql: "delete from inbound_raw where inbound_id = 'waits'", parameters: [] }])
  t.match(verifyData(file), [{ check: 'inbound-raw' }])
})

t.test('a record that is stored as processed is the one that processing leaves', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const known = mail('a', { arrival: { earlyTalker: true, listings: [], allowListings: [], spamReason: 'x' } })
  await commit([...storeInbound(known, raw), markProcessed({ ...ofWorkspace('a'), from_email: 'Bob@B.test' })])
  const [later] = await inboundById(read, place('a'))
  await commit([removeInbound(place('a')), removeInboundRaw(place('a'))])
  const record = toProcessed(toUnprocessed(known, raw.length), { ...ofWorkspace('a'), from_email: 'Bob@B.test' })
  await commit(storeRecord(record, raw))
  const [early] = await inboundById(read, place('a'))
  t.equal(early?.from_key, 'bob@b.test')
  t.same(early, later)
  t.same(await readInboundRaw(read, place('a')), raw)
})
