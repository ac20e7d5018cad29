/**
 * Commands of the operator for the queue: list, hold, release, retry, delete.
 *
 * An entry that is being attempted (its lease is not over) stays as it is: its outcome is decided on the wire. Every
 * change names the status that it expects, so that it misses instead of undoing a concurrent change.
 */
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Address, DomainName } from '../../../base/mail/address.js'
import type { Reason } from '../../../base/mail/reasons.js'
import { prepareWrite, queryBuilder, type Read, runQuery } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { RESTORED } from '../../../base/storage/maintenance/hold-queue.js'
import type { Flag } from '../../../base/storage/tables/columns.js'
import type { RecipientStatus } from '../../../base/storage/tables/email-tables.js'
import { HOLD, type Hold } from '../../../base/storage/tables/hold.js'
import { SERVICE_WORKSPACE, type Tables } from '../../../base/storage/tables/tables.js'
import { recordEvent } from '../../events/event-log.js'
import type { Email } from '../email/email.js'
import { buildEmailEvent } from '../email/email-event.js'
import { changeRecipientStatus } from '../email/recipients.js'
import { rollUpEmail } from '../email/roll-up.js'
import type { QueueStatus } from './queue-status.js'
import type { WaitReason } from './wait-reason.js'

export interface QueueFilter {
  readonly workspaceId?: string | undefined
  readonly domain?: string | undefined
  readonly status?: QueueStatus | undefined
  readonly ids?: readonly string[] | undefined
  /** A word of `waitReasonOf`. */
  readonly reason?: WaitReason | undefined
  /** One of `providerGroups`. */
  readonly provider?: string | undefined
  /** An address or a domain of the From field, in lower case. */
  readonly sender?: string | undefined
  /** Matches only entries that were accepted, or became due, before this moment. */
  readonly enqueuedBefore?: number | undefined
}

export interface ListedEntry {
  readonly id: string
  readonly email_id: string
  readonly workspace_id: string
  readonly recipient: Address
  readonly domain: DomainName
  readonly attempts: number
  readonly enqueued_at: number
  readonly next_attempt_at: number
  readonly leased: Flag
  readonly held: Hold
  readonly last_response: string | null
  readonly waits_for: string | null
  /** The rule that holds it. */
  readonly hold_rule: string | null
  /** The node that delivers it. Empty on SQLite. */
  readonly node: string
  readonly recipient_status: RecipientStatus
  /** Why the last attempt failed. */
  readonly reason: Reason | null
  /** The host of the last attempt. */
  readonly mx: string | null
  readonly from_email: Address
  readonly subject: string
  readonly tags: Email['tags']
}

interface EntryPage extends Pick<QueueFilter, 'workspaceId' | 'domain' | 'status' | 'ids'> {
  /** Returns only entries whose id comes after this one. */
  readonly after: string
  readonly limit: number
}

/** Returns one page, ordered by id. */
export async function listEntries(read: Read, filter: EntryPage): Promise<ListedEntry[]> {
  const query = queryBuilder
    .selectFrom('queue')
    .innerJoin('recipients', 'recipients.id', 'queue.id')
    .innerJoin('emails', 'emails.id', 'queue.email_id')
    .select([
      'queue.id',
      'queue.email_id',
      'queue.workspace_id',
      'queue.recipient',
      'queue.domain',
      'queue.attempts',
      'queue.enqueued_at',
      'queue.next_attempt_at',
      'queue.leased',
      'queue.held',
      'queue.last_response',
      'queue.waits_for',
      'queue.hold_rule',
      'queue.node',
      'recipients.status as recipient_status',
      'recipients.reason',
      'recipients.mx',
      'emails.from_email',
      'emails.subject',
      'emails.tags',
    ])
    .where('queue.id', '>', filter.after)
    .orderBy('queue.id')
    .limit(filter.limit)
  return runQuery(read, applyFilter(query, filter))
}

type JoinedTables = 'queue' | 'recipients' | 'emails'
type EntryQuery<Row> = SelectQueryBuilder<Pick<Tables, JoinedTables>, JoinedTables, Row>

function applyFilter<Row>(query: EntryQuery<Row>, { workspaceId, domain, status, ids }: EntryPage): EntryQuery<Row> {
  let narrow = query
  if (workspaceId !== undefined) {
    // The index of the workspace is not used, because each page would sort the workspace's whole queue again.
    narrow = narrow.where(({ fn, val }) => fn.coalesce('queue.workspace_id', val('')), '=', workspaceId)
  }
  if (domain !== undefined) narrow = narrow.where('queue.domain', '=', sql<DomainName>`${domain}`)
  if (ids !== undefined) narrow = narrow.where('queue.id', 'in', ids)
  switch (status) {
    case undefined:
      return narrow
    case 'held':
      // The conditions here and below are literals, because SQLite does not use partial indexes for parameters.
      return narrow.where('queue.held', '<>', sql.lit(HOLD.none))
    case 'sending':
      return narrow.where('queue.leased', '=', sql.lit(1))
    case 'scheduled':
      return narrow.where('recipients.status', '=', 'scheduled').where('queue.held', '=', HOLD.none)
    case 'deferred':
    case 'queued':
      return narrow
        .where('recipients.status', '=', 'queued')
        .where('queue.held', '=', HOLD.none)
        .where('queue.leased', '=', 0)
        .where('queue.attempts', status === 'queued' ? '=' : '>', 0)
  }
}

