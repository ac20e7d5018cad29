/**
 * Holds prefixes. While a hold lasts, the workspaces of an owner send no codes to numbers with a prefix. A *prefix*
 * is the country calling code and the three digits that follow. `conversion-watch.ts` decides on holds, and the
 * operator can end one early. Holds of one prefix and workspace never overlap.
 */
import { type Selectable, sql } from 'kysely'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import { selectSameOwner } from '../../base/storage/db/same-owner.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import type { SmsHoldsTable } from '../../base/storage/tables/sms-tables.js'
import { type Actor, operatorActor, recordAuditEntry } from '../accounts/access/audit-log.js'
import { addIf, type UsageRow } from '../accounts/limits/usage.js'

export type PrefixHold = Selectable<SmsHoldsTable>
type HoldKey = Pick<PrefixHold, 'workspace_id' | 'prefix' | 'held_at'>

export interface HeldPrefix {
  readonly workspaceId: string
  readonly prefix: string
}

const newestHold = prepareRead<HeldPrefix>()(({ db, slot }) =>
  db
    .selectFrom('sms_holds')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('prefix', '=', slot('prefix'))
    .orderBy('held_at', 'desc')
    .limit(1),
)

/** Finds the newest hold, whether it is in force or not. */
export async function readNewestHold(read: Read, { workspaceId, prefix }: HeldPrefix): Promise<PrefixHold | undefined> {
  return (await newestHold(read, { workspaceId, prefix }))[0]
}

const inForce = prepareRead<HeldPrefix & { now: number }>()(({ db, slot }) =>
  db
    .selectFrom('sms_holds')
    .selectAll()
    .where('workspace_id', 'in', selectSameOwner(slot('workspaceId')))
    .where('prefix', '=', slot('prefix'))
    .where('until_at', '>', slot('now'))
    .where('released_at', 'is', null),
)

/** Finds the hold of the same owner that ends last, in any workspace, so that another workspace cannot avoid it. */
export async function findHoldInForce(read: Read, held: HeldPrefix, now: number): Promise<PrefixHold | undefined> {
  const { workspaceId, prefix } = held
  return (await inForce(read, { workspaceId, prefix, now })).sort((one, other) => other.until_at - one.until_at)[0]
}

export function isInForce({ until_at: until, released_at: releasedAt }: PrefixHold, now: number): boolean {
  return releasedAt === null && until > now
}

/**
 * Misses if the prefix is held already. It also misses if a hold was released after `since`, the start of the count:
 * then the release came between the count and this commit.
 */
export const insertHold = prepareWrite<Omit<PrefixHold, 'released_at'> & { since: number }>(({ db, slot }) => {
  const objection = db
    .selectFrom('sms_holds')
    .select('held_at')
    .where('workspace_id', '=', slot('workspace_id'))
    .where('prefix', '=', slot('prefix'))
    .where((eb) =>
      eb.or([
        eb('released_at', '>', slot('since')),
        eb.and([eb('released_at', 'is', null), eb('until_at', '>', slot('held_at'))]),
      ]),
    )
  return db
    .insertInto('sms_holds')
    .columns(['workspace_id', 'prefix', 'held_at', 'until_at', 'sent', 'verified'])
    .expression(
      db
        .selectNoFrom((eb) => [
          eb.val(slot('workspace_id')).as('workspace_id'),
          eb.val(slot('prefix')).as('prefix'),
          eb.val(slot('held_at')).as('held_at'),
          eb.val(slot('until_at')).as('until_at'),
          eb.val(slot('sent')).as('sent'),
          eb.val(slot('verified')).as('verified'),
        ])
        .where((eb) => eb.not(eb.exists(objection))),
    )
}, 1)

/** Adds to a bucket of `usage`. Misses if the prefix is held in the workspace `sender`, or in another of its owner. */
export const addUnlessHeld = prepareWrite<UsageRow & { sender: string; prefix: string; now: number }>((builder) => {
  const { db, slot } = builder
  const hold = db
    .selectFrom('sms_holds')
    .select('held_at')
    .where('workspace_id', 'in', selectSameOwner(slot('sender')))
    .where('prefix', '=', slot('prefix'))
    .where('until_at', '>', slot('now'))
    .where('released_at', 'is', null)
  return addIf(builder, sql<boolean>`not exists ${hold}`)
}, 1)

