/** Limits of verification codes: each at its edge, sliding, under concurrency, across workspaces. */
import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { pino } from 'pino'
import t from 'tap'
import { tryCommit } from '../../../src/base/storage/db/write.js'
import { UsageCleanup } from '../../../src/workspaces/accounts/limits/old-usage.js'
import { deriveCodeKey } from '../../../src/workspaces/sms/code-hash.js'
import { ConversionWatch } from '../../../src/workspaces/sms/conversion-watch.js'
import { insertHold, releaseHolds } from '../../../src/workspaces/sms/holds.js'
import { CodeSender } from '../../../src/workspaces/sms/send-code.js'
import { type PlannedSend, SendCharger, type SendLimits } from '../../../src/workspaces/sms/send-limits.js'
import { countSent, readSmsUsage } from '../../../src/workspaces/sms/sms-usage.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { ampleLimits } from '../../helpers/sms/ample-limits.js'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const noon = Date.UTC(2026, 10, 22, 12)

/** One database for all tests: each takes numbers and workspaces of its own. */
const { database } = await temporaryDatabase(t)
const { read, commit } = database
let serial = 0
const nextArea = (): string => {
  serial += 1
  return `+43${String(660_000 + serial)}`
}

interface Sending {
  readonly now: number
  readonly phone: string
  readonly workspaceId?: string
}

function planned({ now, phone, workspaceId = `ws_${phone.slice(0, 9)}` }: Sending): PlannedSend {
  return { workspaceId, phone, range: phone.slice(0, -4), prefix: phone.slice(0, 6), now }
}

interface Answer {
  readonly reason: unknown
  readonly limit: unknown
  readonly retryAfter: number
  readonly free: number
}

/** Null: admitted. */
async function send(limits: Partial<SendLimits>, sending: Sending): Promise<Answer | null> {
  const charge = await new SendCharger(read, () => ({ limits: { ...ampleLimits, ...limits } })).charge(planned(sending))
  if (await tryCommit(commit(charge.writes))) return null
  const refusal = await charge.findRefusal()
  if (refusal === null) throw new Error('refused without a reason')
  const { reason, limit, retry_after: retryAfter, reset_at: resetAt } = refusal.details
  return { reason, limit, retryAfter: Number(retryAfter), free: Date.parse(String(resetAt)) }
}

const usage = async (): Promise<unknown[]> => read('select * from usage order by workspace_id, kind, bucket', [])

const edges = [
  { key: 'per_phone_per_hour', reason: 'phone_limit', window: HOUR, slice: 1, spread: 0 },
  { key: 'per_phone_per_day', reason: 'phone_limit', window: DAY, slice: 1, spread: 0 },
  { key: 'per_range_per_hour', reason: 'range_limit', window: HOUR, slice: MINUTE, spread: 1 },
  { key: 'per_workspace_per_minute', reason: 'workspace_limit', window: MINUTE, slice: SECOND, spread: 10_000 },
  { key: 'per_workspace_per_hour', reason: 'workspace_limit', window: HOUR, slice: MINUTE, spread: 10_000 },
  { key: 'per_workspace_per_day', reason: 'workspace_limit', window: DAY, slice: 10 * MINUTE, spread: 10_000 },
] as const

for (const { key, reason, window, slice, spread } of edges) {
  t.test(`${key}: three pass, the fourth is told when it will`, async (t) => {
    const area = nextArea()
    const workspaceId = `ws_${key}`
    const limits = { [key]: 3 }
    const phone = (place: number): string => `${area}${String(10_000 + place * spread)}`
    const start = noon + 7
    const gap = Math.floor(window / 10)
    for (const place of [0, 1, 2]) {
      t.equal(await send(limits, { now: start + place * gap, phone: phone(place), workspaceId }), null)
    }
    const now = start + 3 * gap
    const before = await usage()
    const refused = await send(limits, { now, phone: phone(3), workspaceId })
    t.match(refused, { reason, limit: 3 })
    t.same(await usage(), before, 'a refused request counts nowhere')
    const free = refused?.free ?? 0
    t.ok(free >= start + window && free < start + window + slice, `${free - start} ms after the first`)
    t.equal(refused?.retryAfter, Math.ceil((free - now) / SECOND))
    t.match(await send(limits, { now: free - 1, phone: phone(3), workspaceId }), { reason, retryAfter: 1 })
    t.equal(await send(limits, { now: free, phone: phone(3), workspaceId }), null, 'then it goes through')
    t.match(await send(limits, { now: free, phone: phone(4), workspaceId }), { reason }, 'and one only')
  })
}

