/**
 * Stores what the daily checks found wrong, and the last run, in the database. Each node has findings and runs of its own,
 * and takes over those of no node, which a copy from SQLite brings.
 */
import type { Selectable } from 'kysely'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import {
  nodeKeyOf,
  readServiceState,
  removeServiceState,
  setServiceState,
} from '../../base/storage/db/service-state.js'
import type { Write } from '../../base/storage/db/write.js'
import { parseJson, toJson } from '../../base/storage/tables/columns.js'
import { SERVICE_WORKSPACE, type Tables } from '../../base/storage/tables/tables.js'
import { MAX_STORED, type StoredFinding } from './compare-findings.js'
import type { Finding, StateTotals } from './finding.js'

const LAST_RUN = 'doctor_last_run'

const LIMIT = MAX_STORED * 2
const MAX_OF_ALL = MAX_STORED * 4
const OF_NO_NODE = ''

const findingsOfNode = prepareRead<{ workspaceId: string; node: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('doctor_findings')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('node', '=', slot('node'))
    .orderBy('check_name')
    .orderBy('subject')
    .limit(slot('limit')),
)

const findingsOfAll = prepareRead<{ workspaceId: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('doctor_findings')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('node')
    .orderBy('check_name')
    .orderBy('subject')
    .limit(slot('limit')),
)

const runsOfAll = prepareRead<{ from: string; to: string }>()(({ db, slot }) =>
  db
    .selectFrom('service_state')
    .select(['key', 'value'])
    .where('key', '>=', slot('from'))
    .where('key', '<', slot('to')),
)

const removeFindings = prepareWrite<{ workspaceId: string; node: string }>(({ db, slot }) =>
  db.deleteFrom('doctor_findings').where('workspace_id', '=', slot('workspaceId')).where('node', '=', slot('node')),
)

const insertFinding = prepareWrite<Omit<Tables['doctor_findings'], 'node'>>(({ db, slot }) =>
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

/** Gives the findings of a node. */
export async function readFindings(read: Read, node: string): Promise<readonly StoredFinding[]> {
  const rows = await Promise.all(
    nodesOfRun(node).map((name) => findingsOfNode(read, { workspaceId: SERVICE_WORKSPACE, node: name, limit: LIMIT })),
  )
  return rows.flat().map(toFinding)
}

/** Something that a node has found. `node` is empty on SQLite. */
export type OfNode<Found> = Found & { readonly node: string }

/** Gives the findings of all nodes. */
export async function readAllFindings(read: Read): Promise<readonly OfNode<StoredFinding>[]> {
  const rows = await findingsOfAll(read, { workspaceId: SERVICE_WORKSPACE, limit: MAX_OF_ALL })
  return rows.map((row) => ({ ...toFinding(row), node: row.node }))
}

function toFinding(row: Selectable<Tables['doctor_findings']>): StoredFinding {
  return {
    check: row.check_name,
    subject: row.subject,
    state: row.state,
    text: row.text,
    remedy: parseJson(row.remedy),
    failedAt: row.failed_at,
    checkedAt: row.checked_at,
    isNoticed: row.noticed === 1,
  }
}

function nodesOfRun(node: string): readonly string[] {
  return node === OF_NO_NODE ? [node] : [OF_NO_NODE, node]
}

/** Replaces the stored findings of the node that writes by these. */
export function storeFindings(findings: readonly StoredFinding[], node: string): readonly Write[] {
  return [
    ...nodesOfRun(node).map((name) => removeFindings({ workspaceId: SERVICE_WORKSPACE, node: name })),
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
export async function readLastRun(read: Read, node: string): Promise<DoctorRun> {
  const text = (await readServiceState(read, { key: nodeKeyOf(LAST_RUN, node) }))[0]?.value
  return text === undefined ? noRun : parseRun(text)
}

interface RunsOfAll extends Pick<DoctorRun, 'at' | 'totals'> {
  readonly unanswered: readonly OfNode<UnansweredCheck>[]
}

/** Adds up the last runs of all nodes. `at` is the time of the last one of them. */
export async function readRunsOfAll(read: Read): Promise<RunsOfAll> {
  // The key of a node continues with a character before this one.
  const rows = await runsOfAll(read, { from: LAST_RUN, to: `${LAST_RUN}a` })
  const runs = rows.map(({ key, value }) => ({ ...parseRun(value), node: key.slice(LAST_RUN.length + 1) }))
  const sum = (state: keyof StateTotals): number => runs.reduce((total, { totals }) => total + totals[state], 0)
  return {
    at: Math.max(0, ...runs.map(({ at }) => at)),
    totals: { ok: sum('ok'), warn: sum('warn'), fail: sum('fail') },
    unanswered: runs.flatMap(({ node, unanswered }) => unanswered.map((one) => ({ ...one, node }))),
  }
}

function parseRun(text: string): DoctorRun {
  return JSON.parse(text)
}

export function storeRun(run: DoctorRun, node: string): readonly Write[] {
  const ofNoNode = nodeKeyOf(LAST_RUN, OF_NO_NODE)
  return [
    ...(node === OF_NO_NODE ? [] : [removeServiceState({ key: ofNoNode })]),
    setServiceState({ key: nodeKeyOf(LAST_RUN, node), value: JSON.stringify(run) }),
  ]
}