const endingAfter = prepareRead<{ now: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('sms_holds')
    .selectAll()
    .where('until_at', '>', slot('now'))
    .where('released_at', 'is', null)
    .orderBy('until_at')
    .limit(slot('limit')),
)

/** Holds that one call lists or releases. */
const MAX_HOLDS = 10_000

/** Lists the holds of all workspaces. Those that end first come first. */
export async function listHolds(read: Read, now: number, limit = MAX_HOLDS): Promise<readonly PrefixHold[]> {
  return endingAfter(read, { now, limit })
}

/** Lists the holds in force in one workspace, by prefix. */
export const holdsOfWorkspace = prepareRead<{ workspaceId: string; now: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('sms_holds')
    .select(['prefix', 'held_at', 'until_at', 'sent', 'verified'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('until_at', '>', slot('now'))
    .where('released_at', 'is', null)
    .orderBy('prefix')
    .limit(slot('limit')),
)

/** Misses if the hold is no longer in force. */
const markReleased = prepareWrite<HoldKey & { now: number }>(
  ({ db, slot }) =>
    db
      .updateTable('sms_holds')
      .set({ released_at: slot('now') })
      .where('workspace_id', '=', slot('workspace_id'))
      .where('prefix', '=', slot('prefix'))
      .where('held_at', '=', slot('held_at'))
      .where('released_at', 'is', null)
      .where('until_at', '>', slot('now')),
  1,
)

interface Release {
  readonly prefix: string
  /** Null means all workspaces. */
  readonly workspaceId: string | null
  readonly now: number
}

function recordRelease(
  { workspace_id: workspaceId, prefix, sent, verified }: PrefixHold,
  actor: Actor,
  at: number,
): Write {
  const details = { sent, verified }
  return recordAuditEntry({
    workspaceId,
    actor,
    action: 'sms.hold_released',
    target: prefix,
    at,
    details,
  })
}

/**
 * Ends holds of a prefix, on the operator's order. Resolves to those that it ended. The next decision counts codes
 * from this moment.
 */
export async function releaseHolds(store: Store, release: Release): Promise<readonly PrefixHold[]> {
  const { prefix, workspaceId, now } = release
  const released: PrefixHold[] = []
  for (const hold of await listHolds(store.read, now)) {
    if (hold.prefix !== prefix || (workspaceId !== null && hold.workspace_id !== workspaceId)) continue
    if (await releaseHold(store, hold, operatorActor, now)) released.push(hold)
  }
  return released
}

/** Resolves to false if the hold is no longer in force. */
export function releaseHold(
  { commit }: Pick<Store, 'commit'>,
  hold: PrefixHold,
  actor: Actor,
  now: number,
): Promise<boolean> {
  const { workspace_id, prefix, held_at } = hold
  return tryCommit(commit([markReleased({ workspace_id, prefix, held_at, now }), recordRelease(hold, actor, now)]))
}

/** Milliseconds. */
const HOLD_LIFETIME = 30 * 86_400_000
/** Rows of one commit. */
const BATCH_SIZE = 500

const endedBefore = prepareRead<{ before: number }>()(({ db, slot }) =>
  db
    .selectFrom('sms_holds')
    .select(['workspace_id', 'prefix', 'held_at'])
    .where('until_at', '<', slot('before'))
    .limit(BATCH_SIZE),
)

const removeHold = prepareWrite<HoldKey>(({ db, slot }) =>
  db
    .deleteFrom('sms_holds')
    .where('workspace_id', '=', slot('workspace_id'))
    .where('prefix', '=', slot('prefix'))
    .where('held_at', '=', slot('held_at')),
)

/** Removes some holds that ended more than 30 days ago. Resolves to whether there may be more. */
export async function removeOldHolds({ read, commit }: Store, now: number): Promise<boolean> {
  const old = await endedBefore(read, { before: now - HOLD_LIFETIME })
  if (old.length > 0) await commit(old.map(removeHold))
  return old.length === BATCH_SIZE
}
