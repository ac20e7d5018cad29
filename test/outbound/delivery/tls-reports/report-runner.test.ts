/** Receivers of reports that are slow, as strangers can make them. */
import t, { type Test } from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { MailboxLimit } from '../../../../src/outbound/delivery/tls-reports/mailbox-limit.js'
import { moveReport, planReport, readDueReports } from '../../../../src/outbound/delivery/tls-reports/report-records.js'
import { type SendReportDeps, takeReportStep } from '../../../../src/outbound/delivery/tls-reports/send-report.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const day = '2026-11-01'
const noon = Date.UTC(2026, 10, 2, 12)
const uris = ['https://one.test/', 'https://two.test/', 'https://three.test/']

async function stepDeps(t: Test, post: SendReportDeps['post']): Promise<SendReportDeps> {
  const { database } = await temporaryDatabase(t)
  return {
    ...{ read: database.read, commit: database.commit, clock: () => noon, post },
    log: { info: () => undefined, warn: () => undefined },
    resolver: { resolveRecords: async () => ({ kind: 'no-data' }) },
    reporter: { submitter: 'service.test', contact: 'postmaster@service.test' },
    ...{ hostname: 'mx.service.test', mailFrom: parseAddress('postmaster@service.test') },
    mailboxes: new MailboxLimit(),
    offer: () => undefined,
  }
}

t.test('all receivers of a report are called at once', async (t) => {
  const called: string[] = []
  let answer: () => void = () => undefined
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const deps = await stepDeps(t, async ({ href }) => {
    called.push(href)
    await answered
    return href === uris[1] ? 'two.test answered 500' : null
  })
  await deps.commit([planReport(day, 'b.test', 0)])
  const planned = { day, domain: 'b.test', state: 'waiting', attempts: 0, uris: [] } as const
  await deps.commit([moveReport(planned, { state: 'posting', dueAt: 0, attempts: 0, uris, reason: '' })])
  const [due] = await readDueReports(deps.read, noon, 5)
  if (due === undefined) throw new Error('it is not due')
  const step = takeReportStep(deps, due)
  await waitUntil('three calls', () => called.length === 3)
  answer()
  await step
  t.same(called.toSorted(), uris.toSorted())
  const [left] = await readDueReports(deps.read, noon + 86_400_000, 5)
  t.match(left, { state: 'posting', attempts: 1, uris: [uris[1]] }, 'who did not take it is called again')
})