t.test('of requests at the same moment no more pass than the limit', async (t) => {
  const area = nextArea()
  const sendAll = (limits: Partial<SendLimits>, phones: readonly string[], workspaces = 1) =>
    Promise.all(
      phones.map((phone, place) => send(limits, { now: noon, phone, workspaceId: `ws_${area}_${place % workspaces}` })),
    )
  const passed = (answers: readonly unknown[]): number => answers.filter((answer) => answer === null).length
  const same = Array.from({ length: 60 }, () => `${area}10000`)
  t.equal(passed(await sendAll({ per_phone_per_hour: 5 }, same)), 5)
  const range = Array.from({ length: 60 }, (_, place) => `${area}${20_000 + place}`)
  t.equal(passed(await sendAll({ per_range_per_hour: 7 }, range)), 7)
  const many = Array.from({ length: 60 }, (_, place) => `${nextArea()}${30_000 + place}`)
  t.equal(passed(await sendAll({ per_workspace_per_minute: 24 }, many)), 12, 'with the 12 before')
  const shared = Array.from({ length: 60 }, () => `${area}40000`)
  t.equal(passed(await sendAll({ per_phone_per_hour: 5 }, shared, 20)), 15, 'twenty workspaces have three times one')
})

t.test('other workspaces have three times the limit of a phone and of a range, not more', async (t) => {
  const area = nextArea()
  const limits = { per_phone_per_hour: 2, per_range_per_hour: 3 }
  const [own, other] = [`${area}50000`, `${area}50001`]
  for (const workspaceId of ['a', 'b', 'c'].map((name) => `${name}${area}`)) {
    t.equal(await send(limits, { now: noon, phone: own, workspaceId }), null)
    t.equal(await send(limits, { now: noon, phone: own, workspaceId }), null)
    t.match(await send(limits, { now: noon, phone: own, workspaceId }), { reason: 'phone_limit', limit: 2 })
  }
  const fourth = { now: noon + 1, workspaceId: `d${area}` }
  t.match(await send(limits, { ...fourth, phone: own }), { reason: 'service_limit', limit: 6, retryAfter: 3600 })
  for (const place of ['a', 'b', 'c']) {
    t.equal(await send(limits, { now: noon, phone: other, workspaceId: `${place}${area}` }), null)
  }
  t.match(await send(limits, { ...fourth, phone: `${area}50002` }), { reason: 'service_limit', limit: 9 })
  t.equal(await send(limits, { ...fourth, phone: `${nextArea()}50002` }), null, 'another range')
})

t.test('of several limits the one that ends last is reported', async (t) => {
  const area = nextArea()
  const phone = `${area}60000`
  const limits = { per_phone_per_hour: 1, per_phone_per_day: 1, per_workspace_per_minute: 1 }
  t.equal(await send(limits, { now: noon, phone }), null)
  t.match(await send(limits, { now: noon, phone }), { reason: 'phone_limit', retryAfter: DAY / SECOND })
})

t.test('a clock that was set back delays a retry by no more than the window', async (t) => {
  const phone = `${nextArea()}70000`
  t.equal(await send({ per_phone_per_hour: 1 }, { now: noon + DAY, phone }), null)
  t.match(await send({ per_phone_per_hour: 1 }, { now: noon, phone }), { reason: 'phone_limit', retryAfter: 3600 })
})

t.test('a held prefix refuses in the commit, until it is released', async (t) => {
  const area = nextArea()
  const sending = { now: noon, phone: `${area}80000`, workspaceId: 'ws_held' }
  const { prefix } = planned(sending)
  const hold = { workspace_id: 'ws_held', prefix, held_at: noon, until_at: noon + HOUR, sent: 40, verified: 1 }
  await commit([insertHold({ ...hold, since: noon - HOUR })])
  t.match(await send({}, sending), { reason: 'prefix_held', retryAfter: 3600 })
  t.equal(await send({ min_verified_percent: 0 }, sending), null, 'the watch is off')
  t.equal(await send({}, { ...sending, workspaceId: 'ws_free' }), null, 'another workspace')
  t.equal(await send({}, { ...sending, now: noon + HOUR }), null, 'it has ended')
  t.match(
    await send({ per_phone_per_day: 1 }, sending),
    { reason: 'phone_limit', retryAfter: 90_000 - 3600 },
    'a limit that ends later than the hold',
  )
  await releaseHolds(database, { prefix, workspaceId: 'ws_held', now: noon + 1 })
  t.equal(await send({}, { ...sending, now: noon + 1 }), null)
})

const lengths = { phone: HOUR, range: HOUR, workspace: MINUTE }
const slices = { phone: 1, range: MINUTE, workspace: SECOND }
const maxima = { phone: 2, range: 4, workspace: 5 }

/** Admitted sends within `span` ms up to now, by what they have in common with this one. */
function countLike(past: readonly PlannedSend[], one: PlannedSend, spans: typeof lengths) {
  const within = (span: number) => past.filter(({ now }) => now > one.now - span)
  const own = (span: number) => within(span).filter(({ workspaceId }) => workspaceId === one.workspaceId)
  const ofPhone = (all: readonly PlannedSend[]) => all.filter(({ phone }) => phone === one.phone).length
  const ofRange = (all: readonly PlannedSend[]) => all.filter(({ range }) => range === one.range).length
  return [
    ofPhone(own(spans.phone)) >= maxima.phone,
    ofRange(own(spans.range)) >= maxima.range,
    own(spans.workspace).length >= maxima.workspace,
    ofPhone(within(spans.phone)) >= 3 * maxima.phone,
    ofRange(within(spans.range)) >= 3 * maxima.range,
  ].includes(true)
}

