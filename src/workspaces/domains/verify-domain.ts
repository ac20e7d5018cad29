/**
 * Verifies a sending domain at the request of a user, over REST or on the command line.
 *
 * A check is a dozen queries to servers of the user's choice, so the checks of a domain are limited to about one a
 * second.
 */

import { Refusal } from '../../base/mail/refusal.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import { createLruCache } from '../../base/platform/lru-cache.js'
import { MINUTE } from '../../base/platform/time-units.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { ConstraintViolated, type Write } from '../../base/storage/db/write.js'
import { type Actor, recordAuditEntry } from '../accounts/access/audit-log.js'
import { requireNotTaken } from './new-domain.js'
import { forceVerified, type SendingDomain } from './rows/sending-domains.js'
import {
  type CheckedDomain,
  checkDomain,
  type DomainCheckDeps,
  toFindingResources,
} from './verification/domain-checks.js'
import { recordForcedVerification } from './verification/domain-event.js'
import type { RecordVerdict } from './verification/judge-records.js'

/**
 * The check that proved the domain, or undefined if the domain is gone. Throws a Refusal: `domain-taken`, `no-answer`, or one that says
 * what is not proved, with the records found in `details.records`.
 */
export async function verifyDomain(
  deps: DomainCheckDeps,
  row: SendingDomain,
  actor: Actor,
  now: number,
): Promise<CheckedDomain | undefined> {
  await requireNotTaken(deps.read, row.workspace_id, row.domain)
  const checked = await checkDomain(deps, row, actor, now).catch(async (error: unknown) => {
    // Another workspace was first, so the same check as before throws that refusal.
    if (error instanceof ConstraintViolated) await requireNotTaken(deps.read, row.workspace_id, row.domain)
    throw error
  })
  if (checked === undefined || checked.verdict === 'proved') return checked
  throw buildUnprovedRefusal(checked.row.domain, checked.verdict, checked)
}

/** Marks the domain as verified by the operator's decision, without DNS. Throws a Refusal `domain-taken`. */
export async function forceVerification(
  read: Read,
  row: SendingDomain,
  actor: Actor,
  at: number,
): Promise<readonly Write[]> {
  const { id, workspace_id: workspaceId, domain, status } = row
  await requireNotTaken(read, workspaceId, domain)
  const act = {
    workspaceId,
    actor,
    action: 'domain.verified',
    target: id,
    at,
    details: { domain, forced: true },
  } as const
  const writes = [forceVerified({ workspaceId, domain, at }), recordAuditEntry(act)]
  return status === 'verified' ? writes : [...writes, recordForcedVerification(row, at)]
}

const verdictMessages: Readonly<Record<Exclude<RecordVerdict, 'proved'>, string>> = {
  'no-answer': 'DNS does not answer for the records of',
  'dkim-not-proved': 'DKIM records are missing or wrong for',
  'spf-not-proved': 'the record of the mail host is missing or wrong for',
  'domain-not-proved': 'DNS records are missing or wrong for',
}

function buildUnprovedRefusal(
  domain: string,
  kind: Exclude<RecordVerdict, 'proved'>,
  { findings }: CheckedDomain,
): Refusal {
  const wrong = findings.filter(({ state }) => state !== 'verified').map(({ name }) => name)
  return new Refusal(kind, `${verdictMessages[kind]} ${domain}: ${wrong.join(', ')}`, {
    domain,
    records: toFindingResources(findings),
  })
}

const MAX_CHECKS_PER_MINUTE = 60
const MAX_DOMAINS = 10_000

export class CheckLimiter {
  private readonly checks = createLruCache<readonly number[]>({ max: MAX_DOMAINS })

  /** Counts a check of a domain; throws a Refusal `rate-limited` if the minute's checks are used up. */
  count(domainId: string, now: number): void {
    const recent = (this.checks.get(domainId) ?? []).filter((at) => at > now - MINUTE && at <= now)
    const [oldest] = recent
    if (oldest !== undefined && recent.length >= MAX_CHECKS_PER_MINUTE) throw buildRateRefusal(oldest + MINUTE, now)
    this.checks.set(domainId, [...recent, now])
  }
}

function buildRateRefusal(free: number, now: number): Refusal {
  const seconds = Math.max(1, Math.ceil((free - now) / 1000))
  const message = `a domain may be checked ${MAX_CHECKS_PER_MINUTE} times a minute: try again in ${seconds} s`
  return new Refusal('rate-limited', message, {
    retry_after: seconds,
    limit: MAX_CHECKS_PER_MINUTE,
    remaining: 0,
    reset_at: formatTimestamp(free),
  })
}
