/** The rows of the warm-up. The daemon counts in memory and writes later. The operator's changes raise the revision. */
import { type Selectable, sql } from 'kysely'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

export type WarmUpRow = Selectable<Tables['warm_ups']>

/** Stands for all providers in place of one. */
export const EVERY_PROVIDER = '*'

export interface WarmUpKey {
  /** `SERVICE_WORKSPACE` for a source address. */
  readonly workspaceId: string
  readonly subject: string
  readonly provider: string
}

/** The most rows of one workspace that are shown. */
const MAX_ROWS = 10_000

const columns = [
  'workspace_id',
  'subject',
  'provider',
  'step',
  'day',
  'sent',
  'deferred',
  'reserved',
  'ended',
  'revision',
  'updated_at',
] as const satisfies readonly (keyof WarmUpRow)[]

export const warmUpByKey = prepareRead<WarmUpKey>()(({ db, slot }) =>
  db
    .selectFrom('warm_ups')
    .select(columns)
    .where('workspace_id', '=', slot('workspaceId'))
    .where('subject', '=', slot('subject'))
    .where('provider', '=', slot('provider')),
)

/** Lists the rows of source addresses, or of the domains of one workspace. */
export const listWarmUps = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('warm_ups')
    .select(columns)
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('subject')
    .orderBy('provider')
    .limit(MAX_ROWS),
)

/** Lists the rows of one domain. */
export const warmUpsOfDomain = prepareRead<{ workspaceId: string; domain: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('warm_ups')
    .select(columns)
    .where('workspace_id', '=', slot('workspaceId'))
    .where('subject', '=', slot('domain'))
    .orderBy('provider')
    .limit(slot('limit')),
)

/** Has no effect if the operator has changed the row since it was read. */
export const storeWarmUp = prepareWrite<WarmUpRow>(({ db, slots }) =>
  db
    .insertInto('warm_ups')
    .values(slots(columns))
    .onConflict((conflict) =>
      conflict
        .columns(['workspace_id', 'subject', 'provider'])
        .doUpdateSet((eb) => ({
          step: eb.ref('excluded.step'),
          day: eb.ref('excluded.day'),
          sent: eb.ref('excluded.sent'),
          deferred: eb.ref('excluded.deferred'),
          reserved: eb.ref('excluded.reserved'),
          ended: eb.ref('excluded.ended'),
          updated_at: eb.ref('excluded.updated_at'),
        }))
        .whereRef('warm_ups.revision', '=', 'excluded.revision'),
    ),
)

/**
 * Ends the warm-up, or restarts it with the messages of today. Applies to one provider or, with `*`, to all that have
 * rows.
 */
export const resetWarmUps = prepareWrite<WarmUpKey & { step: number; ended: 0 | 1; at: number }>(({ db, slot }) =>
  db
    .updateTable('warm_ups')
    .set((eb) => ({
      step: slot('step'),
      deferred: 0,
      ended: slot('ended'),
      revision: eb('revision', '+', 1),
      updated_at: slot('at'),
    }))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('subject', '=', slot('subject'))
    .where(sql<boolean>`${slot('provider')} in (provider, '*')`),
)

/** Inserts a row if there is none. */
export const insertWarmUp = prepareWrite<WarmUpKey & { day: number; ended: 0 | 1; at: number }>(({ db, slot }) =>
  db
    .insertInto('warm_ups')
    .values({
      ...{ workspace_id: slot('workspaceId'), subject: slot('subject'), provider: slot('provider') },
      ...{ step: 0, day: slot('day'), sent: 0, deferred: 0, reserved: 0, ended: slot('ended'), revision: 1 },
      updated_at: slot('at'),
    })
    .onConflict((conflict) => conflict.doNothing()),
)
