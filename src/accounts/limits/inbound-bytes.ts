/**
 * The limit of stored inbound mail of a workspace: `inbound_bytes` of its plan.
 *
 * Triggers count the stored bytes in the table `inbound_totals`, from the commit that stores a message
 * to the one that removes its bytes. A commit that stores a message begins with `requireRoom`, which
 * checks the count in that commit, so that concurrent sessions cannot pass the limit.
 *
 * The operator's workspace receives mail to postmaster, and the service mail to return paths. Any
 * external sender may write to both, so they have a limit even without one in a plan.
 */
import { sql } from 'kysely'
import type { LimitsConfig } from '../../config/complete.js'
import { prepareRead, prepareWrite, type Read } from '../../storage/prepared.js'
import { SERVICE_WORKSPACE } from '../../storage/tables/tables.js'
import type { Write } from '../../storage/writer/write.js'
import type { OperatorWorkspaceCache } from '../operator-workspace.js'
import type { PlanCache } from './plans.js'

interface InboundBytes {
  /** Bytes. */
  readonly held: number
  /** Null: unlimited. */
  readonly limit: number | null
}

export type InboundBytesReader = (workspaceId: string) => InboundBytes

interface InboundBytesDeps {
  readonly read: Read
  readonly planOf: PlanCache['find']
  readonly operatorWorkspace: OperatorWorkspaceCache['find']
  readonly limits: Pick<LimitsConfig, 'operator_inbound_bytes'>
}

export function createInboundBytesReader({
  read,
  planOf,
  operatorWorkspace,
  limits,
}: InboundBytesDeps): InboundBytesReader {
  const limitOf = (workspaceId: string): number | null => {
    const { operator_inbound_bytes: operatorLimit } = limits
    if (workspaceId === SERVICE_WORKSPACE) return operatorLimit
    const ofPlan = planOf(workspaceId).limits.inbound_bytes
    return ofPlan ?? (operatorWorkspace() === workspaceId ? operatorLimit : null)
  }
  return (workspaceId) => ({
    // Read if it is asked for: the commit that stores a message checks the limit alone.
    get held() {
      return readHeldBytes(read, workspaceId)
    },
    limit: limitOf(workspaceId),
  })
}

const inboundTotal = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db.selectFrom('inbound_totals').select('bytes').where('workspace_id', '=', slot('workspaceId')),
)

export function readHeldBytes(read: Read, workspaceId: string): number {
  return inboundTotal(read, { workspaceId })[0]?.bytes ?? 0
}

/** Bytes that may be added; null: unlimited. */
export function remainingBytesOf({ held, limit }: InboundBytes): number | null {
  return limit === null ? null : Math.max(0, limit - held)
}

/** Misses when the workspace has no room for so many bytes, and changes nothing. First in the commit of the message. */
export const requireRoom: (added: { workspaceId: string; bytes: number; limit: number }) => Write = prepareWrite(
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
