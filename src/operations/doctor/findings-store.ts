/** Stores what the daily checks found wrong, and the last run, in the database. */
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import { readServiceState, setServiceState } from '../../base/storage/db/service-state.js'
import type { Write } from '../../base/storage/db/write.js'
import { parseJson, toJson } from '../../base/storage/tables/columns.js'
import { SERVICE_WORKSPACE, type Tables } from '../../base/storage/tables/tables.js'
import { MAX_STORED, type StoredFinding } from './compare-findings.js'
import type { Finding, StateTotals } from './finding.js'

const LAST_RUN = 'doctor_last_run'

const findingsOfService = prepareRead<{ workspaceId: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('doctor_findings')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('check_name')
    .orderBy('subject')
    .limit(slot('limit')),
)

const removeFindings = prepareWrite<{ workspaceId: string }>(({ db, slot }) =>
  db.deleteFrom('doctor_findings').where('workspace_id', '=', slot('workspaceId')),
)

const insertFinding = prepareWrite<Tables['doctor_findings']>(({ db, slot }) =>
  db.insertInto('doctor_findings').values({
    workspace_id: slot('workspace_id'),
    check_name: slot('check_name'),
    subject: slot('subject'),
    state: slot('state'),
    text: slot('text'),
    remedy: slot('remedy'),
    failed_at: slot('failed_at'),
    checked_at: slot('checked_at'),
    noticed: slot('noticed'),
  }),
)

export async function readFindings(read: Read): Promise<readonly StoredFinding[]> {
  return (await findingsOfService(read, { workspaceId: SERVICE_WORKSPACE, limit: MAX_STORED * 2 })).map((row) => ({
    check: row.check_name,
    subject: row.subject,
    state: row.state,
    text: row.text,
    remedy: parseJson(row.remedy),
    failedAt: row.failed_at,
    checkedAt: row.checked_at,
    isNoticed: row.noticed === 1,
  }))
}

/** Replaces the stored findings by these. */
export function storeFindings(findings: readonly StoredFinding[]): readonly Write[] {
  return [
    removeFindings({ workspaceId: SERVICE_WORKSPACE }),
    ...findings.map(({ check, subject, state, text, remedy, failedAt, checkedAt, isNoticed }) =>
      insertFinding({
        ...{ workspace_id: SERVICE_WORKSPACE, check_name: check, subject, state, text, remedy: toJson(remedy) },
        ...{ failed_at: failedAt, checked_at: checkedAt, noticed: isNoticed ? 1 : 0 },
      }),
    ),
  ]
}

export interface DoctorRun {
  /** When it ended. 0 if there was none. */
  readonly at: number
  /** When the last notice was written. 0 if none was. */
  readonly noticedAt: number
  readonly totals: StateTotals
  /** The checks without an answer, at most `MAX_UNANSWERED`. */
  readonly unanswered: readonly UnansweredCheck[]
}

export type UnansweredCheck = Pick<Finding, 'check' | 'subject' | 'text' | 'remedy'>

/** Unanswered checks that a run stores. */
const MAX_UNANSWERED = 100

export function listUnanswered(findings: readonly Finding[]): readonly UnansweredCheck[] {
  return findings
    .filter(({ undecided }) => undecided === true)
    .slice(0, MAX_UNANSWERED)
    .map(({ check, subject, text, remedy }) => ({ check, subject, text, remedy }))
}

const noRun: DoctorRun = { at: 0, noticedAt: 0, totals: { ok: 0, warn: 0, fail: 0 }, unanswered: [] }

/** Metrics show its numbers. */
export async function readLastRun(read: Read): Promise<DoctorRun> {
  const text = (await readServiceState(read, { key: LAST_RUN }))[0]?.value
  const run: DoctorRun = text === undefined ? noRun : JSON.parse(text)
  return run
}

export function storeRun(run: DoctorRun): Write {
  return setServiceState({ key: LAST_RUN, value: JSON.stringify(run) })
}
