/** Filing on a real database: once, with its domain, and within the limits. */
import t, { type Test } from 'tap'
import { WriteConflict } from '../../../../src/base/storage/db/write.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import {
  DomainReportFiler,
  type ReportOutcome,
} from '../../../../src/inbound/receiving/domain-reports/domain-report-filer.js'
import { removeOldReports } from '../../../../src/inbound/receiving/domain-reports/old-reports.js'
import { reportsBefore, rowsOfReport } from '../../../../src/inbound/receiving/domain-reports/report-records.js'
import type { ReportedDomain } from '../../../../src/inbound/receiving/domain-reports/reported-domain.js'
import { summarizeReports } from '../../../../src/inbound/receiving/domain-reports/summarize-reports.js'
import { storeInbound, unprocessedById } from '../../../../src/records/messages/inbound/inbound-email.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { rowOf } from '../../../helpers/database/rows.js'
import { testNode } from '../../../helpers/database/test-engine.js'
import { inboundMail } from '../../../helpers/mail/inbound-mail.js'

const DAY = 86_400_000
const owner = { workspaceId: 'ws_1', domainId: 'dom_1' }
const everything = { ...owner, kind: 'any', from: 0, to: Number.MAX_SAFE_INTEGER, before: 'g', limit: 10_000 } as const

function reported(more: Partial<ReportedDomain> = {}): ReportedDomain {
  const rows = toJson([])
  const times = { beginsAt: 1_000, endsAt: 2_000 }
  const counts = { messages: 2, passed: 1 }
  const head = { domain: 'a.test', organization: 'B', reportId: 'one', policy: 'p=none' }
  return { kind: 'dmarc_aggregate', ...head, ...times, ...counts, rows, ...more }
}

async function home(t: Test) {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const outcomes: ReportOutcome[] = []
  let now = DAY
  let arrived = 0
  const reports = new DomainReportFiler({
    read,
    clock: () => now,
    log: { info: () => undefined },
    policy: { classify: async () => ({ kind: 'system', name: 'dmarc', detail: '' }) },
    owners: { find: async (name) => (name === 'a.test' ? owner : null) },
    onOutcome: (_, outcome) => outcomes.push(outcome),
  })
  const store = async (reporter: string | null) => {
    const id = `mail-${++arrived}`
    const spf = {
      result: 'pass',
      domain: reporter ?? '',
      identity: 'mailfrom',
      reason: null,
      explanation: null,
    } as const
    const authentication = reporter === null ? {} : { spf }
    await commit(storeInbound(inboundMail({ id, kind: 'report', authentication }), Buffer.from('x')))
    const [email] = await unprocessedById(read, { node: testNode, id, workspaceId: 'ws_1' })
    if (email === undefined) throw new Error('nothing was stored')
    return email
  }
  const build = rowOf(read)
  return {
    ...{ database, outcomes, reports, store },
    /** `receiver` has received mail of a.test. */
    know: async (receiver: string) =>
      commit([await build('mail_receivers', { workspace_id: 'ws_1', domain: 'a.test', receiver })]),
    advance: (milliseconds: number) => {
      now += milliseconds
    },
    arrive: async (domains: readonly ReportedDomain[], reporter: string | null = 'b.test') => {
      const email = await store(reporter)
      const result =
        reports.refuse(email) ??
        (await reports.file(email, { kind: 'digested', digest: { kind: 'reported', domains } }))
      await commit(result.writes)
      result.onCommitted?.()
      t.same(await read('select 1 from inbound_emails union all select 1 from inbound_raw', []), [])
      return outcomes.at(-1)
    },
    stored: async () => reportsBefore(read, everything),
  }
}

t.test('a report is filed once, by its reporter, kind, domain and id', async (t) => {
  const { arrive, stored } = await home(t)
  t.equal(await arrive([reported()]), 'filed')
  t.equal(await arrive([reported()]), 'repeated')
  t.equal(await arrive([reported()], 'c.test'), 'filed')
  t.equal(await arrive([reported({ kind: 'tls' })]), 'filed')
  t.equal(await arrive([reported({ domain: 'shop.a.test' })]), 'filed')
  t.equal(await arrive([reported({ reportId: 'two' })]), 'filed')
  t.equal(await arrive([reported({ domain: 'elsewhere.test' })]), 'unknown-domain')
  t.equal(await arrive([reported({ reportId: 'three' })], null), 'unauthenticated')
  t.equal((await stored()).length, 5)
})

t.test('of two at the same moment one is stored, and the other is decided again', async (t) => {
  const { database, reports, store, stored } = await home(t)
  const digest = { kind: 'digested', digest: { kind: 'reported', domains: [reported()] } } as const
  const [one, other] = await Promise.all(
    [await store('b.test'), await store('b.test')].map((email) => reports.file(email, digest)),
  )
  await database.commit(one?.writes ?? [])
  await t.rejects(database.commit(other?.writes ?? []), WriteConflict)
  t.equal((await stored()).length, 1)
})

