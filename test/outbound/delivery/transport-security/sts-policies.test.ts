import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { LookupResult } from '../../../../src/base/platform/dns/resolver.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import type { TlsFailure } from '../../../../src/outbound/delivery/hosts/tls-result.js'
import { StsPolicies } from '../../../../src/outbound/delivery/transport-security/sts-policies.js'
import type { StsPolicy } from '../../../../src/outbound/delivery/transport-security/sts-policy.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const day = 86_400_000
const policy: StsPolicy = { mode: 'enforce', patterns: ['mx.b.test'], maxAge: 7 * day }
const failure: TlsFailure = { type: 'sts-policy-fetch-error', detail: 'HTTP status 500' }

interface Bench {
  readonly database: Database
  /** Opens the policies as after a start. */
  readonly open: () => Promise<StsPolicies>
  readonly fetched: string[]
  readonly failures: string[]
  now: number
  maxWait: number
  record: LookupResult<string>
  answer: StsPolicy | TlsFailure | Promise<StsPolicy>
}

const idRecord = (id: string): LookupResult<string> => ({ kind: 'records', records: [`v=STSv1; id=${id};`] })

async function bench(t: Test): Promise<Bench> {
  const { database } = await temporaryDatabase(t)
  const opened: StsPolicies[] = []
  t.teardown(() => Promise.all(opened.map((policies) => policies.stop())))
  const self: Bench = {
    database,
    fetched: [],
    failures: [],
    now: 1_000 * day,
    maxWait: 60_000,
    record: idRecord('1'),
    answer: policy,
    open: async () => {
      const policies = await StsPolicies.open({
        read: database.read,
        commit: database.commit,
        clock: () => self.now,
        log: pino({ level: 'silent' }),
        get maxWait() {
          return self.maxWait
        },
        judgeRecords: async () => ({ lookup: self.record, isAuthentic: false, alias: null }),
        fetchPolicy: async (domain) => {
          self.fetched.push(domain)
          return self.answer
        },
        onFetchFailure: (domain, { type }) => self.failures.push(`${domain} ${type}`),
      })
      opened.push(policies)
      return policies
    },
  }
  return self
}

t.test('a policy is fetched once, and again when its id changes', async (t) => {
  const b = await bench(t)
  const policies = await b.open()
  t.match(await policies.find('b.test'), policy)
  t.match(await policies.find('b.test'), policy)
  b.now += 120_000
  t.match(await policies.find('b.test'), policy)
  t.same(b.fetched, ['b.test'])
  b.record = idRecord('2')
  b.answer = { ...policy, mode: 'testing' }
  b.now += 120_000
  t.match(await policies.find('b.test'), { mode: 'enforce' }, 'the one that is known is used at once')
  await waitUntil('the new one is known', async () => (await policies.find('b.test'))?.mode === 'testing')
  t.equal(b.fetched.length, 2)
})

t.test('domains that send mail at the same time cause one fetch', async (t) => {
  const b = await bench(t)
  const policies = await b.open()
  await Promise.all(Array.from({ length: 10 }, () => policies.find('b.test')))
  t.same(b.fetched, ['b.test'])
})

t.test('without a record there is no policy, and no fetch', async (t) => {
  const b = await bench(t)
  const policies = await b.open()
  for (const record of [
    { kind: 'no-domain' },
    { kind: 'failure', detail: 'SERVFAIL' },
    { kind: 'records', records: ['v=STSv1; id=1', 'v=STSv1; id=2'] },
  ] as const) {
    b.record = record
    b.now += 600_000
    t.equal(await policies.find('b.test'), null)
  }
  t.same(b.fetched, [])
})

t.test('a policy holds until its time is over, whatever DNS and HTTPS say, and across a restart', async (t) => {
  const b = await bench(t)
  await (await b.open()).find('b.test')
  const policies = await b.open()
  b.record = { kind: 'no-domain' }
  b.answer = failure
  b.now += 7 * day - 1
  t.match(await policies.find('b.test'), policy)
  b.now += 1
  t.equal(await policies.find('b.test'), null)
})

t.test('mode none is no policy', async (t) => {
  const b = await bench(t)
  const policies = await b.open()
  b.answer = { mode: 'none', patterns: [], maxAge: day }
  t.equal(await policies.find('b.test'), null)
  b.now += 120_000
  t.equal(await policies.find('b.test'), null)
  t.equal(b.fetched.length, 1)
})

t.test('after a fetch that failed there is none for five minutes', async (t) => {
  const b = await bench(t)
  const policies = await b.open()
  b.answer = failure
  t.equal(await policies.find('b.test'), null)
  b.now += 299_999
  t.equal(await policies.find('b.test'), null)
  t.equal(b.fetched.length, 1)
  b.answer = policy
  b.now += 60_001
  t.match(await policies.find('b.test'), policy)
  t.same(b.failures, ['b.test sts-policy-fetch-error'])
})

