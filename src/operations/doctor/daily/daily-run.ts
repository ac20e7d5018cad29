/**
 * One daily run: what changed becomes events of the operator's workspace and lines of the log, and at most once a day an
 * event from which the notice is written.
 *
 * Findings, events and the time of the run are one commit, so a run that is cut off is made again and tells nothing twice.
 */

import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import type { Database } from '../../../base/storage/db/database.js'
import type { NodeState } from '../../../base/storage/db/node-state.js'
import type { Write } from '../../../base/storage/db/write.js'
import { recordEvent } from '../../../records/events/event-log.js'
import { findOperatorWorkspace } from '../../../workspaces/accounts/workspace/operator-workspace.js'
import { type Comparison, compareFindings, type StoredFinding } from '../compare-findings.js'
import { countStates, type Finding } from '../finding.js'
import {
  type DoctorRun,
  listUnanswered,
  readFindings,
  readLastRun,
  storeFindings,
  storeRun,
} from '../findings-store.js'

/** Milliseconds between two notices. They are less than a day, because a run is not at the same second each day. */
const NOTICE_INTERVAL = 23 * 3_600_000

interface DailyDeps extends Pick<Database, 'read' | 'commit'> {
  readonly node: Pick<NodeState, 'name'>
  readonly log: Pick<Log, 'info' | 'warn'>
}

export async function storeDailyRun(
  { read, commit, node: { name: node }, log }: DailyDeps,
  findings: readonly Finding[],
  now: number,
): Promise<Comparison> {
  const comparison = compareFindings(await readFindings(read, node), findings, now)
  const { present, failed, recovered } = comparison
  const workspaceId = await findOperatorWorkspace(read)
  const last = await readLastRun(read, node)
  const due = listDueNotices(present, last, workspaceId, now)
  const stored = present.map((one) => (due.includes(one) ? { ...one, isNoticed: true } : one))
  const run = describeRun(last, findings, due, now)
  await commit([
    ...storeFindings(stored, node),
    ...(workspaceId === null ? [] : recordChanges(workspaceId, comparison, { node, at: now })),
    ...(workspaceId === null || due.length === 0 ? [] : [recordNotice(workspaceId, due, { node, at: now })]),
    ...storeRun(run, node),
  ])
  for (const { check, subject, state, text, remedy } of failed) {
    log.warn({ check, subject, state, reason: text, remedy }, 'a check failed')
  }
  for (const { check, subject } of recovered) log.info({ check, subject }, 'a check recovered')
  return comparison
}

/** If there is no operator's workspace, there is no reader. A later notice names what is found then. */
function listDueNotices(
  present: readonly StoredFinding[],
  { noticedAt }: DoctorRun,
  workspaceId: string | null,
  now: number,
): readonly StoredFinding[] {
  if (workspaceId === null || Math.abs(now - noticedAt) < NOTICE_INTERVAL) return []
  return present.filter(({ isNoticed }) => !isNoticed)
}

function describeRun(
  { noticedAt }: DoctorRun,
  findings: readonly Finding[],
  due: readonly StoredFinding[],
  now: number,
): DoctorRun {
  const counts = { totals: countStates(findings), unanswered: listUnanswered(findings) }
  return { at: now, noticedAt: due.length > 0 ? now : noticedAt, ...counts }
}

interface Found {
  readonly node: string
  readonly at: number
}

function recordChanges(workspaceId: string, { failed, recovered }: Comparison, { node, at }: Found): readonly Write[] {
  const checkedAt = formatTimestamp(at)
  const frame = { workspaceId, emailId: null, recipient: null, at }
  return [
    ...failed.map((finding) =>
      recordEvent({
        ...frame,
        type: 'service.check_failed',
        data: { ...describeFinding(finding, node), checked_at: checkedAt },
      }),
    ),
    ...recovered.map(({ check, subject, failedAt }) =>
      recordEvent({
        ...frame,
        type: 'service.check_recovered',
        data: { check, subject, ...nameNode(node), failed_at: formatTimestamp(failedAt), checked_at: checkedAt },
      }),
    ),
  ]
}

function recordNotice(workspaceId: string, due: readonly StoredFinding[], { node, at }: Found): Write {
  return recordEvent({
    ...{ workspaceId, emailId: null, recipient: null, at },
    type: 'service.checks_failed',
    data: { checked_at: formatTimestamp(at), findings: due.map((finding) => describeFinding(finding, node)) },
  })
}

function describeFinding({ check, subject, state, text, remedy }: StoredFinding, node: string) {
  return { check, subject, ...nameNode(node), state, text, remedy }
}

/** Nodes have no names on SQLite. */
function nameNode(node: string): { readonly node?: string } {
  return node === '' ? {} : { node }
}