t.test('any sequence agrees with a recount of what was admitted', async (t) => {
  const limits = {
    ...{ per_phone_per_hour: maxima.phone, per_range_per_hour: maxima.range },
    per_workspace_per_minute: maxima.workspace,
  }
  const longer = {
    phone: lengths.phone + slices.phone - 1,
    range: lengths.range + slices.range - 1,
    workspace: lengths.workspace + slices.workspace - 1,
  }
  const step = fc.record({
    wait: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 9_000 }) }, fc.integer({ min: 0, max: HOUR })),
    place: fc.integer({ min: 0, max: 5 }),
    workspace: fc.integer({ min: 0, max: 3 }),
  })
  let [admitted, refused] = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 60 }), async (steps) => {
      const area = nextArea()
      const past: PlannedSend[] = []
      let now = noon
      for (const { wait, place, workspace } of steps) {
        now += wait
        const phone = `${area}${place % 2}${String(1000 + place)}`
        const sending = { now, phone, workspaceId: `ws_${area}_${workspace}` }
        const one = planned(sending)
        const answer = await send(limits, sending)
        if (answer === null) {
          admitted += 1
          t.notOk(countLike(past, one, lengths), 'admitted within every limit')
          past.push(one)
        } else {
          refused += 1
          t.ok(countLike(past, one, longer), 'refused only if a limit was reached, with one slice more')
          const later = { ...one, now: now + answer.retryAfter * SECOND }
          t.equal(
            await new SendCharger(read, () => ({ limits: { ...ampleLimits, ...limits } })).findRefusal(later),
            null,
            'a retry passes',
          )
        }
      }
    }),
    { numRuns: 60 },
  )
  t.ok(admitted > 500 && refused > 500, `${admitted} admitted, ${refused} refused`)
})

t.test('the provider is asked no more often than the limits allow, whatever comes at once', async (t) => {
  const deepest = { ...ampleLimits, per_phone_per_hour: 4, per_workspace_per_minute: 10 }
  let asked = 0
  const sender = new CodeSender({
    ...{ read, commit, clock: () => noon, log: pino({ level: 'silent' }) },
    codeKey: deriveCodeKey(createSecretKey(Buffer.alloc(32))),
    provider: {
      name: 'log',
      send: async () => {
        asked += 1
        return asked % 2 === 0 ? { kind: 'accepted', messageIds: [] } : { kind: 'refused', reason: 'test' }
      },
      stop: async () => undefined,
    },
    allowedCountries: () => ['AT'],
    watch: new ConversionWatch({ read, commit }, { warn: () => undefined }, () => ({ limits: deepest })),
    charger: new SendCharger(read, () => ({ limits: deepest })),
    countSent,
    buildReceiptUrl: () => '',
  })
  await commit([await rowOf(read)('workspaces', { id: 'ws_sender' })])
  const request = { workspaceId: 'ws_sender', template: undefined, codeLength: 6, expiryMinutes: 10, metadata: null }
  const outcomes = async (phones: readonly string[]): Promise<Readonly<Record<string, number>>> => {
    const settled = await Promise.allSettled(phones.map((phone) => sender.send({ ...request, phone })))
    const names = settled.map((one) =>
      one.status === 'fulfilled' ? 'sent' : String(one.reason.details['reason'] ?? one.reason.kind),
    )
    return Object.fromEntries([...new Set(names)].map((name) => [name, names.filter((one) => one === name).length]))
  }
  t.strictSame(await outcomes(Array.from({ length: 40 }, () => '+436601234567')), {
    unavailable: 2,
    sent: 2,
    phone_limit: 36,
  })
  t.equal(asked, 4, 'refused messages count')
  const others = Array.from({ length: 40 }, (_, place) => `+43660${7_654_300 + place}`)
  t.match(await outcomes(others), { sent: 3, workspace_limit: 34 })
  t.equal(asked, 10)
  t.match(await readSmsUsage(read, 'ws_sender', 10, noon), { sms_sent: 5 }, 'what the provider accepted')
})

t.test('buckets that no window reaches are removed, days of a month are kept', async (t) => {
  const phone = `${nextArea()}90000`
  await send({}, { now: noon - 30 * DAY, phone, workspaceId: 'ws_old' })
  const rows = async (): Promise<number> =>
    (await read<{ n: number }>('select count(*) as n from usage where bucket < ?', [noon - 29 * DAY]))[0]?.n ?? -1
  t.equal(await rows(), 7)
  const cleanup = new UsageCleanup(database, noon)
  while (await cleanup.step());
  t.equal(await rows(), 0)
})