t.test('mail waits for the first policy of its domain for a limited time, and the policy comes later', async (t) => {
  const b = await bench(t)
  b.maxWait = 1
  let arrive: (policy: StsPolicy) => void = () => undefined
  b.answer = new Promise((resolve) => {
    arrive = resolve
  })
  const policies = await b.open()
  t.equal(await policies.find('b.test'), null)
  b.maxWait = 60_000
  t.equal(await policies.find('b.test'), null, 'the next message does not wait again')
  arrive(policy)
  await waitUntil('the policy is known', async () => policies.size === 1)
  t.match(await policies.find('b.test'), policy)
})

t.test('policies in use are refreshed after a day', async (t) => {
  const b = await bench(t)
  const policies = await b.open()
  await policies.find('b.test')
  b.now += day - 1
  await policies.refresh()
  t.equal(b.fetched.length, 1)
  b.now += 1
  await policies.refresh()
  t.equal(b.fetched.length, 2)
  b.answer = failure
  b.now += 2 * day
  await policies.refresh()
  await policies.refresh()
  t.equal(b.fetched.length, 3, 'one that failed is not tried again at once')
  b.now += 13 * day
  await policies.refresh()
  t.equal(b.fetched.length, 3, 'two weeks without mail')
  t.equal(policies.size, 1)
})

/** Of the domains `d0001.test` to `d0070.test`, for a count of 70. */
async function storePolicies(
  { database }: Bench,
  { count, fetchedAt }: { readonly count: number; readonly fetchedAt: number },
): Promise<void> {
  const sql = `insert into sts_policies values (?, '1', 'enforce', '["mx.test"]', ?, ?)`
  await database.commit(
    Array.from({ length: count }, (_, at) => {
      return { sql, parameters: [`d${String(at + 1).padStart(4, '0')}.test`, 7 * day, fetchedAt] }
    }),
  )
}

t.test('policies that cannot be refreshed do not keep the others from it', async (t) => {
  const b = await bench(t)
  await storePolicies(b, { count: 70, fetchedAt: b.now - 2 * day })
  const policies = await b.open()
  b.answer = failure
  for (let round = 0; round < 2; round++) {
    await policies.refresh()
    b.now += 600_000
  }
  t.equal(b.fetched.length, 100)
  t.equal(new Set(b.fetched).size, 70)
})

t.test('there is room for 5,000 policies, on disk too; the one used least recently leaves', async (t) => {
  const b = await bench(t)
  await storePolicies(b, { count: 5_000, fetchedAt: b.now })
  const policies = await b.open()
  t.match(await policies.find('d0001.test'), { patterns: ['mx.test'] })
  t.match(await policies.find('b.test'), policy)
  const count = async (): Promise<unknown> => b.database.read('select count(*) as count from sts_policies', [])
  await waitUntil('the row is gone', async () => JSON.stringify(await count()) === '[{"count":5000}]')
  t.equal(policies.size, 5_000)
  t.same(
    await b.database.read(
      "select domain from sts_policies where domain in ('d0001.test', 'd0002.test', 'b.test') order by domain",
      [],
    ),
    [{ domain: 'b.test' }, { domain: 'd0001.test' }],
  )
})

t.test('who makes up many names pushes out no policy of others, in memory or on disk', async (t) => {
  const b = await bench(t)
  const policies = await b.open()
  await policies.find('b.test')
  for (let name = 0; name < 150; name += 1) await policies.find(`x${name}.evil.test`)
  t.equal(policies.size, 101)
  t.match(await policies.find('b.test'), policy)
  t.equal(b.fetched.length, 151)
  await policies.stop()
  const reopened = await b.open()
  t.ok(reopened.size <= 102)
  t.match(await reopened.find('b.test'), policy)
  t.match(await reopened.find('x149.evil.test'), policy, 'the newest of theirs are kept')
  t.equal(b.fetched.length, 151)
})

t.test('slow answers of one owner hold up no fetch of others', async (t) => {
  const b = await bench(t)
  let finish: (policy: StsPolicy) => void = () => undefined
  b.answer = new Promise((resolve) => {
    finish = resolve
  })
  const policies = await b.open()
  const slow = Array.from({ length: 30 }, (_, name) => policies.find(`x${name}.evil.test`))
  await waitUntil('three of them', () => b.fetched.length === 3)
  b.answer = policy
  t.match(await policies.find('b.test'), policy)
  t.equal(b.fetched.length, 4)
  finish(policy)
  const found = await Promise.all(slow)
  t.equal(found.filter((one) => one !== null).length, 3)
})