t.test('one reporter about one domain is limited by the day', async (t) => {
  const { arrive, advance } = await home(t)
  for (let at = 0; at < 50; at += 1) t.equal(await arrive([reported({ reportId: `r${at}` })]), 'filed')
  t.equal(await arrive([reported({ reportId: 'next' })]), 'rate')
  t.equal(await arrive([reported({ reportId: 'next' })], 'c.test'), 'filed', 'others are not concerned')
  advance(DAY)
  t.equal(await arrive([reported({ reportId: 'next' })]), 'filed')
})

t.test('the messages of one reporter are limited before they are read', async (t) => {
  const { reports, store, advance } = await home(t)
  const [email, other] = [await store('b.test'), await store('c.test')]
  for (let at = 0; at < 2_000; at += 1) if (reports.refuse(email) !== null) t.fail(`${at}`)
  t.not(reports.refuse(email), null)
  t.equal(reports.refuse(other), null, 'others are not concerned')
  advance(1_000)
  t.equal(reports.refuse(email), null)
})

t.test('messages of which nothing is filed count as many', async (t) => {
  const { reports, store } = await home(t)
  const [email, other] = [await store('b.test'), await store('c.test')]
  const bomb = { kind: 'digested', digest: { kind: 'unreadable', why: 'it is none' } } as const
  let read = 0
  while (reports.refuse(email) === null) {
    read += 1
    await reports.file(email, read % 2 === 0 ? bomb : { kind: 'digested', digest: { kind: 'reported', domains: [] } })
  }
  t.equal(read, 50)
  t.equal(reports.refuse(other), null, 'others are not concerned')
})

t.test('who floods displaces itself', async (t) => {
  const { arrive, advance, stored, database } = await home(t)
  t.equal(await arrive([reported()], 'honest.test'), 'filed')
  const rows = toJson([
    { policy_type: 'x'.repeat(260_000), result: '', sessions: 1, passed: true, source_ip: '', mx_host: '' },
  ])
  for (let at = 0; at < 75; at += 1) {
    advance(DAY / 10)
    t.equal(await arrive([reported({ reportId: `r${at}`, rows })], 'flood.test'), 'filed')
  }
  const weight = (await stored()).reduce((sum, { size }) => sum + size + 8_192, 0)
  t.ok(weight <= 16_777_216, `${weight}`)
  t.ok((await stored()).some(({ reporter }) => reporter === 'honest.test'))
  t.ok(
    (await stored()).some(({ report_id: id }) => id === 'r74'),
    'the newest is there',
  )
  t.equal(
    (await database.read('select 1 from domain_report_rows', [])).length,
    (await stored()).length,
    'rows go with their report',
  )
})

t.test('forged reports, however many reporters they name, displace no report of a receiver', async (t) => {
  const { arrive, know, stored } = await home(t)
  await know('gmail.com')
  const rows = (octets: number) =>
    toJson([{ policy_type: 'x'.repeat(octets), result: '', sessions: 1, passed: true, source_ip: '', mx_host: '' }])
  const ofReceiver = async (): Promise<number> =>
    (await stored()).filter(({ reporter }) => reporter === 'google.com').length
  for (let at = 0; at < 20; at += 1) {
    t.equal(await arrive([reported({ reportId: `r${at}`, rows: rows(400_000) })], 'google.com'), 'filed')
  }
  for (let at = 0; at < 40; at += 1) {
    t.equal(await arrive([reported({ rows: rows(400_000) })], `forged${at}.test`), 'filed')
  }
  t.equal(await ofReceiver(), 20)
  for (let at = 20; at < 41; at += 1) {
    t.equal(await arrive([reported({ reportId: `r${at}`, rows: rows(400_000) })], 'google.com'), 'filed')
  }
  t.same(
    [...new Set((await stored()).map(({ reporter }) => reporter))],
    ['google.com'],
    'who was sent nothing has given way',
  )
  t.equal(await arrive([reported({ rows: rows(400_000) })], 'forged.test'), 'rate', 'it would displace a receiver')
})

t.test('old reports are removed', async (t) => {
  const { arrive, advance, stored, database } = await home(t)
  await arrive([reported()])
  advance(10)
  await arrive([reported({ reportId: 'new' })])
  t.equal(await removeOldReports(database, DAY + 5), false)
  t.match(await stored(), [{ report_id: 'new' }])
  const [left] = await stored()
  t.same(await rowsOfReport(database.read, { workspaceId: 'ws_1', id: left?.id ?? '' }), [{ rows: '[]' }])
})

