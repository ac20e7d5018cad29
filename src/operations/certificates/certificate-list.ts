/** Shows an operator the certificate of a name: in the daemon from memory, on the command line from the database. */
import type { DomainName } from '../../base/mail/address.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { readFacts } from './certificate-rows.js'
import type { NameRecord } from './name-record.js'
import { readState } from './name-rows.js'
import {
  type CertificateFacts,
  daysLeft,
  isValidAt,
  isWaiting,
  type RenewalWindow,
  renewalTimeOf,
} from './renewal-plan.js'

type CertificateState = 'valid' | 'renewal-due' | 'expired' | 'none'

/** Times are ISO 8601. */
export interface CertificateView {
  readonly name: DomainName
  readonly state: CertificateState
  readonly until: string | null
  /** Whole days that are left, or null if there is no certificate. */
  readonly days: number | null
  /** Why the last try failed. Null if it succeeded, or there was none. */
  readonly last_fault: string | null
  /** When the certificate is renewed, or a failed try is repeated. Null if that is at once. */
  readonly next_try: string | null
}

interface KnownCertificate {
  readonly name: DomainName
  readonly facts: CertificateFacts | null
  readonly record: NameRecord
  readonly window: RenewalWindow | null
}

export function describeCertificate({ name, facts, record, window }: KnownCertificate, now: number): CertificateView {
  const renewAt = facts === null ? now : renewalTimeOf(facts, window)
  const next = isWaiting(record.nextTryAt, now) ? Math.max(renewAt, record.nextTryAt) : renewAt
  return {
    name,
    state: stateOf(facts, renewAt, now),
    until: facts === null ? null : formatTimestamp(facts.to),
    days: facts === null ? null : daysLeft(facts, now),
    last_fault: record.fault,
    next_try: next <= now ? null : formatTimestamp(next),
  }
}

function stateOf(facts: CertificateFacts | null, renewAt: number, now: number): CertificateState {
  if (facts === null) return 'none'
  if (!isValidAt(facts, now)) return 'expired'
  return renewAt <= now ? 'renewal-due' : 'valid'
}

/** The renewal windows of the server are left out, because only the daemon knows them. */
export async function describeStored(read: Read, name: DomainName, now: number): Promise<CertificateView> {
  const [facts, { record }] = [await readFacts(read, name), await readState(read, name)]
  return describeCertificate({ name, facts, record, window: null }, now)
}
