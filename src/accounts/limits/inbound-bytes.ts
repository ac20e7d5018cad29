/**
 * The limit of stored inbound mail: `inbound_bytes` of the plan of a workspace, for what all workspaces of its owner
 * hold together. The operator's workspace, to which anyone may write, counts apart from the others of its owner.
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
import { prepareRead, prepareWrite, type Read, type StatementBuilder } from '../../storage/prepared.js'
import { selectSameOwner } from '../../storage/same-owner.js'
import { OPERATOR_WORKSPACE_KEY } from '../../storage/service-state.js'
import { SERVICE_WORKSPACE } from '../../storage/tables/tables.js'
import type { Write } from '../../storage/writer/write.js'
import type { OperatorWorkspaceCache } from '../operator-workspace.js'
import type { PlanCache } from './plans.js'

export interface InboundBytes {
  /** Bytes that a workspace may hold; null: unlimited. */
  readonly limitOf: (workspaceId: string) => number | null
  /** Bytes that it holds, with those that count together with it. */
  readonly readHeld: (workspaceId: string) => number
  /** Bytes that may be added; null: unlimited. Where there is much room, as it was up to a quarter of a second ago. */
  readonly roomOf: (workspaceId: string) => number | null
}

interface InboundBytesDeps {
  readonly read: Read
  readonly clock: Clock
  readonly planOf: PlanCache['find']
  readonly operatorWorkspace: OperatorWorkspaceCache['find']
  readonly limits: Pick<LimitsConfig, 'operator_inbound_bytes'>
}

/** Workspaces of one owner, who makes 100 at most; the operator may make more for them. */
const counting = { operatorKey: OPERATOR_WORKSPACE_KEY, most: 200 }

/** What the workspaces hold that count together with this one. */
function selectHeld<Values extends { workspaceId: string; operatorKey: string; most: number }>({
  slot,
}: StatementBuilder<Values>) {
  const id = slot('workspaceId')
  const operators = sql<string>`coalesce((select value from service_state where key = ${slot('operatorKey')}), '')`
  return sql<number>`select coalesce(sum(bytes), 0) from (select bytes from inbound_totals
    where workspace_id in ${selectSameOwner(id)} and (workspace_id = ${id} or ${operators} not in (workspace_id, ${id}))
    limit ${slot('most')})`
}

const inboundTotal = prepareRead<{ workspaceId: string; operatorKey: string; most: number }>()((builder) =>
  builder.db.selectNoFrom(sql<number>`(${selectHeld(builder)})`.as('bytes')),
)

export function readHeldInboundBytes(read: Read, workspaceId: string): number {
  return inboundTotal(read, { workspaceId, ...counting })[0]?.bytes ?? 0
}

/** More bytes than can be stored while a count holds. */
const MUCH_ROOM = 500_000_000
/** Milliseconds for which a count holds where there is much room. */
const COUNT_AGE = 250
const MAX_COUNTS = 1_000

export function createInboundBytes({ read, clock, planOf, operatorWorkspace, limits }: InboundBytesDeps): InboundBytes {
  const limitOf = (workspaceId: string): number | null => {
    const { operator_inbound_bytes: operatorLimit } = limits
    if (workspaceId === SERVICE_WORKSPACE) return operatorLimit
    const ofPlan = planOf(workspaceId).limits.inbound_bytes
    return ofPlan ?? (operatorWorkspace() === workspaceId ? operatorLimit : null)
  }
  const readHeld = (workspaceId: string): number => readHeldInboundBytes(read, workspaceId)
  return { limitOf, readHeld, roomOf: createRoomReader({ limitOf, readHeld }, clock) }
}

function createRoomReader(
  { limitOf, readHeld }: Pick<InboundBytes, 'limitOf' | 'readHeld'>,
  clock: Clock,
): InboundBytes['roomOf'] {
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

/** Misses when there is no room for so many bytes, and changes nothing. First in the commit of the message. */
export function requireRoom(added: { workspaceId: string; bytes: number; limit: number }): Write {
  return requireSum({ ...added, ...counting })
}

const requireSum = prepareWrite<{
  workspaceId: string
  bytes: number
  limit: number
  operatorKey: string
  most: number
}>((builder) => {
  const { db, slot } = builder
  return db
    .insertInto('inbound_totals')
    .columns(['workspace_id', 'bytes'])
    .expression(
      db
        .selectNoFrom([sql<string>`${slot('workspaceId')}`.as('workspace_id'), sql<number>`0`.as('bytes')])
        .where(sql<boolean>`(${selectHeld(builder)}) + ${slot('bytes')} <= ${slot('limit')}`),
    )
    .onConflict((conflict) => conflict.column('workspace_id').doUpdateSet({ bytes: sql<number>`inbound_totals.bytes` }))
}, 1)
