/**
 * Decides how a check of a domain's DNS records changes the domain, and when to check again. Pure.
 *
 *   status     records valid   records not valid
 *   pending    verified        failed if a user asked; else still pending
 *   failed     verified        unchanged
 *   verified   grace ends      72 h of grace, with a warning at their beginning; then failed
 *   (forced)   unchanged       unchanged: the operator overrides DNS
 *
 * If DNS does not answer, nothing changes. `unproved_since` is the beginning of the grace for a verified domain, and
 * for any other the moment from which the interval is counted: hourly for three days, daily for thirty, then on request
 * only.
 */
import type { RandomSource } from '../../../base/platform/random.js'
import { DAY, HOUR } from '../../../base/platform/time-units.js'
import { parseJson, toJson } from '../../../base/storage/tables/columns.js'
import type { RecordStates } from '../../../base/storage/tables/domain-tables.js'
import type { SendingDomain } from '../rows/sending-domains.js'
import type { RecordsFinding, RecordVerdict } from './judge-records.js'

export const GRACE_PERIOD = 72 * HOUR
const HOURLY_PERIOD = 3 * DAY
const RECHECK_PERIOD = 33 * DAY

export type CheckedRow = Pick<
  SendingDomain,
  'status' | 'verified_at' | 'unproved_since' | 'record_states' | 'checked_at' | 'next_check_at'
>

export type DomainEventType = 'domain.verified' | 'domain.broken' | 'domain.failed'

interface CheckOutcome {
  readonly row: CheckedRow
  readonly event: DomainEventType | null
}

export interface CheckResult {
  readonly verdict: RecordVerdict
  readonly findings: readonly RecordsFinding[]
  readonly mx: 'verified' | 'failed' | null
  readonly dmarc: 'verified' | 'pending' | null
  readonly policyHost: 'verified' | 'pending' | null
  /** A user asked for the check and waits for its result. */
  readonly onDemand: boolean
}

export function decideCheckOutcome(
  row: SendingDomain,
  check: CheckResult,
  now: number,
  random: RandomSource,
): CheckOutcome {
  if (check.verdict === 'no-answer') {
    return {
      row: { ...row, next_check_at: row.next_check_at === null ? null : nextCheckAfterNoAnswer(row, now, random) },
      event: null,
    }
  }
  const proved = check.verdict === 'proved'
  const { status, since } = proved
    ? { status: 'verified' as const, since: null }
    : decideUnprovedStatus(row, check.onDemand, now)
  const next = {
    ...row,
    status,
    unproved_since: since,
    verified_at: status !== 'verified' ? null : row.status === 'verified' ? row.verified_at : now,
    record_states: toJson(mergeRecordStates(parseRecordStates(row), check)),
    checked_at: now,
  }
  return { row: { ...next, next_check_at: nextCheckAt(next, now, random) }, event: decideEvent(row, next) }
}

function decideUnprovedStatus(
  { status, forced, unproved_since: since }: SendingDomain,
  isOnDemand: boolean,
  now: number,
): { readonly status: SendingDomain['status']; readonly since: number | null } {
  if (status !== 'verified') return { status: isOnDemand ? 'failed' : status, since: isOnDemand ? now : (since ?? now) }
  if (forced === 1) return { status, since: null }
  const begun = since ?? now
  return now - begun >= GRACE_PERIOD ? { status: 'failed', since: now } : { status, since: begun }
}

function decideEvent(before: CheckedRow, after: Pick<CheckedRow, 'status' | 'unproved_since'>): DomainEventType | null {
  if (before.status !== after.status) return after.status === 'verified' ? 'domain.verified' : 'domain.failed'
  if (after.status !== 'verified') return null
  return before.unproved_since === null && after.unproved_since !== null ? 'domain.broken' : null
}

/**
 * The next check after a check without an answer. A domain that is not verified keeps its interval. Otherwise we
 * would ask for names with dead servers forever.
 */
function nextCheckAfterNoAnswer(row: SendingDomain, now: number, random: RandomSource): number | null {
  return row.status === 'verified' ? addJitteredHour(now, random) : nextCheckAt(row, now, random)
}

function addJitteredHour(now: number, random: RandomSource): number {
  return Math.round(now + HOUR * (1 - random() / 10))
}

/** A random part spreads the checks, so that domains that were checked together do not stay together. */
export function nextCheckAt(
  row: Pick<SendingDomain, 'status' | 'forced' | 'unproved_since' | 'rotation_asked_at'>,
  now: number,
  random: RandomSource,
): number | null {
  const hourly = addJitteredHour(now, random)
  const daily = now + DAY * (1 - random() / 10)
  const { status, forced, unproved_since: since, rotation_asked_at: rotating } = row
  if (status === 'verified') {
    if (rotating !== null) return hourly
    if (forced === 1) return null
    return Math.round(since === null ? daily : Math.min(hourly, Math.max(since + GRACE_PERIOD, now)))
  }
  const age = now - (since ?? now)
  if (age >= RECHECK_PERIOD) return null
  return Math.round(age < HOURLY_PERIOD ? hourly : daily)
}

export function parseRecordStates({ record_states: text }: Pick<SendingDomain, 'record_states'>): RecordStates {
  return parseJson(text)
}

function mergeRecordStates(before: RecordStates, { findings, mx, dmarc, policyHost }: CheckResult): RecordStates {
  const changedStates = findings.flatMap(({ purpose, state }) =>
    state === 'unknown' ? [] : [[purpose, state === 'awaited' ? 'pending' : state] as const],
  )
  return {
    ...before,
    ...Object.fromEntries(changedStates),
    ...(mx === null ? {} : { mx }),
    ...(dmarc === null ? {} : { dmarc }),
    ...(policyHost === null ? {} : { policy_host: policyHost }),
  }
}
