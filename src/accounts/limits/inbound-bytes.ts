/**
 * How much mail from outside a workspace may hold: the plan's `inbound_bytes`.
 *
 * What is there is counted by triggers, in the table `inbound_totals`: bytes as stored, from the
 * commit that files a message to the one that removes its bytes. A commit that files one begins with
 * `requireRoom`, which judges the count of that moment, so that no number of sessions passes the limit.
 *
 * The operator's workspace takes mail to postmaster, and the service itself what comes to return
 * paths: anybody may write to both, so both have a limit where no plan names one.
 */
import { sql } from 'kysely'
import type { LimitsConfig } from '../../config/complete.js'
import { prepareRead, prepareWrite, type Read } from '../../storage/prepared.js'
import { SERVICE_WORKSPACE } from '../../storage/tables/tables.js'
import type { Write } from '../../storage/writer/write.js'
import { findOperatorWorkspace } from '../operator-workspace.js'
import type { PlanCache } from './plans.js'

export interface InboundBytes {
  /** Bytes. */
  readonly held: number
  /** Null: unlimited. */
  readonly limit: number | null
}

export type InboundBytesReader = (workspaceId: string) => InboundBytes

export interface InboundBytesDeps {
  readonly read: Read
  readonly planOf: PlanCache['find']
  readonly limits: Pick<LimitsConfig, 'operator_inbound_bytes'>
}

export function createInboundBytesReader({ read, planOf, limits }: InboundBytesDeps): InboundBytesReader {
  const operatorLimit = limits.operator_inbound_bytes
  const limitOf = (workspaceId: string): number | null => {
    if (workspaceId === SERVICE_WORKSPACE) return operatorLimit
    const ofPlan = planOf(workspaceId).limits.inbound_bytes
    return ofPlan ?? (findOperatorWorkspace(read) === workspaceId ? operatorLimit : null)
  }
  return (workspaceId) => ({ held: readHeldBytes(read, workspaceId), limit: limitOf(workspaceId) })
}

const inboundTotal = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db.selectFrom('inbound_totals').select('bytes').where('workspace_id', '=', slot('workspaceId')),
)

export function readHeldBytes(read: Read, workspaceId: string): number {
  return inboundTotal(read, { workspaceId })[0]?.bytes ?? 0
}

/** What more there is room for; null: for anything. */
export function remainingBytesOf({ held, limit }: InboundBytes): number | null {
  return limit === null ? null : Math.max(0, limit - held)
}

/** Misses when the workspace has no room for so many bytes. Changes no count. Before the message, in its commit. */
export const requireRoom: (wanted: { workspaceId: string; bytes: number; limit: number }) => Write = prepareWrite(
  ({ db, slot }) =>
    db
      .insertInto('inbound_totals')
      .columns(['workspace_id', 'bytes'])
      .expression(
        db
          .selectNoFrom([sql<string>`${slot('workspaceId')}`.as('workspace_id'), sql<number>`0`.as('bytes')])
          .where(sql<boolean>`${slot('bytes')} <= ${slot('limit')}`),
      )
      .onConflict((conflict) =>
        conflict
          .column('workspace_id')
          .doUpdateSet({ bytes: sql<number>`inbound_totals.bytes` })
          .where(sql<boolean>`inbound_totals.bytes + ${slot('bytes')} <= ${slot('limit')}`),
      ),
  1,
)
