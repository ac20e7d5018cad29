/** What is counted of sessions, and that strangers cannot make it grow without end. */
import t from 'tap'
import type { Read } from '../../../../src/base/storage/db/prepared.js'
import { StorageFault } from '../../../../src/base/storage/db/write.js'
import type { TlsSessionResult } from '../../../../src/outbound/delivery/hosts/tls-result.js'
import { buildReport, type TlsReport } from '../../../../src/outbound/delivery/tls-reports/build-report.js'
import { TlsResultCounter } from '../../../../src/outbound/delivery/tls-reports/result-counter.js'
import { policiesOf, resultsOf } from '../../../../src/outbound/delivery/tls-reports/result-records.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const day = '2026-11-23'
const noon = Date.parse(`${day}T12:00:00Z`)

function session(more: Partial<TlsSessionResult> = {}): TlsSessionResult {
  return {
    domain: 'b.test',
    policy: { type: 'no-policy-found', strings: [], hosts: [] },
    failure: null,
    sendingAddress: '192.0.2.1',
    receivingAddress: '198.51.100.1',
    receivingHost: 'mx.b.test',
    at: noon,
    ...more,
  }
}

const failed = (host: string, domain = 'b.test'): TlsSessionResult =>
  session({ domain, receivingHost: host, failure: { type: 'certificate-expired', detail: 'since 2020' } })

async function reportOf(read: Read, domain = 'b.test'): Promise<TlsReport> {
  const page = { day, domain, limit: 10_000 }
  const reporter = { submitter: 'z.test', contact: 'postmaster@z.test' }
  return buildReport({ day, domain }, reporter, await policiesOf(read, page), await resultsOf(read, page))
}

t.test('the report has the form of RFC 8460, section 4.4', async (t) => {
  const { database } = await temporaryDatabase(t)
  const counter = await TlsResultCounter.open(database, noon)
  const sts = {
    type: 'sts' as const,
    strings: ['version: STSv1', 'mode: testing', 'mx: *.mail.b.test', 'max_age: 86400'],
    hosts: ['*.mail.b.test'],
  }
  counter.count(session())
  counter.count(session({ policy: sts }))
  counter.count({ ...failed('mx1.mail.b.test'), policy: sts })
  await counter.flush()
  counter.count({ ...failed('mx1.mail.b.test'), policy: sts })
  counter.count(session({ policy: sts, failure: { type: 'sts-policy-fetch-error', detail: '' }, receivingHost: null }))
  await counter.flush()
  t.same(await reportOf(database.read), {
    'organization-name': 'z.test',
    'date-range': { 'start-datetime': '2026-11-23T00:00:00Z', 'end-datetime': '2026-11-23T23:59:59Z' },
    'contact-info': 'postmaster@z.test',
    'report-id': '2026-11-23.b.test@z.test',
    policies: [
      {
        policy: { 'policy-type': 'no-policy-found', 'policy-domain': 'b.test' },
        summary: { 'total-successful-session-count': 1, 'total-failure-session-count': 0 },
      },
      {
        policy: {
          'policy-type': 'sts',
          'policy-string': sts.strings,
          'policy-domain': 'b.test',
          'mx-host': sts.hosts,
        },
        summary: { 'total-successful-session-count': 1, 'total-failure-session-count': 3 },
        'failure-details': [
          {
            'result-type': 'certificate-expired',
            'sending-mta-ip': '192.0.2.1',
            'receiving-mx-hostname': 'mx1.mail.b.test',
            'receiving-ip': '198.51.100.1',
            'failed-session-count': 2,
            'failure-reason-code': 'since 2020',
          },
          {
            'result-type': 'sts-policy-fetch-error',
            'sending-mta-ip': '192.0.2.1',
            'receiving-ip': '198.51.100.1',
            'failed-session-count': 1,
          },
        ],
      },
    ],
  })
})

