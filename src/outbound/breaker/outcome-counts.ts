/** Stores counted outcomes in the database, by scope and quarter of an hour, and sums them over the windows. */

import { DAY } from '../../base/platform/time-units.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import { maxSlots } from '../../base/storage/db/slots.js'
import type { Write } from '../../base/storage/db/write.js'
import type { BreakerCountsTable, BreakerScope } from '../../base/storage/tables/breaker-tables.js'
import { findOwnerId } from '../../workspaces/accounts/workspace/workspaces.js'
import type { Figures } from './judge-figures.js'

const WEEK = 7 * DAY
/** The most rows that one commit of the removal deletes. */
const BATCH_SIZE = 500

export interface ScopeRef {
  readonly workspaceId: string
  readonly scope: BreakerScope
  readonly subject: string
}

/** The subject of the sums over all workspaces of an owner. The `workspace_id` of these rows is the id of the user. */
export const OWNER_SUBJECT = 'owner'

/**
 * Returns the scope of the owner's sums, or null if no one owns the workspace. The sums stay when a workspace is
 * deleted or transferred.
 */
export async function ownerScopeOf(read: Read, workspaceId: string): Promise<ScopeRef | null> {
  const owner = await findOwnerId(read, workspaceId)
  return owner === workspaceId ? null : { workspaceId: owner, scope: 'workspace', subject: OWNER_SUBJECT }
}

/** The database fills the slot in. */
export type CountedOutcomes = Omit<BreakerCountsTable, 'slot'>

const columns = ['workspace_id', 'scope', 'subject', 'bucket', 'settled', 'bounced', 'complained'] as const

/** Adds nothing if the workspace, whose rows are being erased, or the owner of the sums was deleted. */
export const addCounts = prepareWrite<CountedOutcomes>(({ db, slot }) =>
  db
    .insertInto('breaker_counts')
    .columns(columns)
    .expression(
      db
        .selectNoFrom((eb) => columns.map((column) => eb.val(slot(column)).as(column)))
        .where((eb) =>
          eb.or([
            eb.exists(db.selectFrom('workspaces').select('id').where('id', '=', slot('workspace_id'))),
            eb.exists(db.selectFrom('users').select('id').where('id', '=', slot('workspace_id'))),
          ]),
        ),
    )
    .onConflict((conflict) =>
      conflict.columns(['workspace_id', 'scope', 'subject', 'bucket', 'slot']).doUpdateSet((eb) => ({
        settled: eb('breaker_counts.settled', '+', eb.ref('excluded.settled')),
        bounced: eb('breaker_counts.bounced', '+', eb.ref('excluded.bounced')),
        complained: eb('breaker_counts.complained', '+', eb.ref('excluded.complained')),
      })),
    ),
)

/** The quarters of an hour in a week, and the one that has begun. */
const MAX_BUCKETS = 673

const sumsSince = prepareRead<ScopeRef & { since: number }>()(({ db, slot }) =>
  db
    .selectFrom(
      db
        .selectFrom('breaker_counts')
        .select(['settled', 'bounced', 'complained'])
        .where('workspace_id', '=', slot('workspaceId'))
        .where('scope', '=', slot('scope'))
        .where('subject', '=', slot('subject'))
        .where('bucket', '>', slot('since'))
        .limit(MAX_BUCKETS * maxSlots())
        .as('rows'),
    )
    .select((eb) => [
      eb.fn.sum<number | null>('settled').as('settled'),
      eb.fn.sum<number | null>('bounced').as('bounced'),
      eb.fn.sum<number | null>('complained').as('complained'),
    ]),
)

/** Sums at most 96 and 672 rows of each writer. A quarter of an hour leaves a window at the moment when its beginning does. */
export async function readFigures(
  read: Read,
  { workspaceId, scope, subject }: ScopeRef,
  now: number,
): Promise<Figures> {
  const ref = { workspaceId, scope, subject }
  const [day] = await sumsSince(read, { ...ref, since: now - DAY })
  const [week] = await sumsSince(read, { ...ref, since: now - WEEK })
  return {
    settled: day?.settled ?? 0,
    bounced: day?.bounced ?? 0,
    delivered: Math.max(0, (week?.settled ?? 0) - (week?.bounced ?? 0)),
    complained: week?.complained ?? 0,
  }
}

const removeOfScope = prepareWrite<ScopeRef>(({ db, slot }) =>
  db
    .deleteFrom('breaker_counts')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('scope', '=', slot('scope'))
    .where('subject', '=', slot('subject')),
)

const removeOfWorkspace = prepareWrite<{ workspaceId: string }>(({ db, slot }) =>
  db.deleteFrom('breaker_counts').where('workspace_id', '=', slot('workspaceId')),
)

/** Removes the counts of a scope; for a workspace, those of all scopes in it too. */
export function removeCounts({ workspaceId, scope, subject }: ScopeRef): Write {
  return scope === 'workspace' ? removeOfWorkspace({ workspaceId }) : removeOfScope({ workspaceId, scope, subject })
}

/** Does what `removeCounts` does, and removes the sums of the owner too if the scope is a workspace. */
export async function removeReleasedCounts(read: Read, ref: ScopeRef): Promise<readonly Write[]> {
  const owner = ref.scope === 'workspace' ? await ownerScopeOf(read, ref.workspaceId) : null
  return [ref, ...(owner === null ? [] : [owner])].map(removeCounts)
}

interface Old {
  readonly before: number
}

const someOld = prepareRead<Old>()(({ db, slot }) =>
  db.selectFrom('breaker_counts').select('bucket').where('bucket', '<', slot('before')).limit(1),
)

const removeOld = prepareWrite<Old>(({ db, slot }) =>
  db
    .deleteFrom('breaker_counts')
    .where((eb) =>
      eb(
        eb.refTuple('workspace_id', 'scope', 'subject', 'bucket', 'slot'),
        'in',
        eb
          .selectFrom('breaker_counts')
          .select(['workspace_id', 'scope', 'subject', 'bucket', 'slot'])
          .where('bucket', '<', slot('before'))
          .limit(BATCH_SIZE)
          .$asTuple('workspace_id', 'scope', 'subject', 'bucket', 'slot'),
      ),
    ),
)

/** Removes some counts that are older than every window. Resolves to true if there may be more. */
export async function removeOldCounts({ read, commit }: Store, now: number): Promise<boolean> {
  const old = { before: now - WEEK - DAY }
  if ((await someOld(read, old)).length === 0) return false
  await commit([removeOld(old)])
  return true
}