const setHeld = prepareWrite<{ id: string; held: Hold; was: Hold; orWas: Hold; at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('queue')
      .set((eb) => ({
        held: slot('held'),
        hold_rule: null,
        // This is a rule, or a restore with its queue held. A host that is down stays.
        waits_for: eb
          .case()
          .when(eb.or([eb('held', '=', HOLD.byRule), eb('waits_for', '=', RESTORED)]))
          .then(null)
          .else(eb.ref('waits_for'))
          .end(),
      }))
      .where('id', '=', slot('id'))
      .where('held', 'in', [slot('was'), slot('orWas')])
      .where((eb) => eb.or([eb('leased', '=', 0), eb('next_attempt_at', '<=', slot('at'))])),
  1,
)

/** Holds an entry. If a rule holds it, it stays held when the rule ends. */
export const holdEntry = (id: string, at: number): Write =>
  setHeld({ id, held: HOLD.byOperator, was: HOLD.none, orWas: HOLD.byRule, at })
/** Releases an entry. Misses if a rule holds it, because the rule would hold it again. */
export const releaseEntry = (id: string, at: number): Write =>
  setHeld({ id, held: HOLD.none, was: HOLD.byOperator, orWas: HOLD.byMember, at })

/** Holds an entry for members, who cannot release what the operator holds. */
export const holdOwnEntry = (id: string, at: number): Write =>
  setHeld({ id, held: HOLD.byMember, was: HOLD.none, orWas: HOLD.none, at })
export const releaseOwnEntry = (id: string, at: number): Write =>
  setHeld({ id, held: HOLD.none, was: HOLD.byMember, orWas: HOLD.byMember, at })

const makeDue = prepareWrite<{ id: string; at: number; spared: Hold }>(
  ({ db, slot }) =>
    db
      .updateTable('queue')
      .set({ next_attempt_at: slot('at'), held: HOLD.none, leased: 0, waits_for: null })
      .where('id', '=', slot('id'))
      .where('held', 'not in', [HOLD.byBroadcast, HOLD.byRule, slot('spared')])
      .where((eb) => eb.or([eb('leased', '=', 0), eb('next_attempt_at', '<=', slot('at'))])),
  1,
)

/** Makes an entry due at once, even a held or scheduled one. Misses if a rule or its broadcast holds it. */
export const retryEntry = ({ id, at }: { readonly id: string; readonly at: number }): Write =>
  makeDue({ id, at, spared: HOLD.byBroadcast })

/** Does the same for members. Misses if the operator holds the entry. */
export const retryOwnEntry = (id: string, at: number): Write => makeDue({ id, at, spared: HOLD.byOperator })

const removeUnleased = prepareWrite<{ id: string; at: number }>(
  ({ db, slot }) =>
    db
      .deleteFrom('queue')
      .where('id', '=', slot('id'))
      .where((eb) => eb.or([eb('leased', '=', 0), eb('next_attempt_at', '<=', slot('at'))])),
  1,
)

/** The data of a removed entry, with its reply text and the data of its event. */
export type RemovedEntry = Pick<
  ListedEntry,
  | 'id'
  | 'email_id'
  | 'workspace_id'
  | 'recipient'
  | 'recipient_status'
  | 'last_response'
  | 'from_email'
  | 'subject'
  | 'tags'
>

/** Removes an entry. Its recipient fails because of the operator, or with its sending domain. */
export function deleteEntry(entry: RemovedEntry, at: number, reason: 'operator' | 'domain-deleted'): Write[] {
  const { id, email_id, workspace_id, recipient, recipient_status } = entry
  const writes = [
    removeUnleased({ id, at }),
    changeRecipientStatus({ id, from: recipient_status, to: 'failed', reason, settledAt: at }),
    rollUpEmail({ emailId: email_id, sentAt: null, deliveredAt: null, bouncedAt: null }),
  ]
  if (workspace_id === SERVICE_WORKSPACE) return writes
  const { from_email, subject, tags } = entry
  const email = { id: email_id, workspace_id, from_email, subject, tags }
  const news = { type: 'email.failed', more: { reason, response: entry.last_response } } as const
  return [...writes, recordEvent(buildEmailEvent({ email, recipient, at, news }))]
}
