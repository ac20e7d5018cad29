/** What became of the newest mail, by provider and reason, with a bounded number of events. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { recordEvent } from '../../../src/records/events/event-log.js'
import { countRecentOutcomes } from '../../../src/records/events/recent-outcomes.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const email = { email_id: 'e', subject: 's', tags: { kind: 'news' } }
const FIRST = Date.UTC(2026, 2, 1)

const delivered = (to: string, at: number, from = 'app@a.test', workspaceId = 'ws_1') =>
  recordEvent({
    ...{ workspaceId, emailId: null, recipient: to, at, type: 'email.delivered' },
    data: { ...email, from, to, delivered_at: new Date(at).toISOString() },
  })
const bounced = (to: string, at: number, subtype: 'bad-mailbox' | 'mailbox-full' | null, tags = {}) =>
  recordEvent({
    ...{ workspaceId: 'ws_1', emailId: null, recipient: to, at, type: 'email.bounced' },
    data: { ...email, tags, from: 'app@a.test', to, bounce_type: 'hard', bounce_subtype: subtype, bounce_reason: 'no' },
  })

t.test('recipients are counted by provider and reason, within the window and the filter', async (t) => {
  const { database } = await temporaryDatabase(t)
  const window = { start: FIRST, end: FIRST + 10_000 }
  const request = { workspaceId: 'ws_1', domain: undefined, tag: undefined, window }
  t.same(await countRecentOutcomes(database.read, request), { since: null, providers: [], reasons: [] })
  await database.commit([
    delivered('old@gmail.com', FIRST - 1),
    delivered('ann@gmail.com', FIRST),
    delivered('bob@Googlemail.com', FIRST + 1),
    delivered('cat@gmail.com', FIRST + 1),
    delivered('eve@shop.example', FIRST + 2, 'other@c.test'),
    delivered('foreign@gmail.com', FIRST + 3, 'app@a.test', 'ws_2'),
    bounced('gone@gmail.com', FIRST + 4, 'bad-mailbox'),
    bounced('gone@shop.example', FIRST + 5, 'bad-mailbox', { kind: ['news', 'x'] }),
    bounced('full@shop.example', FIRST + 6, null),
    delivered('new@gmail.com', FIRST + 10_000),
  ])
  const all = await countRecentOutcomes(database.read, request)
  t.same(all, {
    since: null,
    providers: [
      { name: 'Google', delivered: 3, bounced: 1, failed: 0 },
      { name: 'shop.example', delivered: 1, bounced: 2, failed: 0 },
    ],
    reasons: [
      { reason: 'bad-mailbox', text: 'The mailbox does not exist.', count: 2 },
      { reason: 'unclassified', text: 'The receiving side gave an answer that we cannot classify.', count: 1 },
    ],
  })
  const ofDomain = await countRecentOutcomes(database.read, { ...request, domain: 'c.test' })
  t.same(ofDomain.providers, [{ name: 'shop.example', delivered: 1, bounced: 0, failed: 0 }])
  const ofTag = await countRecentOutcomes(database.read, { ...request, tag: 'kind:x' })
  t.match(ofTag, { providers: { length: 1 }, reasons: [{ reason: 'bad-mailbox', count: 1 }] })
})

t.test('of much mail the newest counts, and nothing older of any kind', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit([bounced('early@b.test', FIRST, 'bad-mailbox')])
  for (let part = 0; part < 9; part += 1) {
    const writes = Array.from({ length: 250 }, (_, place) =>
      delivered(`r${place}@d${place % 20}.test`, FIRST + 1 + part * 250 + place),
    )
    await database.commit(writes)
  }
  await database.commit([bounced('late@b.test', FIRST + 3_000, 'mailbox-full')])
  const window = { start: FIRST, end: FIRST + 10_000 }
  const found = await countRecentOutcomes(database.read, {
    workspaceId: 'ws_1',
    domain: undefined,
    tag: undefined,
    window,
  })
  t.equal(found.since, FIRST + 1 + 250)
  t.same(
    found.reasons.map(({ reason }) => reason),
    ['mailbox-full'],
    'the early bounce is older than the oldest delivery that counts',
  )
  t.equal(
    found.providers.reduce((sum, one) => sum + one.delivered, 0),
    2_000,
  )
  t.equal(found.providers.length, 13)
  t.match(found.providers.at(-1), { name: 'other domains' })
})

t.test('few events are parsed in one turn, and deliveries only if a filter needs their data', async (t) => {
  const { database } = await temporaryDatabase(t)
  const tags = { kind: 'x'.repeat(2_000) }
  await database.commit(
    Array.from({ length: 300 }, (_, place) => bounced(`r${place}@b.test`, FIRST + place, 'bad-mailbox', tags)),
  )
  await database.commit(Array.from({ length: 300 }, (_, place) => delivered(`r${place}@b.test`, FIRST + place)))
  const parsed: number[] = [0]
  const { parse } = JSON
  t.teardown(() => {
    JSON.parse = parse
  })
  JSON.parse = (text: string, ...more) => {
    if (text.includes('"email_id"')) parsed.push((parsed.pop() ?? 0) + 1)
    return parse(text, ...more)
  }
  const window = { start: FIRST, end: FIRST + 10_000 }
  const count = async (domain: string | undefined): Promise<{ most: number; total: number }> => {
    const counting = countRecentOutcomes(database.read, { workspaceId: 'ws_1', domain, tag: undefined, window })
    parsed.splice(0, parsed.length, 0)
    let isDone = false
    const done = counting.finally(() => {
      isDone = true
    })
    while (!isDone) {
      parsed.push(0)
      await nextTurn()
    }
    t.match((await done).providers, [{ bounced: 300, delivered: 300 }])
    return { most: Math.max(...parsed), total: parsed.reduce((sum, one) => sum + one, 0) }
  }
  const plain = await count(undefined)
  t.ok(plain.most <= 40, `${plain.most} events in one turn`)
  t.equal(plain.total, 300, 'only those of bounces')
  const filtered = await count('a.test')
  t.ok(filtered.most <= 40, `${filtered.most} events in one turn`)
  t.equal(filtered.total, 600)
})
