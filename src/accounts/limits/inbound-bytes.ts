/**
 * The limits of stored inbound mail: `inbound_bytes` of the workspace's plan, and the share of the disk that is left for
 * its owner.
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
import type { Clock } from '../../platform/clock.js'
import { createLruCache } from '../../platform/lru-cache.js'
import { prepareRead, prepareWrite, type Read } from '../../storage/prepared.js'
import { SERVICE_WORKSPACE } from '../../storage/tables/tables.js'
import type { Write } from '../../storage/writer/write.js'
import type { OperatorWorkspaceCache } from '../operator-workspace.js'
import type { PlanCache } from './plans.js'

export interface InboundBytes {
  /** Bytes that a workspace may hold by its plan; null: unlimited. */
  readonly limitOf: (workspaceId: string) => number | null
  /** Bytes that it may hold now, also by the room on the disk; null: what is stored while a count holds cannot reach a limit. */
  readonly limitNow: (workspaceId: string) => number | null
  /** Bytes that it holds. */
  readonly readHeld: (workspaceId: string) => number
  /** Bytes that may be added; null: no limit is near. Where there is much room, as it was up to a quarter of a second ago. */
  readonly roomOf: (workspaceId: string) => number | null
}

interface InboundBytesDeps {
  readonly read: Read
  readonly clock: Clock
  readonly planOf: PlanCache['find']
  readonly operatorWorkspace: OperatorWorkspaceCache['find']
  readonly limits: Pick<LimitsConfig, 'operator_inbound_bytes' | 'inbound_disk_percent'>
  /** Bytes that the disk has room for. */
  readonly diskRoom: () => number
}

const inboundTotal = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db.selectFrom('inbound_totals').select('bytes').where('workspace_id', '=', slot('workspaceId')),
)

export function readHeldInboundBytes(read: Read, workspaceId: string): number {
  return inboundTotal(read, { workspaceId })[0]?.bytes ?? 0
}

/** Of all workspaces of the owner of this one; of itself where it has no owner, as that of the service. */
const totalOfOwner = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_totals')
    .select(sql<number>`coalesce(sum(bytes), 0)`.as('bytes'))
    .where(
      sql<boolean>`workspace_id in (
        select ${slot('workspaceId')} union all
        select owned.workspace_id from members as owned
          join members as owner on owner.user_id = owned.user_id and owner.role = 'owner'
          where owner.workspace_id = ${slot('workspaceId')} and owned.role = 'owner')`,
    ),
)

/** More bytes than can be stored while a count holds. */
const MUCH_ROOM = 500_000_000
/** Milliseconds for which a count holds where there is much room. */
const COUNT_AGE = 250
const MAX_COUNTS = 1_000

export function createInboundBytes(deps: InboundBytesDeps): InboundBytes {
  const { read, clock, planOf, operatorWorkspace, limits } = deps
  const limitOf = (workspaceId: string): number | null => {
    const { operator_inbound_bytes: operatorLimit } = limits
    if (workspaceId === SERVICE_WORKSPACE) return operatorLimit
    const ofPlan = planOf(workspaceId).limits.inbound_bytes
    return ofPlan ?? (operatorWorkspace() === workspaceId ? operatorLimit : null)
  }
  const readHeld = (workspaceId: string): number => readHeldInboundBytes(read, workspaceId)
  const roomInPlan = createRoomReader({ limitOf, readHeld }, clock)
  const roomOnDisk = createRoomReader(diskShare(deps), clock)
  return {
    limitOf,
    readHeld,
    limitNow: (workspaceId) => {
      const [limit, share] = [limitOf(workspaceId), roomOnDisk(workspaceId)]
      if (share === null || share >= MUCH_ROOM) return limit
      return Math.min(limit ?? Number.POSITIVE_INFINITY, readHeld(workspaceId) + share)
    },
    roomOf: (workspaceId) => {
      const [room, share] = [roomInPlan(workspaceId), roomOnDisk(workspaceId)]
      if (share === null || share >= MUCH_ROOM) return room
      return Math.min(room ?? Number.POSITIVE_INFINITY, share)
    },
  }
}

interface LimitedCount {
  readonly limitOf: (workspaceId: string) => number | null
  readonly readHeld: (workspaceId: string) => number
}

/**
 * The mail of one owner may take `inbound_disk_percent` of what that mail and the room on the disk are together. So mail
 * for one owner never takes all room, and what several owners may hold becomes less as the room does.
 */
function diskShare({ read, limits, diskRoom }: Pick<InboundBytesDeps, 'read' | 'limits' | 'diskRoom'>): LimitedCount {
  return {
    limitOf: () => {
      const { inbound_disk_percent: percent } = limits
      return percent === 100 ? null : Math.floor((diskRoom() * percent) / (100 - percent))
    },
    readHeld: (workspaceId) => totalOfOwner(read, { workspaceId })[0]?.bytes ?? 0,
  }
}

/** `readHeld` is asked four times a second where there is much room, else each time. */
function createRoomReader({ limitOf, readHeld }: LimitedCount, clock: Clock): LimitedCount['limitOf'] {
  const counts = createLruCache<{ readonly held: number; readonly readAt: number }>({ max: MAX_COUNTS })
  return (workspaceId) => {
    const limit = limitOf(workspaceId)
    if (limit === null) return null
    const now = clock()
    const known = counts.get(workspaceId)
    const age = known === undefined ? -1 : now - known.readAt
    if (known !== undefined && age >= 0 && age < COUNT_AGE && limit - known.held >= MUCH_ROOM) return limit - known.held
    const held = readHeld(workspaceId)
    counts.set(workspaceId, { held, readAt: now })
    return Math.max(0, limit - held)
  }
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
