/** Rate limits of requests: by tables, by property, and across a restart. */
import fc from 'fast-check'
import t from 'tap'
import { builtInPlans, type PlanLimits } from '../../../../src/base/config/plans.js'
import { parseAddress } from '../../../../src/base/mail/address.js'
import type { Commit } from '../../../../src/base/storage/db/write.js'
import { eraseWorkspace } from '../../../../src/base/storage/maintenance/erase.js'
import { buildRateRefusal, RateLimit, type RateState } from '../../../../src/workspaces/accounts/limits/rate-limit.js'
import { DailyRequests } from '../../../../src/workspaces/accounts/limits/rate-limit-days.js'
import {
  SlidingCount,
  slidingDay,
  slidingMinute,
  slidingSecond,
  type WindowShape,
} from '../../../../src/workspaces/accounts/limits/rate-limit-window.js'
import { buildWorkspaceWithOwner } from '../../../../src/workspaces/accounts/workspace/workspaces.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

/** A full hour, so that slices of every window begin here. */
const begun = Date.UTC(2026, 10, 21, 12)

type Look = readonly [at: number, allowed: boolean, remaining: number, retryAfter: number]

const tables: readonly (readonly [what: string, limits: PlanLimits, looks: readonly Look[]])[] = [
  [
    'a sliding second is exact',
    { requests_per_second: 3 },
    [
      [0, true, 2, 1],
      [400, true, 1, 1],
      [400, true, 0, 1],
      [401, false, 0, 1],
      [999, false, 0, 1],
      [1000, true, 0, 1],
      [1001, false, 0, 1],
      [1400, true, 1, 1],
      [1400, true, 0, 1],
      [1400, false, 0, 1],
    ],
  ],
  [
    'a burst goes through at once, and the pace holds afterwards',
    { requests_per_second: 2, burst: 4 },
    [
      [0, true, 3, 1],
      [0, true, 2, 1],
      [0, true, 1, 1],
      [0, true, 0, 1],
      [0, false, 0, 1],
      // The bucket has gained one token, but a second never holds more than the burst.
      [999, false, 0, 1],
      [1000, true, 1, 1],
      [1000, true, 0, 1],
      [1001, false, 0, 1],
      [1499, false, 0, 1],
      [1500, true, 0, 1],
      [10_000, true, 3, 1],
    ],
  ],
  [
    'the window that refuses first is reported, and the one that refuses longest',
    { requests_per_second: 2, requests_per_minute: 3 },
    [
      [0, true, 1, 1],
      [100, true, 0, 1],
      [200, false, 0, 1],
      [5000, true, 0, 56],
      [5000, false, 0, 56],
      [60_098, false, 0, 1],
      [60_099, true, 0, 1],
    ],
  ],
  [
    'a day has slices of ten minutes',
    { requests_per_day: 2 },
    [
      [0, true, 1, 87_000],
      [600_000, true, 0, 86_400],
      [86_400_000, false, 0, 600],
      [86_999_998, false, 0, 1],
      [86_999_999, true, 0, 600],
    ],
  ],
]

t.test('requests are limited by the second, the minute and the day', async (t) => {
  for (const [what, limits, looks] of tables) {
    const limit = new RateLimit({ limitsOf: () => limits })
    for (const [at, allowed, remaining, retryAfter] of looks) {
      const state = limit.take('ws', begun + at)
      t.match(state, { allowed, remaining, retryAfter }, `${what}: at ${at}`)
      t.equal(state.resetAt, Math.ceil(state.resetAt))
      t.ok(state.resetAt * 1000 >= begun + at, `${what}: at ${at}: it resets later`)
    }
  }
})

t.test('a plan without request limits refuses nothing and counts against 1000 a second', async (t) => {
  for (const limits of [{}, { emails_per_month: 5 }]) {
    const limit = new RateLimit({ limitsOf: () => limits })
    t.match(limit.peek('ws', begun), { allowed: true, limit: 1000, remaining: 1000, resetAt: begun / 1000 })
    for (let n = 0; n < 1200; n += 1) limit.take('ws', begun + 1)
    t.match(limit.take('ws', begun + 2), { allowed: true, limit: 1000, remaining: 0, resetAt: begun / 1000 + 2 })
    t.match(limit.take('ws', begun + 1002), { allowed: true, limit: 1000, remaining: 999 })
  }
})

t.test('checking counts nothing, a refusal counts nothing, and each key has its own count', async (t) => {
  const limit = new RateLimit({ limitsOf: () => ({ requests_per_second: 1 }) })
  for (let n = 0; n < 3; n += 1) t.match(limit.peek('a', begun), { allowed: true, remaining: 1 })
  t.equal(limit.take('a', begun).allowed, true)
  for (let at = 1; at < 1000; at += 100) t.equal(limit.take('a', begun + at).allowed, false)
  t.equal(limit.take('b', begun + 1).allowed, true)
  t.equal(limit.take('a', begun + 1000).allowed, true)
})

