/** The counts of a warm-up in memory and on disk: over days, restarts, crashes and changes of the operator. */
// Of SQLite alone: it makes thousands of commits one after the other, which say nothing about the engine.
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { insertWarmUp, listWarmUps, resetWarmUps } from '../../../../src/outbound/delivery/sources/warm-up-store.js'
import { WarmUps } from '../../../../src/outbound/delivery/sources/warm-ups.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const DAY = 86_400_000
const noon = Date.parse('2026-11-01T12:00:00Z')
const key = { workspaceId: 'service', subject: '192.0.2.1', provider: 'google' }
const log = pino({ level: 'silent' })

interface Bench {
  readonly database: Database
  readonly commits: () => number
  now: number
  /** As after a crash: what was opened before writes nothing any more. */
  readonly open: () => Promise<WarmUps>
}

async function bench(t: Test, plan: readonly number[]): Promise<Bench> {
  const { database } = await temporaryDatabase(t)
  let commits = 0
  let life = 0
  const commitOf = (own: number): Database['commit'] => {
    return async (writes) => {
      if (own !== life) throw new Error('the process is dead')
      commits += 1
      await database.commit(writes)
    }
  }
  const made: Bench = {
    database,
    commits: () => commits,
    now: noon,
    open: async () => {
      life += 1
      const commit = commitOf(life)
      const warmUps = new WarmUps({ read: database.read, commit, clock: () => made.now, log, readPlan: () => plan })
      await warmUps.prepare([key, { ...key, provider: 'yahoo' }])
      return warmUps
    },
  }
  return made
}

/** Sends until the cap; returns how many were allowed, up to `limit`. */
async function send(warmUps: WarmUps, limit: number, result: 'sent' | 'deferred' = 'sent'): Promise<number> {
  await warmUps.prepare([key])
  for (let sent = 0; sent < limit; sent += 1) {
    if (warmUps.findWait(key) !== null) return sent
    const claim = warmUps.claim(key)
    await claim?.isReserved
    claim?.count(result)
    claim?.release()
  }
  return limit
}

t.test('the cap of a day holds for what is under way too, and what came to nothing is given back', async (t) => {
  const { open } = await bench(t, [2, 4])
  const warmUps = await open()
  const claims = [warmUps.claim(key), warmUps.claim(key)]
  t.same(warmUps.findWait(key), {
    kind: 'outage',
    until: Date.parse('2026-11-02T00:00:00Z'),
    why: '192.0.2.1 is warming up at Google: 2 of 2 today',
  })
  t.equal(warmUps.findWait({ ...key, provider: 'yahoo' }), null)
  claims[0]?.count('none')
  claims[0]?.release()
  claims[0]?.release()
  t.equal(warmUps.findWait(key), null)
  claims[1]?.count('sent')
  claims[1]?.release()
  t.equal(await send(warmUps, 10), 1)
  await warmUps.stop()
})

t.test('good days go on to the end of the plan, a bad one goes back', async (t) => {
  const context = await bench(t, [20, 40, 80])
  const warmUps = await context.open()
  const days: number[] = []
  for (const result of ['sent', 'sent', 'deferred', 'sent', 'sent', 'sent'] as const) {
    days.push(await send(warmUps, 100, result))
    context.now += DAY
  }
  t.same(days, [20, 40, 80, 40, 80, 100])
  await warmUps.stop()
  t.match(await listWarmUps(context.database.read, { workspaceId: 'service' }), [{ ended: 1, step: 3 }])
})

t.test('a restart keeps the counts, and a crash counts what was reserved', async (t) => {
  const context = await bench(t, [100])
  const first = await context.open()
  t.equal(await send(first, 35), 35)
  t.ok(context.commits() < 20, `${context.commits()} commits`)
  const afterCrash = await context.open()
  const left = await send(afterCrash, 1_000)
  t.ok(left >= 55 && left <= 65, `${left} are left of 65`)
  await afterCrash.stop()
  t.equal(await send(await context.open(), 10), 0)
  context.now += DAY
  const stopped = await context.open()
  t.equal(await send(stopped, 7), 7, 'the plan has ended')
})

t.test('a regular end loses nothing', async (t) => {
  const context = await bench(t, [100])
  const first = await context.open()
  await send(first, 35)
  await first.stop()
  t.match(await listWarmUps(context.database.read, { workspaceId: 'service' }), [{ sent: 35, reserved: 35 }])
  t.equal(await send(await context.open(), 1_000), 65)
})

t.test('what the operator changes is taken over, and not overwritten', async (t) => {
  const { database, now, open } = await bench(t, [2, 4])
  const warmUps = await open()
  t.equal(await send(warmUps, 10), 2)
  const everywhere = { ...key, provider: '*' }
  await database.commit([
    resetWarmUps({ ...everywhere, step: 0, ended: 1, at: now }),
    insertWarmUp({ ...everywhere, day: 0, ended: 1, at: now }),
  ])
  warmUps.drop()
  await warmUps.prepare([key, { ...key, provider: 'yahoo' }])
  t.equal(warmUps.findWait(key), null)
  t.equal(warmUps.claim(key), null, 'nothing is counted')
  t.equal(warmUps.claim({ ...key, provider: 'yahoo' }), null, 'nor at a provider that had no row')
  await database.commit([resetWarmUps({ ...key, step: 0, ended: 0, at: now })])
  warmUps.drop()
  await warmUps.prepare([key, { ...key, provider: 'yahoo' }])
  t.match(warmUps.findWait(key), { why: /2 of 2/ }, 'what was sent today still counts')
  await warmUps.stop()
  t.match(
    (await listWarmUps(database.read, { workspaceId: 'service' })).map(({ provider, ended }) => [provider, ended]),
    [
      ['*', 1],
      ['google', 0],
    ],
  )
})

t.test('a claim whose reservation is not written is given back', async (t) => {
  const { database, now } = await bench(t, [1])
  const commit = async (): Promise<void> => {
    throw new Error('no space')
  }
  const warmUps = new WarmUps({ read: database.read, commit, clock: () => now, log, readPlan: () => [1] })
  await warmUps.prepare([key])
  await t.rejects(warmUps.claim(key)?.isReserved ?? Promise.resolve(), { message: 'no space' })
  t.equal(warmUps.findWait(key), null)
})

t.test('a load that ends late does not undo what the operator has changed', async (t) => {
  const { database, now } = await bench(t, [2])
  const waiting: (() => void)[] = []
  let reads = 0
  const read: typeof database.read = async (sql, parameters) => {
    reads += 1
    const waits = reads === 2
    const rows = await database.read<never>(sql, parameters)
    if (waits) await new Promise<void>((resolve) => waiting.push(resolve))
    return rows
  }
  const warmUps = new WarmUps({ read, commit: database.commit, clock: () => now, log, readPlan: () => [2] })
  const old = warmUps.prepare([key])
  await database.commit([insertWarmUp({ ...key, provider: '*', day: 0, ended: 1, at: now })])
  warmUps.drop()
  await warmUps.prepare([key])
  t.equal(warmUps.claim(key), null, 'the operator has ended the warm-up')
  t.equal(waiting.length, 1)
  for (const goOn of waiting) goOn()
  await old
  t.equal(warmUps.claim(key), null, 'and that stays')
})
