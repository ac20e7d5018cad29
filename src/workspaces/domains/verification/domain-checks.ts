/**
 * Checks the DNS records of a sending domain and stores the result.
 *
 * One commit has the states of the records, the status, the event and the audit entry. It misses if another check
 * has changed the domain. Then we decide the outcome again from the current row. If two workspaces prove the same
 * name at once, the unique index lets one of them have it.
 */

import type { RandomSource } from '../../../base/platform/random.js'
import type { Store } from '../../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import { tryCommit, type Write } from '../../../base/storage/db/write.js'
import type { RecordFinding } from '../../../records/events/payloads.js'
import { type Actor, daemonActor, recordAuditEntry } from '../../accounts/access/audit-log.js'
import { dkimKeysOf } from '../dkim/signing-keys.js'
import { domainById, type SendingDomain } from '../rows/sending-domains.js'
import {
  type CheckedRow,
  type CheckResult,
  type DomainEventType,
  decideCheckOutcome,
  GRACE_PERIOD,
} from './check-outcome.js'
import { recordDomainEvent } from './domain-event.js'
import {
  judgeDmarc,
  judgeInboundMx,
  judgePolicyHost,
  judgeRecords,
  type RecordsFinding,
  type RecordVerdict,
  verdictOf,
} from './judge-records.js'
import { type DomainResolver, lookUpRecords, type ZoneNames } from './look-up-records.js'

export interface DomainCheckDeps extends Store {
  readonly resolver: DomainResolver
  readonly names: ZoneNames
  readonly random: RandomSource
}

export interface CheckedDomain {
  /** The domain after the check. */
  readonly row: SendingDomain
  readonly verdict: RecordVerdict
  readonly findings: readonly RecordsFinding[]
  readonly event: DomainEventType | null
}

interface GuardedCheck extends CheckedRow {
  readonly workspaceId: string
  readonly id: string
  readonly wasStatus: SendingDomain['status']
  /** The value -1 means null. */
  readonly wasUnproved: number
}

/** Misses if the domain is gone or has changed. */
const saveCheck = prepareWrite<GuardedCheck>(
  ({ db, slot }) =>
    db
      .updateTable('domains')
      .set({
        status: slot('status'),
        verified_at: slot('verified_at'),
        unproved_since: slot('unproved_since'),
        record_states: slot('record_states'),
        checked_at: slot('checked_at'),
        next_check_at: slot('next_check_at'),
      })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('status', '=', slot('wasStatus'))
      .where((eb) => eb(eb.fn.coalesce('unproved_since', eb.lit(-1)), '=', slot('wasUnproved'))),
  1,
)

interface DuePage {
  readonly now: number
  readonly afterTime: number
  readonly afterId: string
  readonly limit: number
}

/** The domains of all workspaces that are due. The longest overdue comes first. */
export const domainsToCheck = prepareRead<DuePage>()(({ db, slot }) =>
  db
    .selectFrom('domains')
    .selectAll()
    .where('next_check_at', 'is not', null)
    .where('next_check_at', '<=', slot('now'))
    .where((eb) => eb(eb.refTuple('next_check_at', 'id'), '>', eb.tuple(slot('afterTime'), slot('afterId'))))
    .orderBy('next_check_at')
    .orderBy('id')
    .limit(slot('limit')),
)

/**
 * A null `asker` means a periodic check of the daemon. Resolves to undefined if the domain is gone. Rejects with
 * `ConstraintViolated` if another workspace has verified the name first.
 */
export async function checkDomain(
  deps: DomainCheckDeps,
  row: SendingDomain,
  asker: Actor | null,
  now: number,
): Promise<CheckedDomain | undefined> {
  const { read, commit, resolver, names, random } = deps
  const answers = await lookUpRecords(resolver, row, names)
  const domainRef = { workspaceId: row.workspace_id, id: row.id }
  for (;;) {
    const [before] = await domainById(read, domainRef)
    if (before === undefined) return undefined
    const keys = await dkimKeysOf(read, { workspaceId: before.workspace_id, domain: before.domain })
    const findings = judgeRecords(answers, before, keys, names)
    const verdict = verdictOf(findings)
    const mx = judgeInboundMx(answers.inboundMx, names.inbound_mx_host)
    const dmarc = judgeDmarc(answers.dmarc)
    const policyHost = judgePolicyHost(answers.policyHost, names.zone)
    const check: CheckResult = { verdict, findings, mx, dmarc, policyHost, onDemand: asker !== null }
    const { row: after, event } = decideCheckOutcome(before, check, now, random)
    const guarded = { ...after, ...domainRef, wasStatus: before.status, wasUnproved: before.unproved_since ?? -1 }
    const next = { ...before, ...after }
    // The user who asked sees the result and needs no notice. If a verified domain fails, others need to know too.
    const answered = asker !== null && before.status !== 'verified'
    const writes = [
      saveCheck(guarded),
      ...buildEventWrites({ row: next, verdict, findings, event }, asker, answered, now),
    ]
    if (await tryCommit(commit(writes))) return { row: next, verdict, findings, event }
  }
}

function buildEventWrites(
  { row, event: eventType, findings }: CheckedDomain,
  asker: Actor | null,
  asked: boolean,
  at: number,
): readonly Write[] {
  if (eventType === null) return []
  const { id, workspace_id: workspaceId, domain, status } = row
  const about = { domain_id: id, domain, status, asked, records: toFindingResources(findings) }
  const failsAt = (row.unproved_since ?? at) + GRACE_PERIOD
  const event = recordDomainEvent({ workspaceId, type: eventType, at, about, failsAt })
  if (eventType === 'domain.broken') return [event]
  const actor = asker ?? daemonActor
  return [event, recordAuditEntry({ workspaceId, actor, action: eventType, target: id, at, details: { domain } })]
}

/** The form of `details.records` in the interface. */
export function toFindingResources(findings: readonly RecordsFinding[]): readonly RecordFinding[] {
  return findings.map(({ type, name, value, found, state }) => ({
    type,
    name,
    expected: value,
    found,
    status: state === 'verified' || state === 'failed' ? state : 'pending',
  }))
}