t.test('a new plan applies at once, including requests already counted', async (t) => {
  let limits: PlanLimits = builtInPlans['free'] ?? {}
  const limit = new RateLimit({ limitsOf: () => limits })
  for (let n = 0; n < 20; n += 1) t.equal(limit.take('ws', begun).allowed, true)
  t.match(limit.take('ws', begun), { allowed: false, limit: 20 })
  limits = builtInPlans['pro'] ?? {}
  t.match(limit.take('ws', begun), { allowed: false, limit: 200 }, 'the bucket fills at the new pace')
  t.match(limit.take('ws', begun + 10), { allowed: true, limit: 200 })
  limits = { requests_per_second: 5 }
  t.match(limit.take('ws', begun + 20), { allowed: false, limit: 5 })
  limits = { requests_per_minute: 500 }
  t.match(limit.take('ws', begun + 20), { allowed: true, limit: 500 })
})

t.test('memory is bounded: the least recently used key is dropped', async (t) => {
  const limit = new RateLimit({ limitsOf: () => ({ requests_per_minute: 1 }), maxKeys: 2 })
  for (const key of ['a', 'b']) limit.take(key, begun)
  t.equal(limit.take('a', begun).allowed, false)
  t.equal(limit.take('c', begun).allowed, true)
  t.equal(limit.take('a', begun).allowed, false, 'it was used later than b')
  t.equal(limit.take('b', begun).allowed, true)
})

t.test('a clock that is set back delays requests and never admits more', async (t) => {
  const limit = new RateLimit({ limitsOf: () => ({ requests_per_second: 2, burst: 2 }) })
  for (const at of [0, -5000]) t.equal(limit.take('ws', begun + at).allowed, true)
  for (const at of [-5000, -1, 0, 999]) t.equal(limit.take('ws', begun + at).allowed, false)
  t.equal(limit.take('ws', begun + 1000).allowed, true)
})

t.test('a refusal says how long to wait', async (t) => {
  const limit = new RateLimit({ limitsOf: () => ({ requests_per_minute: 1 }) })
  limit.take('ws', begun + 1)
  const refusal = buildRateRefusal(limit.take('ws', begun + 2))
  t.match(refusal, { kind: 'rate-limited', message: 'too many requests: try again in 61 s' })
  t.same(refusal.details, { retry_after: 61, limit: 1, remaining: 0, reset_at: '2026-11-21T12:01:01.000Z' })
})

t.test('no span of time holds more than its limit, and a client that waits until resetAt is admitted', async (t) => {
  const small = fc.integer({ min: 1, max: 12 })
  const plan = fc.record(
    {
      requests_per_second: small,
      more: fc.integer({ min: 0, max: 12 }),
      requests_per_minute: fc.integer({ min: 1, max: 40 }),
      requests_per_day: fc.integer({ min: 1, max: 60 }),
    },
    { requiredKeys: ['requests_per_second'] },
  )
  const wait = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 300 }) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 70_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: slidingDay.length }) },
  )
  let refused = 0
  fc.assert(
    fc.property(plan, fc.array(wait, { minLength: 20, maxLength: 200 }), ({ more, ...drawn }, waits) => {
      const burst = more === undefined ? undefined : drawn.requests_per_second + more
      const limits: PlanLimits = { ...drawn, burst }
      const limit = new RateLimit({ limitsOf: () => limits })
      const passed: number[] = []
      let now = begun
      const ask = (): RateState => {
        const state = limit.take('ws', now)
        if (state.allowed) passed.push(now)
        return state
      }
      for (const after of waits) {
        now += after
        const state = ask()
        if (state.allowed) continue
        refused += 1
        // Every other client waits until resetAt; the rest keep asking.
        if (after % 2 === 0) continue
        now += state.retryAfter * 1000
        if (!ask().allowed) throw new Error(`refused after the wait, until ${now}`)
      }
      holds(passed, slidingSecond, burst ?? drawn.requests_per_second)
      if (burst !== undefined) holdsPace(passed, burst, drawn.requests_per_second)
      if (drawn.requests_per_minute !== undefined) holds(passed, slidingMinute, drawn.requests_per_minute)
      if (drawn.requests_per_day !== undefined) holds(passed, slidingDay, drawn.requests_per_day)
    }),
  )
  t.ok(refused > 1000, `it was refused often enough: ${refused}`)
})

/** Every span of the window's length that ends with a request. */
function holds(passed: readonly number[], { length }: WindowShape, limit: number): void {
  passed.forEach((at, place) => {
    const first = passed[place - limit]
    if (first !== undefined && at - first < length) throw new Error(`${limit + 1} within ${at - first} of ${length} ms`)
  })
}

/** No span holds more than the burst and what its length gains. */
function holdsPace(passed: readonly number[], burst: number, perSecond: number): void {
  passed.forEach((end, last) => {
    passed.slice(0, last + 1).forEach((start, first) => {
      const most = burst + ((end - start) * perSecond) / 1000
      if (last - first + 1 > most) throw new Error(`${last - first + 1} within ${end - start} ms, at most ${most}`)
    })
  })
}