t.test('the sums are those of aggregate reports, by source and by who was authenticated', async (t) => {
  const { arrive, database, know } = await home(t)
  await know('b.test')
  const row = { disposition: 'none', dkim: 'pass', spf: 'pass', header_from: 'a.test', spf_domain: '', spf_result: '' }
  const rows = toJson([
    { ...row, source_ip: '192.0.2.1', messages: 5, passed: true, dkim_domain: 'a.test', dkim_result: 'pass' },
    { ...row, source_ip: '192.0.2.2', messages: 3, passed: false, dkim_domain: 'a.test', dkim_result: 'fail' },
  ])
  await arrive([reported({ rows, messages: 8, passed: 5 })])
  await arrive([reported({ rows, messages: 8, passed: 5, reportId: 'two', beginsAt: 2 * DAY, endsAt: 3 * DAY })])
  await arrive([reported({ rows, kind: 'dmarc_failure', reportId: 'three' })])
  const summary = await summarizeReports(database.read, everything)
  t.same(summary.dmarc, {
    ...{ reports: 2, messages: 16, passed: 10, failed: 6 },
    sources: [
      { source_ip: '192.0.2.1', messages: 10, passed: 10, failed: 0 },
      { source_ip: '192.0.2.2', messages: 6, passed: 0, failed: 6 },
    ],
    authenticated: [
      { domain: 'a.test', messages: 10, passed: 10, failed: 0 },
      { domain: null, messages: 6, passed: 0, failed: 6 },
    ],
    reporters: [{ reporter: 'b.test', known: true, reports: 2, messages: 16, passed: 10, failed: 6 }],
    uncounted: { reports: 0, messages: 0, passed: 0, failed: 0 },
    days: [
      { date: '1970-01-01', messages: 8, passed: 5, failed: 3 },
      { date: '1970-01-03', messages: 8, passed: 5, failed: 3 },
    ],
  })
  const none = { reports: 0, sessions: 0, passed: 0, failed: 0 }
  t.same(summary.tls, { ...none, failures: [], reporters: [], uncounted: none, days: [] })
})

t.test('reports of those who received no mail of the domain are beside the sums', async (t) => {
  const { arrive, database, know } = await home(t)
  const row = { policy_type: 'sts', result: 'certificate-expired', passed: false, source_ip: '', mx_host: '' }
  const rows = toJson([{ ...row, sessions: 7 }])
  await arrive([reported({ messages: 100_000_000, passed: 0 })], 'c.test')
  await arrive([reported({ messages: 100_000_000, passed: 0, reportId: 'two' })], 'c.test')
  await arrive([reported({ kind: 'tls', messages: 7, passed: 0, rows })], 'c.test')
  await arrive([reported()], 'google.com')
  const before = await summarizeReports(database.read, everything)
  t.match(before.dmarc, { reports: 0, messages: 0, uncounted: { reports: 3, messages: 200_000_002, passed: 1 } })
  t.match(before.tls, { reports: 0, failures: [], uncounted: { reports: 1, sessions: 7, failed: 7 } })
  await know('gmail.com')
  const { dmarc } = await summarizeReports(database.read, everything)
  t.match(dmarc, {
    ...{ reports: 1, messages: 2, passed: 1, failed: 1, uncounted: { reports: 2 } },
    reporters: [
      { reporter: 'c.test', known: false, reports: 2, messages: 200_000_000 },
      { reporter: 'google.com', known: true, reports: 1, messages: 2 },
    ],
  })
  await know('c.test')
  t.match((await summarizeReports(database.read, everything)).tls, {
    ...{ reports: 1, sessions: 7, failures: [{ result: 'certificate-expired', sessions: 7 }] },
    reporters: [{ reporter: 'c.test', known: true, sessions: 7 }],
  })
})

t.test('the largest of very many sources are shown', async (t) => {
  const { arrive, database, know } = await home(t)
  await know('b.test')
  const row = { disposition: 'none', dkim: 'pass', spf: 'pass', header_from: 'a.test', spf_domain: '', spf_result: '' }
  const rest = { passed: true, dkim_domain: 'a.test', dkim_result: 'pass' }
  for (let report = 0; report < 5; report += 1) {
    const rows = Array.from({ length: 1_000 }, (_, place) => {
      const number = report * 1_000 + place
      return { ...row, ...rest, source_ip: `2001:db8::${number}`, messages: 1 + ((number * 7_919) % 5_000) }
    })
    await arrive([reported({ rows: toJson(rows), reportId: `many-${report}` })])
  }
  const { sources } = (await summarizeReports(database.read, everything)).dmarc
  t.same(
    sources.map(({ messages }) => messages),
    Array.from({ length: 50 }, (_, place) => 5_000 - place),
  )
})
