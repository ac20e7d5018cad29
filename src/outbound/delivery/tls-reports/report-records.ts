/** Stores how far each TLS report is, so that each is sent once, whenever the process ends. */
import { sql } from 'kysely'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import { readServiceState, setServiceState } from '../../../base/storage/db/service-state.js'
import type { Write } from '../../../base/storage/db/write.js'
import { parseJson, toJson } from '../../../base/storage/tables/columns.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import { removePolicies, removeResults } from './result-records.js'

type ReportRow = Tables['tls_reports']

/** A report that is not settled. */
export interface OpenReport {
  readonly day: string
  readonly domain: string
  readonly state: ReportRow['state']
  readonly attempts: number
  readonly uris: readonly string[]
}

type SettledState = Extract<ReportRow['state'], 'sent' | 'failed' | 'unwanted'>

const insertReport = prepareWrite<Pick<ReportRow, 'day' | 'domain' | 'due_at' | 'uris'>>(({ db, slot }) =>
  db
    .insertInto('tls_reports')
    .values({
      day: slot('day'),
      domain: slot('domain'),
      state: 'waiting',
      due_at: slot('due_at'),
      attempts: 0,
      uris: slot('uris'),
      reason: '',
      settled_at: null,
    })
    .onConflict((conflict) => conflict.columns(['day', 'domain']).doNothing()),
)

export function planReport(day: string, domain: string, dueAt: number): Write {
  return insertReport({ day, domain, due_at: dueAt, uris: toJson([]) })
}

const updateReport = prepareWrite<Omit<ReportRow, 'settled_at'>>(
  ({ db, slot, slots }) =>
    db
      .updateTable('tls_reports')
      .set(slots(['state', 'due_at', 'attempts', 'uris', 'reason']))
      .where('day', '=', slot('day'))
      .where('domain', '=', slot('domain')),
  1,
)

interface NextStep {
  readonly state: 'waiting' | 'posting'
  readonly dueAt: number
  readonly attempts: number
  readonly uris: readonly string[]
  readonly reason: string
}

export function moveReport({ day, domain }: OpenReport, next: NextStep): Write {
  const { state, dueAt, attempts, uris, reason } = next
  return updateReport({ day, domain, state, due_at: dueAt, attempts, uris: toJson(uris), reason })
}

const endReport = prepareWrite<Pick<ReportRow, 'day' | 'domain' | 'state' | 'reason' | 'settled_at'>>(
  ({ db, slot, slots }) =>
    db
      .updateTable('tls_reports')
      .set(slots(['state', 'reason', 'settled_at']))
      .where('day', '=', slot('day'))
      .where('domain', '=', slot('domain')),
  1,
)

/** Settles a report, and removes the sessions that it was about, because nothing reads them again. */
export function settleReport(report: OpenReport, state: SettledState, reason: string, now: number): readonly Write[] {
  const { day, domain } = report
  return [
    endReport({ day, domain, state, reason, settled_at: now }),
    removeResults({ day, domain }),
    removePolicies({ day, domain }),
  ]
}

const dueBefore = prepareRead<{ now: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('tls_reports')
    .select(['day', 'domain', 'state', 'attempts', 'uris'])
    // This is a condition of the partial index, word for word.
    .where(sql<boolean>`state in ('waiting', 'posting')`)
    .where('due_at', '<=', slot('now'))
    .orderBy('due_at')
    .limit(slot('limit')),
)

export async function readDueReports(read: Read, now: number, limit: number): Promise<readonly OpenReport[]> {
  return (await dueBefore(read, { now, limit })).map((row) => ({ ...row, uris: parseJson(row.uris) }))
}

/** Reads a few reports of days before `before`. */
export const oldReports = prepareRead<{ before: string; limit: number }>()(({ db, slot }) =>
  db.selectFrom('tls_reports').select(['day', 'domain']).where('day', '<', slot('before')).limit(slot('limit')),
)

export const removeReport = prepareWrite<{ day: string; domain: string }>(({ db, slot }) =>
  db.deleteFrom('tls_reports').where('day', '=', slot('day')).where('domain', '=', slot('domain')),
)

/** Reads the newest reports first, for people. */
export const newestReports = prepareRead<{ from: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('tls_reports')
    .select(['day', 'domain', 'state', 'due_at', 'attempts', 'reason', 'settled_at'])
    .where('day', '>=', slot('from'))
    .orderBy('day', 'desc')
    .orderBy('domain', 'desc')
    .limit(slot('limit')),
)

const LAST_PLANNED = 'tls_reports_planned'

/** Returns the last day whose reports are all planned. Empty if there is none. */
export async function readLastPlanned(read: Read): Promise<string> {
  return (await readServiceState(read, { key: LAST_PLANNED }))[0]?.value ?? ''
}

export function storeLastPlanned(day: string): Write {
  return setServiceState({ key: LAST_PLANNED, value: day })
}
