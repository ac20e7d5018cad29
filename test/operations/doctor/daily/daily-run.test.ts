/** What a run stores: findings, events of the operator's workspace, and one notice a day. */
import t, { type Test } from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { OPERATOR_WORKSPACE_KEY, setServiceState } from '../../../../src/base/storage/db/service-state.js'
import { storeDailyRun } from '../../../../src/operations/doctor/daily/daily-run.js'
import type { Finding, FindingState } from '../../../../src/operations/doctor/finding.js'
import { readFindings, readLastRun } from '../../../../src/operations/doctor/findings-store.js'
import { buildDoctorNotices } from '../../../../src/operations/notices/notice-writer.js'
import type { ChecksFailedData } from '../../../../src/records/events/payloads.js'
import { insertMember } from '../../../../src/workspaces/accounts/people/members.js'
import { insertUser } from '../../../../src/workspaces/accounts/people/users.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { seedDatabase } from '../../../helpers/database/seed-data.js'

const HOUR = 3_600_000
const start = Date.UTC(2026, 0, 2)
const finding = (subject: string, state: FindingState): Finding => {
  return { check: 'ptr', subject, state, text: `text of ${subject}`, remedy: [`dig ${subject}`] }
}

async function openStore(t: Test): Promise<{ database: Database; workspaceId: string }> {
  const { database } = await temporaryDatabase(t)
  const { workspaceId } = await seedDatabase(database)
  return { database, workspaceId }
}

const log = { info: () => undefined, warn: () => undefined }

async function eventsOf(
  database: Database,
  type: string,
): Promise<{ readonly subject: string; readonly workspace: string }[]> {
  return (
    await database.read<{ data: string; workspace_id: string }>(
      'select data, workspace_id from events where type = ? order by seq',
      [type],
    )
  ).map(({ data, workspace_id }) => ({ subject: JSON.parse(data).subject, workspace: workspace_id }))
}

async function noticesOf({ read }: Database): Promise<readonly ChecksFailedData[]> {
  return (
    await read<{ data: string }>(`select data from events where type = 'service.checks_failed' order by seq`, [])
  ).map(({ data }) => JSON.parse(data) as ChecksFailedData)
}

t.test('changes are events of the operator’s workspace', async (t) => {
  const { database, workspaceId } = await openStore(t)
  await database.commit([setServiceState({ key: OPERATOR_WORKSPACE_KEY, value: workspaceId })])
  const run = (hours: number, ...findings: readonly Finding[]) =>
    storeDailyRun({ ...database, log }, findings, start + hours * HOUR)
  await run(0, finding('a', 'fail'), finding('b', 'ok'))
  await run(24, finding('a', 'fail'), finding('b', 'warn'))
  t.same(
    (await readFindings(database.read, database.node.name)).map(({ subject, failedAt }) => [subject, failedAt]),
    [
      ['a', start],
      ['b', start + 24 * HOUR],
    ],
  )
  const silent = { ...finding('c', 'warn'), undecided: true } as const
  await run(48, finding('a', 'ok'), finding('b', 'warn'), silent)
  const workspace = workspaceId
  t.same(await eventsOf(database, 'service.check_failed'), [
    { subject: 'a', workspace },
    { subject: 'b', workspace },
  ])
  t.same(await eventsOf(database, 'service.check_recovered'), [{ subject: 'a', workspace }])
  const last = await readLastRun(database.read, database.node.name)
  t.match(last, { at: start + 48 * HOUR, totals: { ok: 1, warn: 2, fail: 0 } })
  t.match(last.unanswered, [{ subject: 'c' }], 'those without an answer are stored too')
})

t.test('there is one notice a day, which names all that is new since the last', async (t) => {
  const { database, workspaceId } = await openStore(t)
  await database.commit([setServiceState({ key: OPERATOR_WORKSPACE_KEY, value: workspaceId })])
  const run = (hours: number, ...subjects: readonly string[]) =>
    storeDailyRun(
      { ...database, log },
      subjects.map((subject) => finding(subject, 'fail')),
      start + hours * HOUR,
    )
  await run(0, 'a')
  await run(1, 'a', 'b')
  await run(22, 'a', 'b', 'c')
  t.same(
    (await noticesOf(database)).map(({ findings }) => findings.map(({ subject }) => subject)),
    [['a']],
  )
  await run(24, 'a', 'c', 'd')
  await run(48, 'a', 'c', 'd')
  t.same(
    (await noticesOf(database)).map(({ findings }) => findings.map(({ subject }) => subject)),
    [['a'], ['c', 'd']],
  )
  const year = 365 * 24
  await run(48 - year, 'a', 'c', 'd', 'e')
  t.equal((await noticesOf(database)).length, 3, 'a notice of the future does not count, after the clock was set back')
})

t.test('without the operator’s workspace nothing is lost', async (t) => {
  const { database, workspaceId } = await openStore(t)
  await database.commit([setServiceState({ key: OPERATOR_WORKSPACE_KEY, value: 'ws_gone' })])
  await storeDailyRun({ ...database, log }, [finding('a', 'fail')], start)
  t.same(await noticesOf(database), [])
  await database.commit([setServiceState({ key: OPERATOR_WORKSPACE_KEY, value: workspaceId })])
  await storeDailyRun({ ...database, log }, [finding('a', 'fail')], start + HOUR)
  t.equal((await noticesOf(database)).length, 1)
})

t.test('the mail lists failures first, each with what to do', async (t) => {
  const { database } = await temporaryDatabase(t)
  for (const role of ['owner', 'admin', 'member'] as const) {
    await database.commit([
      insertUser({
        id: role,
        email: parseAddress(`${role}@a.test`),
        full_name: role,
        password_hash: null,
        created_at: 0,
      }),
      insertMember({ id: role, workspace_id: 'a', user_id: role, role, joined_at: 0 }),
    ])
  }
  const found = [finding('w', 'warn'), finding('f', 'fail')].map(({ check, subject, text, remedy }, at) => {
    return {
      check,
      subject,
      state: at === 0 ? ('warn' as const) : ('fail' as const),
      text: `${text}\r\nBcc: x`,
      remedy,
    }
  })
  const data = { checked_at: new Date(start).toISOString(), findings: found }
  const mails = await buildDoctorNotices(database.read, 'a', data)
  t.same(mails.map(({ to }) => to).sort(), ['admin@a.test', 'owner@a.test'])
  t.equal(mails[0]?.subject, 'The daily check found a failure and a warning')
  const texts = mails[0]?.pieces.flatMap((piece) =>
    piece.kind === 'text' ? [piece.text] : piece.kind === 'list' ? piece.lines : [],
  )
  t.match(texts?.slice(0, 5), [
    /2026-01-02 00:00 UTC/,
    'Failure (ptr) f: text of f Bcc: x',
    'dig f',
    'Warning (ptr) w: text of w Bcc: x',
    'dig w',
  ])
  const many = { ...data, findings: Array.from({ length: 60 }, () => found[0] ?? fail()) }
  t.match(
    JSON.stringify((await buildDoctorNotices(database.read, 'a', many))[0]),
    /10 more findings are not listed here/,
  )
})

function fail(): never {
  throw new Error('no finding')
}