t.test('beyond the limit of a domain, faults are counted without their hosts', async (t) => {
  const { database } = await temporaryDatabase(t)
  const counter = await TlsResultCounter.open(database, noon, {
    domains: 2,
    domainsOfOwner: 9,
    rowsOfDomain: 3,
    policiesOfDomain: 2,
    rows: 100,
  })
  for (let at = 0; at < 50; at += 1) t.ok(counter.count(failed(`mx${at}.b.test`)))
  t.ok(counter.count(failed('mx0.b.test')), 'a row that is there is counted in full')
  await counter.flush()
  const [policy] = (await reportOf(database.read)).policies
  t.equal(policy?.summary['total-failure-session-count'], 51)
  const details = policy?.['failure-details'] ?? []
  t.equal(details.length, 4)
  t.equal(details.find((one) => !('receiving-mx-hostname' in one))?.['failed-session-count'], 47)
  t.equal(details.find((one) => one['receiving-mx-hostname'] === 'mx0.b.test')?.['failed-session-count'], 2)
})

t.test('further domains, rows and policies are left out', async (t) => {
  const { database } = await temporaryDatabase(t)
  const counter = await TlsResultCounter.open(database, noon, {
    domains: 2,
    domainsOfOwner: 9,
    rowsOfDomain: 10,
    policiesOfDomain: 2,
    rows: 3,
  })
  const sts = (strings: readonly string[]): TlsSessionResult => session({ policy: { type: 'sts', strings, hosts: [] } })
  t.same(await Promise.all([sts(['1']), sts(['2']), sts(['3']), sts(['1'])].map((one) => counter.count(one))), [
    true,
    true,
    false,
    true,
  ])
  t.ok(counter.count(session({ domain: 'c.test' })))
  t.notOk(counter.count(session({ domain: 'd.test' })), 'a third domain')
  await counter.flush()
  const again = await TlsResultCounter.open(database, noon, {
    domains: 9,
    domainsOfOwner: 9,
    rowsOfDomain: 10,
    policiesOfDomain: 2,
    rows: 3,
  })
  t.notOk(await again.count(session({ domain: 'd.test' })), 'what is stored counts after a restart')
  t.ok(await again.count(session({ domain: 'd.test', at: noon + 86_400_000 })), 'a new day begins anew')
})

t.test('who makes up many names leaves room for others', async (t) => {
  const { database } = await temporaryDatabase(t)
  const counter = await TlsResultCounter.open(database, noon)
  const counted = Array.from({ length: 300 }, (_, at) => counter.count(session({ domain: `x${at}.evil.test` })))
  t.equal(counted.filter(Boolean).length, 200)
  t.ok(counter.count(session({ domain: 'x0.evil.test' })))
  t.ok(counter.count(session({ domain: 'b.test' })))
})

t.test('of a policy that is very long its beginning is stored', async (t) => {
  const { database } = await temporaryDatabase(t)
  const counter = await TlsResultCounter.open(database, noon)
  const strings = Array.from({ length: 200 }, (_, at) => `${at} `.padEnd(600, 'x'))
  counter.count(session({ policy: { type: 'tlsa', strings, hosts: strings } }))
  await counter.flush()
  const [stored] = (await reportOf(database.read)).policies
  t.equal(stored?.policy['policy-string']?.length, 8)
  t.equal(stored?.policy['mx-host']?.join('').length, 4_000)
})

t.test('a disk that takes no more loses nothing', async (t) => {
  const { database } = await temporaryDatabase(t)
  let isFull = true
  const store = {
    read: database.read,
    commit: (writes: Parameters<typeof database.commit>[0]) =>
      isFull ? Promise.reject(new StorageFault('SQLITE_FULL', 'the disk is full')) : database.commit(writes),
  }
  const counter = await TlsResultCounter.open(store, noon)
  counter.count(session())
  const flushing = counter.flush()
  counter.count(session())
  await t.rejects(flushing, StorageFault)
  isFull = false
  await counter.flush()
  await counter.flush()
  t.equal((await reportOf(database.read)).policies[0]?.summary['total-successful-session-count'], 2)
})