t.test('a window drops requests that have left it', async (t) => {
  const count = new SlidingCount(slidingSecond)
  for (let at = 0; at < 5000; at += 1) count.add(begun + at)
  t.equal(count.count(begun + 4999), 1000)
  t.equal(count.nextRoomAt(1000, begun + 4999), begun + 5000)
  t.equal(count.nextRoomAt(1, begun + 4999), begun + 5999, 'all but none must leave')
  t.equal(count.count(begun + 5999), 0)
  t.equal(count.nextRoomAt(1, begun + 6000), begun + 6000)
})

t.test('the daily count survives a restart, except for what was not yet saved', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { workspaceId, writes } = await buildWorkspaceWithOwner(
    ...([database.read, 'Own', parseAddress('o@a.test'), 'day', begun] as const),
  )
  await database.commit(writes)
  const perDay: PlanLimits = { requests_per_day: 10 }
  let limits = perDay
  const later = begun + 3_600_000
  const start = async (commit: Commit = database.commit) => {
    const days = await DailyRequests.open({ read: database.read, commit }, later)
    return { days, limit: new RateLimit({ limitsOf: () => limits, days, maxKeys: 1 }) }
  }
  const first = await start()
  for (let n = 0; n < 3; n += 1) first.limit.take(workspaceId, begun)
  await Promise.all([first.days.save(begun), first.days.save(begun)])
  for (let n = 0; n < 2; n += 1) first.limit.take(workspaceId, later)
  first.limit.take('another', begun)
  t.equal(first.limit.peek(workspaceId, later).remaining, 5, 'pushed out of the memory, it is all there')

  t.equal((await start()).limit.peek(workspaceId, later).remaining, 7, 'a crash forgets what was not saved')
  await first.days.save(later)
  const second = await start()
  t.equal(second.limit.take(workspaceId, later).remaining, 4)
  t.equal(
    second.limit.peek(workspaceId, begun + 86_400_000 + 600_000).remaining,
    7,
    'the three of the first hour are over',
  )

  limits = { requests_per_minute: 10 }
  second.limit.take(workspaceId, later)
  limits = perDay
  await second.days.save(later)
  t.equal((await start()).limit.peek(workspaceId, later).remaining, 4, 'what no day limits is not kept')

  const failing = await start(async () => Promise.reject(new Error('disk full')))
  failing.limit.take(workspaceId, later)
  await t.rejects(failing.days.save(later), /disk full/)
  await t.rejects(failing.days.save(later), /disk full/, 'nothing is lost by a save that fails')

  await eraseWorkspace(database, workspaceId)
  second.limit.take(workspaceId, later)
  await second.days.save(later)
  t.same(await database.read('select * from usage', []), [], 'a workspace that is gone leaves nothing')
})

t.test(
  'what is older than a day is forgotten once it is saved, and counts during a save are saved later',
  async (t) => {
    const { database } = await temporaryDatabase(t)
    const { workspaceId, writes } = await buildWorkspaceWithOwner(
      ...([database.read, 'Own', parseAddress('o@a.test'), 'day', begun] as const),
    )
    await database.commit(writes)
    const days: DailyRequests = await DailyRequests.open(
      {
        read: database.read,
        commit: async (given) => {
          days.count(workspaceId, begun)
          await database.commit(given)
        },
      },
      begun,
    )
    days.count(workspaceId, begun)
    await days.save(begun)
    const [saved] = await database.read<{ count: number }>('select count from usage', [])
    t.equal(saved?.count, 1)
    t.match(days.readSlices(workspaceId, begun), [{ count: 2 }])
    const nextDay = begun + 86_400_000 + 600_000
    t.same(days.readSlices(workspaceId, nextDay), [])
    await days.save(nextDay)
    t.match(days.readSlices(workspaceId, begun), [{ count: 3 }], 'it is held while a part of it is not saved')
    const again = await DailyRequests.open(database, nextDay)
    t.same(again.readSlices(workspaceId, begun), [], 'only the last day is read')
  },
)

t.test('each of several nodes learns what the others have counted when it saves', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { workspaceId, writes } = await buildWorkspaceWithOwner(
    ...([database.read, 'Own', parseAddress('o@a.test'), 'day', begun] as const),
  )
  await database.commit(writes)
  const start = async () => {
    const days = await DailyRequests.open(database, begun, true)
    return { days, limit: new RateLimit({ limitsOf: () => ({ requests_per_day: 10 }), days }) }
  }
  const [one, other] = [await start(), await start()]
  for (let n = 0; n < 4; n += 1) one.limit.take(workspaceId, begun)
  other.limit.take(workspaceId, begun)
  await one.days.save(begun)
  t.equal(one.limit.peek(workspaceId, begun).remaining, 6, 'the other has not saved yet')
  const saved = other.days.save(begun + 1)
  other.limit.take(workspaceId, begun + 1)
  await saved
  t.equal(other.limit.peek(workspaceId, begun + 1).remaining, 4)
  t.equal(other.limit.take(workspaceId, begun + 2).remaining, 3)
  one.limit.take(workspaceId, begun + 3)
  await Promise.all([one.days.save(begun + 3), other.days.save(begun + 3)])
  one.limit.take(workspaceId, begun + 4)
  await one.days.save(begun + 4)
  t.equal(one.limit.peek(workspaceId, begun + 4).remaining, 1)
})
