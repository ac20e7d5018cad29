/** The runner when something of ours goes wrong: the database, the message, the attempt, the end. */
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { type Commit, StorageFault, type Write } from '../../../src/base/storage/db/write.js'
import { AttemptSettler } from '../../../src/outbound/delivery/attempt/attempt-settler.js'
import type { MessageSender } from '../../../src/outbound/delivery/attempt/message-sender.js'
import type { Destination } from '../../../src/outbound/delivery/hosts/destination.js'
import type { Claim } from '../../../src/outbound/delivery/queue/leases.js'
import { MessageCache } from '../../../src/outbound/delivery/queue/message-cache.js'
import { QueueRunner } from '../../../src/outbound/delivery/queue-runner.js'
import type { RunnerDeps } from '../../../src/outbound/delivery/runner-deps.js'
import type { Outage } from '../../../src/outbound/delivery/shaping/unreachable-hosts.js'
import type { AttemptResult } from '../../../src/outbound/delivery/smtp/attempt-result.js'
import { writesWithLease } from '../../../src/records/messages/queue/enqueue.js'
import { type BulkEmail, bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { type SeedAccounts, seedDatabase } from '../../helpers/database/seed-data.js'
import { noPaces, ownOwners } from '../../helpers/free-pace.js'
import { hostAt } from '../../helpers/smtp/sink-client.js'
import { waitUntil } from '../../helpers/wait-until.js'
import { preparerOf } from './attempt/preparer.js'

const taken: AttemptResult = {
  outcome: { kind: 'accepted', final: true, reply: { code: 250, enhanced: null, text: 'taken' }, dsnRelayed: true },
  peer: { mx: 'mx.b.test', address: '127.0.0.1', tls: null },
  transcript: 'a dialogue',
}

const full = new StorageFault('SQLITE_FULL', 'database or disk is full')
const isLease = ({ sql }: Write): boolean => /^update "queue".*"attempts" = [?$]/s.test(sql)
const isOutcome = ({ sql }: Write): boolean => sql.startsWith('insert into "attempts"')

/** One look at the row: between two of them it may be leased. */
const isDeferred = (row: { attempts: number; leased: number } | undefined): boolean =>
  row?.leased === 0 && row.attempts === 1

interface Running {
  readonly database: Database
  readonly accounts: SeedAccounts
  readonly runner: QueueRunner
  /** Recipients that were attempted, in their order. */
  readonly attempted: string[]
  readonly errors: string[]
  /** Set: a commit in which such a write is faults; `read`: every read does. */
  readonly faults: { commit: ((write: Write) => boolean) | null; read: boolean }
  /** Commits an email; `offered`: and hands it over. */
  readonly add: (to: string, offered: boolean, more?: Partial<BulkEmail>) => Promise<string>
  /** Commits an email with its claim, where it gets one, and hands it over unless `keep` does. */
  readonly take: (to: string | readonly string[], keep?: (handOver: () => void) => unknown) => Promise<Claim | null>
  readonly row: (
    to: string,
  ) => Promise<{ attempts: number; next_attempt_at: number; leased: number; held: number } | undefined>
  readonly status: (to: string) => Promise<string | undefined>
  readonly now: () => number
  readonly pass: (milliseconds: number) => void
}

/** What a test changes of the parts of the runner. */
interface Changes extends Partial<RunnerDeps> {
  readonly attempt?: MessageSender['send']
  readonly findDestination?: RunnerDeps['destinations']['find']
  readonly findHoldRule?: RunnerDeps['holdRules']['find']
  readonly settle?: RunnerDeps['settler']['settle']
}

function toParts({ attempt, findDestination, findHoldRule, settle, ...parts }: Changes): Partial<RunnerDeps> {
  return {
    ...parts,
    ...(attempt === undefined ? {} : { sender: { send: attempt } }),
    ...(findDestination === undefined ? {} : { destinations: { find: findDestination } }),
    ...(findHoldRule === undefined
      ? {}
      : {
          holdRules: {
            find: findHoldRule,
            findStored: async (entry) => findHoldRule(entry, null),
            hold: async () => undefined,
          },
        }),
    ...(settle === undefined ? {} : { settler: { settle } }),
  }
}

async function running(
  t: Test,
  deps: Changes = {},
  onCommit: (...request: Parameters<Commit>) => void = () => undefined,
): Promise<Running> {
  const { database } = await temporaryDatabase(t)
  const accounts = await seedDatabase(database)
  const faults: Running['faults'] = { commit: null, read: false }
  const attempted: string[] = []
  const errors: string[] = []
  const time = { now: Date.UTC(2026, 10, 21) }
  const now = (): number => time.now
  const log = pino({ level: 'error' }, { write: (line) => errors.push(line) })
  const commit: Commit = async (writes, options) => {
    onCommit(writes, options)
    if (faults.commit !== null && writes.some(faults.commit)) throw full
    return database.commit(writes, options)
  }
  const read: Database['read'] = async (sql, parameters) => {
    if (faults.read) throw full
    return database.read(sql, parameters)
  }
  const messageCache = new MessageCache(1_000_000)
  const policy = { retry_schedule: [60_000], delay_notice_after: 3_600_000, expire_after: 7_200_000 } as const
  const settleDeps = {
    read,
    commit,
    clock: now,
    random: () => 0,
    log,
    retryPolicy: () => policy,
    senderNotices: { build: () => null },
  }
  const runner: QueueRunner = new QueueRunner({
    node: database.node.name,
    holdsLease: () => true,
    read,
    commit,
    clock: now,
    log,
    messageCache,
    paces: noPaces,
    owners: ownOwners,
    messages: preparerOf(t, read, messageCache),
    destinations: { find: async () => ({ kind: 'hosts', hosts: [] }) },
    holdRules: { find: () => null, findStored: async () => null, hold: async () => undefined },
    leavers: { has: async () => false, remove: async () => undefined },
    sender: {
      send: async ({ recipient }) => {
        attempted.push(recipient)
        return taken
      },
    },
    unreachable: { checkReachability: () => ({ kind: 'open' }) },
    sources: {
      assign: async (_entry, destination) => ({
        destination,
        wait: null,
        isOfEntry: false,
        count: () => undefined,
        release: () => undefined,
      }),
      noteMissing: () => undefined,
    },
    settler: new AttemptSettler(settleDeps),
    retryPolicy: () => policy,
    connections: () => ({ max_connections: 10, max_connections_per_host: 10 }),
    ...toParts(deps),
  })
  t.teardown(async () => {
    Object.assign(faults, { commit: null, read: false })
    await runner.stop(0)
  })
  return {
    database,
    accounts,
    runner,
    attempted,
    errors,
    faults,
    now,
    pass: (milliseconds) => {
      time.now += milliseconds
    },
    add: async (to, offered, more = {}) => {
      const email = bulkEmail({ workspaceId: accounts.workspaceId, to, at: now(), ...more })
      await database.commit(email.writes)
      if (offered) runner.offer(email)
      return email.email.id
    },
    take: async (to, keep = (handOver) => handOver()) => {
      const raw = Buffer.from('From: app@a.test\r\n\r\ntext\r\n')
      const email = bulkEmail({ workspaceId: accounts.workspaceId, to, at: time.now, raw })
      const claim = runner.claim(email)
      await database.commit(claim === null ? email.writes : writesWithLease(email, claim.until))
      await keep(() => runner.offer(email, claim))
      return claim
    },
    row: async (to) =>
      (
        await database.read<{ attempts: number; next_attempt_at: number; leased: number; held: number }>(
          'select attempts, next_attempt_at, leased, held from queue where recipient = ?',
          [to],
        )
      )[0],
    status: async (to) =>
      (await database.read<{ status: string }>('select status from recipients where address = ?', [to]))[0]?.status,
  }
}

t.test('while leases cannot be written nothing is attempted, and then everything once', async (t) => {
  const { runner, faults, add, attempted, status, errors } = await running(t)
  faults.commit = isLease
  await runner.start()
  await add('one@b.test', true)
  await add('two@b.test', false)
  await waitUntil('the fault is noticed', () => errors.length > 0)
  t.same(attempted, [])
  faults.commit = null
  await waitUntil(
    'both arrive',
    async () => (await status('one@b.test')) === 'delivered' && (await status('two@b.test')) === 'delivered',
  )
  t.same(attempted.toSorted(), ['one@b.test', 'two@b.test'])
})

t.test('an attempt for which no host was called counts for nothing, and waits as long as it must', async (t) => {
  const calls: boolean[] = []
  const wait = { kind: 'outage', until: 0, why: 'mx.b.test [192.0.2.1]:25 (connection refused)' } as const
  const app = await running(t, {
    attempt: async (_message, _to, { ignoreOutages }) => {
      calls.push(ignoreOutages)
      return ignoreOutages ? taken : { ...wait, until: app.now() + 9 * 3_600_000 }
    },
  })
  const { runner, take, add, row, status, database, now, pass } = app
  await runner.start()
  t.ok(await take('claimed@b.test'), 'the attempt is counted before it is known')
  await add('leased@b.test', false)
  runner.wake()
  const noticeAt = now() + 3_600_000
  for (const to of ['claimed@b.test', 'leased@b.test']) {
    const waiting = await waitUntil(`${to} waits`, async () => {
      const found = await row(to)
      return found?.leased === 0 && found.next_attempt_at === noticeAt && found
    })
    t.equal(waiting.attempts, 0)
  }
  t.same(await database.read('select distinct waits_for from queue', []), [{ waits_for: wait.why }])
  t.same(await database.read('select * from attempts', []), [])
  t.same(calls, [false, false])
  pass(3_600_000)
  await waitUntil(
    'both arrive',
    async () => (await status('claimed@b.test')) === 'delivered' && (await status('leased@b.test')) === 'delivered',
  )
  t.same(calls, [false, false, true, true], 'at the age of the notice they are sent whatever is remembered')
})

t.test(
  'in a pause of its provider an entry waits, and at the age of the notice its words are the outcome',
  async (t) => {
    const why = 'Google asked us to slow down: 421 4.7.28 too fast'
    let isBlock: Pick<Outage, 'isBlock'> = {}
    const pause = (): Outage => ({ kind: 'outage', until: app.now() + 9 * 3_600_000, why, ...isBlock })
    const app: Running = await running(t, { paces: { ...noPaces, findPause: () => pause() } })
    const { runner, add, attempted, row, database, now, pass } = app
    await runner.start()
    await add('one@b.test', true)
    const noticeAt = now() + 3_600_000
    await waitUntil('it waits', async () => (await row('one@b.test'))?.next_attempt_at === noticeAt)
    t.equal((await row('one@b.test'))?.attempts, 0)
    t.same(await database.read('select waits_for from queue', []), [{ waits_for: why }])
    pass(3_600_000)
    await waitUntil(
      'it is deferred',
      async () => (await row('one@b.test'))?.attempts === 1 && (await row('one@b.test'))?.leased === 0,
    )
    t.same(attempted, [], 'nothing was sent')
    t.match(await database.read('select mx, reached, response, reason from attempts', []), [
      { mx: null, reached: 1, response: why, reason: 'rate-limited' },
    ])
    isBlock = { isBlock: true }
    await add('two@b.test', true)
    pass(3_600_000)
    await waitUntil('it expires', async () => (await app.status('one@b.test')) === 'bounced')
    await waitUntil(
      'the other is deferred',
      async () => (await row('two@b.test'))?.attempts === 1 && (await row('two@b.test'))?.leased === 0,
    )
    const reasons = (await database.read<{ reason: string }>('select reason from attempts', [])).map(
      ({ reason }) => reason,
    )
    t.same(reasons.sort(), ['expired', 'rate-limited', 'spam-block'])
    t.same(attempted, [], 'nor then')
  },
)

t.test('a pause of one of our addresses does not hold up what leaves from another one', async (t) => {
  const until = Date.UTC(2026, 10, 21) + 600_000
  const host = hostAt({ port: 25 }, { mx: 'mx.b.test' })
  const [paused, free] = ['192.0.2.1', '192.0.2.2'] as const
  const app: Running = await running(t, {
    findDestination: async () => ({ kind: 'hosts', hosts: [host] }),
    sources: {
      assign: async ({ recipient }) => ({
        destination: { kind: 'hosts', hosts: [{ ...host, source: recipient === 'one@b.test' ? paused : free }] },
        wait: null,
        isOfEntry: true,
        count: () => undefined,
        release: () => undefined,
      }),
      noteMissing: () => undefined,
    },
    paces: {
      ...noPaces,
      findPause: ([first]) => (first?.source === paused ? { kind: 'outage', until, why: 'b.test blocks us' } : null),
    },
  })
  await app.add('one@b.test', false)
  await app.add('two@b.test', false)
  await app.runner.start()
  await waitUntil('the other one arrives', async () => (await app.status('two@b.test')) === 'delivered')
  await waitUntil('one waits', async () => (await app.row('one@b.test'))?.next_attempt_at === until)
  t.same(app.attempted, ['two@b.test'])
})

t.test('an outcome that cannot be stored is kept, and nothing more is taken meanwhile', async (t) => {
  const { runner, faults, add, attempted, status, errors, row } = await running(t)
  faults.commit = isOutcome
  await runner.start()
  await add('one@b.test', true)
  await waitUntil('the fault is noticed', () => errors.length > 0)
  await add('two@b.test', true)
  await waitUntil('it is tried again', () => errors.length > 1)
  t.equal(await status('one@b.test'), 'queued')
  t.match(await row('one@b.test'), { attempts: 1, leased: 1 })
  faults.commit = null
  await waitUntil(
    'both arrive',
    async () => (await status('one@b.test')) === 'delivered' && (await status('two@b.test')) === 'delivered',
  )
  t.same(attempted, ['one@b.test', 'two@b.test'], 'no message went twice')
})

t.test('the commit of an outcome is urgent, and begins before the next attempt', async (t) => {
  const acts: string[] = []
  const findHoldRule: Changes['findHoldRule'] = () => {
    acts.push('look-up')
    return null
  }
  const { runner, add, status } = await running(
    t,
    { findHoldRule, connections: () => ({ max_connections: 1, max_connections_per_host: 10 }) },
    (writes, { isUrgent } = {}) => {
      if (writes.some(isOutcome)) acts.push(isUrgent === true ? 'urgent outcome' : 'outcome')
    },
  )
  const recipients = ['one@b.test', 'two@b.test']
  for (const to of recipients) await add(to, false)
  await runner.start()
  await waitUntil('both are settled', async () =>
    (await Promise.all(recipients.map(status))).every((one) => one === 'delivered'),
  )
  t.same(acts, ['look-up', 'urgent outcome', 'look-up', 'urgent outcome'])
})

t.test('at the end of the process an outcome that cannot be stored keeps its lease', async (t) => {
  const { runner, faults, add, row, errors } = await running(t)
  faults.commit = isOutcome
  await runner.start()
  await add('one@b.test', true)
  await waitUntil('the fault is noticed', () => errors.length > 0)
  await runner.stop(10)
  t.match(await row('one@b.test'), { attempts: 1, leased: 1 }, 'it is not released as if nothing had been sent')
})

t.test('a database that cannot be read stops nothing for good', async (t) => {
  const { runner, faults, add, status, errors } = await running(t)
  await runner.start()
  faults.read = true
  const email = await add('one@b.test', true)
  t.ok(email, 'an offer does not throw: its message is acknowledged')
  runner.wake()
  await waitUntil('the fault is noticed', () => errors.length > 0)
  faults.read = false
  await waitUntil('it arrives', async () => (await status('one@b.test')) === 'delivered')
})

t.test('an entry that can be neither leased nor looked at again goes on when the database is back', async (t) => {
  const { runner, faults, add, status, errors } = await running(t)
  await runner.start()
  faults.commit = (write) => {
    if (!isLease(write)) return false
    faults.read = true
    return true
  }
  await add('one@b.test', false)
  await waitUntil('both faults are noticed', () => errors.some((line) => line.includes('the queue cannot be read')))
  faults.commit = null
  faults.read = false
  await waitUntil('it arrives', async () => (await status('one@b.test')) === 'delivered')
})

t.test('a message that cannot be made ready is deferred, and the others go on', async (t) => {
  const { runner, database, add, status, row, errors, now } = await running(t)
  const gone = await add('gone@b.test', false)
  await database.commit([{ sql: 'delete from raw_messages where email_id = ?', parameters: [gone] }])
  await add('good@b.test', false)
  await runner.start()
  await waitUntil('the good one arrives', async () => (await status('good@b.test')) === 'delivered')
  await waitUntil('the other waits', async () => ((await row('gone@b.test'))?.next_attempt_at ?? 0) > now())
  t.match(await row('gone@b.test'), { attempts: 1, leased: 0, next_attempt_at: now() + 60_000 })
  runner.wake()
  await add('next@b.test', true)
  await waitUntil('the next arrives', async () => (await status('next@b.test')) === 'delivered')
  t.equal(errors.length, 1, 'it is tried no more for now')
  t.match(errors[0], /has no message/)
})

for (const [what, deps] of Object.entries({
  'an attempt': { attempt: () => Promise.reject(new TypeError('a bug')) },
  'a look-up': { findDestination: () => Promise.reject(new TypeError('a bug')) },
})) {
  t.test(`${what} that fails by a bug of ours is a deferral like any other`, async (t) => {
    const { runner, add, status, row, errors, now, database } = await running(t, deps)
    await runner.start()
    await add('odd@b.test', true)
    await waitUntil('it waits', async () => isDeferred(await row('odd@b.test')))
    t.equal((await row('odd@b.test'))?.next_attempt_at, now() + 60_000)
    t.equal(await status('odd@b.test'), 'queued')
    t.match(await database.read('select outcome, reason, reached, response from attempts', []), [
      { outcome: 'deferred', reason: 'local-error', reached: 0, response: 'local error' },
    ])
    t.match(errors, [/a bug/])
  })
}

t.test('a scheduled email whose first attempt fails by a bug of ours waits like any other, in lists too', async (t) => {
  const findDestination = (): Promise<never> => Promise.reject(new TypeError('a bug'))
  const { runner, add, status, row, now, database } = await running(t, { findDestination })
  const id = await add('odd@b.test', false, { scheduledFor: now() - 1 })
  await runner.start()
  await waitUntil('it waits', async () => isDeferred(await row('odd@b.test')))
  t.equal(await status('odd@b.test'), 'queued')
  t.same(await database.read('select status from emails where id = ?', [id]), [{ status: 'queued' }])
})

t.test('an outcome that hits a bug of ours holds its entry: the message may have arrived', async (t) => {
  const { runner, add, row, errors, attempted, now } = await running(t, {
    settle: () => Promise.reject(new TypeError('a bug')),
  })
  await runner.start()
  await add('odd@b.test', true)
  await waitUntil('it is held', async () => (await row('odd@b.test'))?.held === 1)
  t.equal(errors.length, 1)
  runner.wake()
  t.match(await row('odd@b.test'), { attempts: 1, leased: 0 })
  t.ok(((await row('odd@b.test'))?.next_attempt_at ?? Number.POSITIVE_INFINITY) <= now(), 'a release sends it at once')
  await runner.stop(10)
  t.match(await row('odd@b.test'), { attempts: 1, held: 1 }, 'nor is it released as if nothing had been sent')
  t.same(attempted, ['odd@b.test'])
})

t.test('stopping after the last byte of a message is no release', async (t) => {
  const { runner, add, row, database } = await running(t, {
    attempt: (message, _to, _call, signal) =>
      new Promise((_resolve, reject) => {
        message.onHandedOver?.()
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  })
  await runner.start()
  await add('sent@b.test', true)
  await waitUntil('it is under way', async () => (await row('sent@b.test'))?.leased === 1)
  await runner.stop(10)
  t.match(await row('sent@b.test'), { attempts: 1, leased: 0 })
  t.match(await database.read('select outcome, response from attempts', []), [
    { outcome: 'deferred', response: /may arrive twice/ },
  ])
})

t.test('stopping gives back what has no outcome', async (t) => {
  const { runner, add, row, now, status, attempted } = await running(t, {
    attempt: (message, _to, _call, signal) => {
      attempted.push(message.recipient)
      if (message.recipient === 'good@b.test') return Promise.resolve(taken)
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  })
  await runner.start()
  await add('slow@b.test', true)
  await add('good@b.test', true)
  await waitUntil('one arrives', async () => (await status('good@b.test')) === 'delivered')
  await waitUntil('the other is under way', () => attempted.includes('slow@b.test'))
  await runner.stop(10)
  t.match(await row('slow@b.test'), { attempts: 0, leased: 0, next_attempt_at: now() })
  await add('late@b.test', true)
  t.notOk(attempted.includes('late@b.test'), 'and nothing is taken any more')
})

t.test('what comes back from DNS after the end takes no lease', async (t) => {
  let answer: ((found: Destination) => void) | undefined
  const messageCache = new MessageCache(1_000_000)
  const { runner, add, row } = await running(t, {
    messageCache,
    findDestination: () =>
      new Promise((resolve) => {
        answer = resolve
      }),
  })
  await runner.start()
  const email = await add('slow@b.test', true)
  await waitUntil('DNS is asked', () => answer !== undefined)
  await runner.stop(0)
  answer?.({ kind: 'hosts', hosts: [] })
  await waitUntil('the turn is over', () => messageCache.get(email, 'none') === undefined)
  t.match(await row('slow@b.test'), { attempts: 0, leased: 0 })
})

t.test('stopping ends though leases cannot be released', async (t) => {
  const { runner, faults, add, errors, attempted } = await running(t, {
    attempt: (message, _to, _call, signal) => {
      attempted.push(message.recipient)
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  })
  await runner.start()
  await add('slow@b.test', true)
  await waitUntil('it is under way', () => attempted.length === 1)
  faults.commit = () => true
  await runner.stop(10)
  t.match(errors.at(-1), /leases could not be released/)
})

/** Attempts that wait for `end`. */
function pendingAttempts(attempted: string[]): { attempt: MessageSender['send']; end: () => void } {
  const ends: (() => void)[] = []
  return {
    attempt: ({ recipient }, _to, _call, signal) => {
      attempted.push(recipient)
      return new Promise((resolve, reject) => {
        ends.push(() => resolve(taken))
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    },
    end: () => {
      for (const end of ends.splice(0)) end()
    },
  }
}

const signatures = async (database: Database): Promise<unknown[]> =>
  database.read('select field from dkim_signatures', [])

t.test('an attempt that can begin at once is counted by the commit that accepts its message', async (t) => {
  const { runner, take, row, status, database, attempted } = await running(t)
  await runner.start()
  const before = database.countCommits()
  const counted: unknown[] = []
  const claim = await take('one@b.test', async (handOver) => {
    counted.push(await row('one@b.test'))
    handOver()
  })
  t.ok(claim)
  t.match(counted, [{ attempts: 1, leased: 1 }], 'before anything was handed over')
  await waitUntil('it arrives', async () => (await status('one@b.test')) === 'delivered')
  // A commit is on disk a moment before the writer reports it.
  await waitUntil('two commits are reported', () => database.countCommits() - before >= 2)
  t.equal(database.countCommits() - before, 2, 'accepted, settled')
  t.same(attempted, ['one@b.test'])
  t.match(await database.read('select number, outcome from attempts', []), [{ number: 1, outcome: 'delivered' }])
  t.equal((await signatures(database)).length, 1, 'what was sent can still be shown')
})

t.test('no claim where the attempt cannot begin at once, or several would', async (t) => {
  const ends = pendingAttempts([])
  const { runner, take, row, accounts, now } = await running(t, {
    attempt: ends.attempt,
    connections: () => ({ max_connections: 1, max_connections_per_host: 10 }),
  })
  await runner.start()
  t.equal(await take(['a@b.test', 'b@c.test']), null, 'two recipients')
  t.equal(
    runner.claim(bulkEmail({ workspaceId: accounts.workspaceId, to: 'x@b.test', at: now(), scheduledFor: now() + 9 })),
    null,
  )
  await waitUntil('one is under way', async () => (await row('a@b.test'))?.leased === 1)
  t.equal(await take('late@b.test'), null, 'the only attempt is under way')
  t.match(await row('late@b.test'), { attempts: 0, leased: 0 })
  ends.end()
  await runner.stop(0)
  t.equal(await take('last@b.test'), null, 'after the end')
})

t.test('a claim whose turn comes late is leased anew, and so sees that it was held', async (t) => {
  const { runner, take, row, pass, attempted, database } = await running(t)
  await runner.start()
  const handOvers: (() => void)[] = []
  await take('held@b.test', (handOver) => handOvers.push(handOver))
  await take('late@b.test', (handOver) => handOvers.push(handOver))
  await database.commit([{ sql: "update queue set held = 1 where recipient = 'held@b.test'", parameters: [] }])
  pass(60_000)
  for (const handOver of handOvers) handOver()
  await waitUntil('one arrives', async () => (await row('late@b.test')) === undefined)
  await waitUntil('the other is released', async () => (await row('held@b.test'))?.leased === 0)
  t.match(await row('held@b.test'), { attempts: 0, held: 1 })
  t.same(attempted, ['late@b.test'])
})

t.test('a claim is released when it led to no attempt: the database failed, or the end came', async (t) => {
  const { runner, take, row, faults, status, attempted } = await running(t)
  await runner.start()
  const handOvers: (() => void)[] = []
  await take('one@b.test', (handOver) => handOvers.push(handOver))
  faults.read = true
  for (const handOver of handOvers.splice(0)) handOver()
  await waitUntil('it is released', async () => (await row('one@b.test'))?.leased === 0)
  t.match(await row('one@b.test'), { attempts: 0 })
  faults.read = false
  runner.wake()
  await waitUntil('it arrives', async () => (await status('one@b.test')) === 'delivered')
  await take('two@b.test', (handOver) => handOvers.push(handOver))
  await runner.stop(0)
  for (const handOver of handOvers) handOver()
  t.match(await row('two@b.test'), { attempts: 1, leased: 1 }, 'the next start recovers it')
  t.notOk(attempted.includes('two@b.test'))
})

t.test('mail that the entries of a broadcast kept out of memory goes on when that is stopped', async (t) => {
  const hung: (() => void)[] = []
  const sent: string[] = []
  const attempt: MessageSender['send'] = async ({ recipient }) => {
    if (recipient === 'mail@b.test') sent.push(recipient)
    else await new Promise<void>((resolve) => hung.push(resolve))
    return taken
  }
  const { runner, database, accounts, now } = await running(t, { attempt })
  const low = (to: string, at: number) =>
    bulkEmail({ workspaceId: accounts.workspaceId, to, at, priority: 'low' }).writes
  const ofBroadcast = Array.from({ length: 900 }, (_, n) => low(`n${n}@b.test`, now() - 1000))
  await database.commit([
    ...ofBroadcast.flat(),
    { sql: `update queue set broadcast_id = 'news'`, parameters: [] },
    ...low('mail@b.test', now()),
  ])
  await runner.start()
  await waitUntil('messages of the broadcast are on the wire', () => hung.length > 0)
  t.same(sent, [], 'they fill the lane')
  runner.stopBroadcast('news')
  for (const end of hung) end()
  await waitUntil('the other mail is sent', () => sent.length === 1)
})

t.test('a message goes out beside receivers that do not answer, though they have all slots', async (t) => {
  const stalled: string[] = []
  const pending = pendingAttempts(stalled)
  const { runner, add, status } = await running(t, {
    attempt: (message, ...call) =>
      message.domain === 'b.test' ? Promise.resolve(taken) : pending.attempt(message, ...call),
    connections: () => ({ max_connections: 2, max_connections_per_host: 10 }),
  })
  await runner.start()
  await add('one@slow.test', true)
  await add('two@mute.test', true)
  await waitUntil('both are under way', () => stalled.length === 2)
  await add('three@b.test', true)
  await waitUntil('the third arrives', async () => (await status('three@b.test')) === 'delivered')
  t.same([await status('one@slow.test'), runner.activeCount], ['queued', 2], 'the others go on')
  pending.end()
  await waitUntil('and arrive too', async () => (await status('one@slow.test')) === 'delivered')
})

t.test('an entry of another node is attempted when it has come to this one, and not before', async (t) => {
  const { runner, add, attempted, database, row, status } = await running(t)
  await add('theirs@b.test', false)
  await add('theirs@c.test', false)
  await database.commit([{ sql: "update queue set node = 'other'", parameters: [] }])
  await database.commit([{ sql: "update queue set leased = 1 where domain = 'c.test'", parameters: [] }])
  await add('ours@b.test', false)
  await runner.start()
  await waitUntil('ours arrives', async () => (await status('ours@b.test')) === 'delivered')
  t.same(attempted, ['ours@b.test'])
  t.match(await row('theirs@c.test'), { leased: 1 }, 'the lease of another node is none that a crash has left here')
  await database.commit([{ sql: 'update queue set leased = 0, node = ?', parameters: [database.node.name] }])
  runner.lookAgain()
  await waitUntil('both are attempted', () => attempted.length === 3)
  t.match(attempted, ['ours@b.test', /theirs/, /theirs/])
  await waitUntil('theirs arrives', async () => (await status('theirs@b.test')) === 'delivered')
})

t.test('an entry that another node takes over before its lease is left to it', async (t) => {
  let takeOver = async (): Promise<void> => undefined
  const { runner, add, attempted, database, row } = await running(t, {
    findDestination: async () => {
      await takeOver()
      return { kind: 'hosts', hosts: [] }
    },
  })
  const isTaken = new Promise<void>((resolve) => {
    takeOver = async () => {
      await database.commit([{ sql: "update queue set node = 'other'", parameters: [] }])
      resolve()
    }
  })
  await add('x@b.test', true)
  await runner.start()
  await isTaken
  await waitUntil('its turn ends', () => runner.countTurns() === 0)
  t.same(attempted, [])
  t.match(await row('x@b.test'), { attempts: 0, leased: 0 })
})

t.test('a runner that is halted begins nothing, gives its claims back, and goes on when it may', async (t) => {
  const ends = pendingAttempts([])
  const { runner, add, take, row, status } = await running(t, {
    attempt: ends.attempt,
    connections: () => ({ max_connections: 1, max_connections_per_host: 10 }),
  })
  await runner.start()
  await add('first@b.test', true)
  await waitUntil('it is under way', async () => (await row('first@b.test'))?.leased === 1)
  await add('waits@b.test', true)
  await runner.halt()
  t.equal(runner.countTurns(), 1, 'the one that is under way')
  t.equal(await take('new@b.test'), null, 'no attempt is counted for a new message')
  ends.end()
  await waitUntil('it has ended', () => runner.countTurns() === 0)
  t.equal(await status('first@b.test'), 'delivered')
  t.match(await row('waits@b.test'), { attempts: 0, leased: 0 })
  runner.goOn()
  await waitUntil('the others arrive', async () => {
    ends.end()
    return (await status('waits@b.test')) === 'delivered' && (await status('new@b.test')) === 'delivered'
  })
})

t.test('claims whose attempts have not begun when the runner is halted are given back', async (t) => {
  const { runner, take, row, status } = await running(t)
  await runner.start()
  const handOvers: (() => void)[] = []
  await take('early@b.test', (handOver) => handOvers.push(handOver))
  t.match(await row('early@b.test'), { attempts: 1, leased: 1 })
  await runner.halt()
  for (const handOver of handOvers) handOver()
  await waitUntil('it is given back', async () => (await row('early@b.test'))?.leased === 0)
  t.match(await row('early@b.test'), { attempts: 0 })
  runner.goOn()
  await waitUntil('it arrives', async () => (await status('early@b.test')) === 'delivered')
})

t.test('a node whose lease has ended while an attempt waited for its host does not call it', async (t) => {
  const called: string[] = []
  const lease = { isHeld: true }
  const { runner, add, row, status, now, pass } = await running(t, {
    holdsLease: () => lease.isHeld,
    attempt: async (_message, _destination, call) => {
      lease.isHeld = called.length > 0
      const slot = await call.acquireSlot('b.test', new AbortController().signal)
      lease.isHeld = true
      if (typeof slot !== 'function') return slot
      called.push('called')
      slot()
      return taken
    },
  })
  await runner.start()
  await add('x@b.test', true)
  await waitUntil('it waits again', async () => (await row('x@b.test'))?.next_attempt_at === now() + 1_000)
  t.match(await row('x@b.test'), { attempts: 0, leased: 0 })
  t.same(called, [])
  called.push('it has a lease')
  pass(1_000)
  runner.lookAgain()
  await waitUntil('it arrives', async () => (await status('x@b.test')) === 'delivered')
})
