/**
 * The limits of stored inbound mail, for what all workspaces of an owner hold together: `inbound_bytes` of the plan
 * of the workspace, and the share of the disk that is left for the owner. The operator's workspace, to which anyone
 * may write, counts apart from the others of its owner.
 *
 * Triggers count the stored bytes in the table `inbound_totals`. They count a message from the commit that stores it
 * to the one that removes it, and its record (`heldBytesOf`) until the record is removed. A commit that stores a
 * message begins with `requireRoom`, which checks the count in that commit, so concurrent sessions cannot pass the
 * limit.
 *
 * The operator's workspace receives mail to postmaster, and the service mail to return paths. Any external sender
 * may write to both, so they have a limit even without one in a plan.
 */
import { sql } from 'kysely'
import type { LimitsConfig } from '../../../base/config/complete.js'
import type { Clock } from '../../../base/platform/clock.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import { prepareRead, prepareWrite, type Read, type StatementBuilder } from '../../../base/storage/db/prepared.js'
import { selectSameOwner } from '../../../base/storage/db/same-owner.js'
import { OPERATOR_WORKSPACE_KEY } from '../../../base/storage/db/service-state.js'
import { maxSlots } from '../../../base/storage/db/slots.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { DiskGuard } from '../../../base/storage/health/disk-guard.js'
import { INBOUND_RECORD_BYTES } from '../../../base/storage/schema/inbound.js'
import { SERVICE_WORKSPACE, type Tables } from '../../../base/storage/tables/tables.js'
import type { OperatorWorkspaceCache } from '../workspace/operator-workspace.js'
import type { WorkspacePlans } from './plans.js'

interface InboundBytesDeps {
  readonly read: Read
  readonly clock: Clock
  readonly plans: Pick<WorkspacePlans, 'find' | 'findOwner'>
  readonly operatorWorkspace: Pick<OperatorWorkspaceCache, 'find'>
  readonly settings: () => Pick<LimitsConfig, 'operator_inbound_bytes' | 'inbound_disk_percent'>
  readonly disk: Pick<DiskGuard, 'room'>
}

/** Workspaces of one owner. An owner makes 100 at most, and the operator may make more for them. */
const MAX_WORKSPACES = 200

function countByRows(): { operatorKey: string; most: number } {
  return { operatorKey: OPERATOR_WORKSPACE_KEY, most: MAX_WORKSPACES * maxSlots() }
}

/** What this workspace holds together with those that count with it. */
function selectHeld<Values extends { workspaceId: string; operatorKey: string; most: number }>({
  slot,
}: StatementBuilder<Values>) {
  const id = slot('workspaceId')
  const operators = sql<string>`coalesce((select value from service_state where key = ${slot('operatorKey')}), '')`
  return sql<number>`select coalesce(sum(bytes), 0) from (select bytes from inbound_totals
    where workspace_id in ${selectSameOwner(id)} and (workspace_id = ${id} or ${operators} not in (workspace_id, ${id}))
    limit ${slot('most')}) as held`
}

const inboundTotal = prepareRead<{ workspaceId: string; operatorKey: string; most: number }>()((builder) =>
  builder.db.selectNoFrom(sql<number>`(${selectHeld(builder)})`.as('bytes')),
)

export async function readHeldInboundBytes(read: Read, workspaceId: string): Promise<number> {
  return (await inboundTotal(read, { workspaceId, ...countByRows() }))[0]?.bytes ?? 0
}

type HeldEmail = Pick<Tables['inbound_emails'], 'workspace_id' | 'size' | 'envelope_to'>

/** More bytes than the service can store while a count holds. */
const MUCH_ROOM = 500_000_000
/** Milliseconds for which a count holds if there is much room. */
const COUNT_AGE = 250
const MAX_COUNTS = 1_000

export class InboundBytes {
  private readonly roomInPlan: RoomReader
  private readonly roomOnDisk: RoomReader

  constructor(private readonly deps: InboundBytesDeps) {
    const readHeld = (workspaceId: string): Promise<number> => this.readHeld(workspaceId)
    this.roomInPlan = new RoomReader((workspaceId) => this.limitOf(workspaceId), readHeld, deps.clock)
    this.roomOnDisk = new RoomReader(async () => this.findDiskShare(), readHeld, deps.clock)
  }

  /** Bytes that a workspace may hold by its plan. Null means unlimited. */
  async limitOf(workspaceId: string): Promise<number | null> {
    const { plans, operatorWorkspace, settings } = this.deps
    const { operator_inbound_bytes: operatorLimit } = settings()
    if (workspaceId === SERVICE_WORKSPACE) return operatorLimit
    const ofPlan = plans.find(workspaceId).limits.inbound_bytes
    return ofPlan ?? ((await operatorWorkspace.find()) === workspaceId ? operatorLimit : null)
  }

  /**
   * Bytes that a workspace may hold now, by its plan and by the room on the disk. It is null if no mail that arrives
   * while a count holds can reach a limit.
   */
  async limitNow(workspaceId: string): Promise<number | null> {
    const [limit, share] = [await this.limitOf(workspaceId), await this.roomOnDisk.find(workspaceId)]
    if (share === null || share >= MUCH_ROOM) return limit
    return Math.min(limit ?? Number.POSITIVE_INFINITY, (await this.readHeld(workspaceId)) + share)
  }

  /** Gives what `requireRoom` makes for a message. Null if no limit is near. */
  async requireRoom(email: HeldEmail): Promise<Write | null> {
    const workspaceId = email.workspace_id
    const limit = await this.limitNow(workspaceId)
    if (limit === null) return null
    const owner = await this.deps.plans.findOwner(this.deps.read, workspaceId)
    return requireRoom({ workspaceId, owner, bytes: heldBytesOf(email), limit })
  }

  /** Bytes that a workspace holds, together with those that count with it. */
  async readHeld(workspaceId: string): Promise<number> {
    return readHeldInboundBytes(this.deps.read, workspaceId)
  }

  /**
   * Bytes that a message may add. It is null if no limit is near. If there is much room, the answer is up to a
   * quarter of a second old.
   */
  async roomOf(workspaceId: string): Promise<number | null> {
    const [room, share] = [await this.roomInPlan.find(workspaceId), await this.roomOnDisk.find(workspaceId)]
    if (share === null || share >= MUCH_ROOM) return room
    return Math.min(room ?? Number.POSITIVE_INFINITY, share)
  }

  /**
   * The mail of one owner may take `inbound_disk_percent` of the sum of that mail and the free room on the disk. So
   * mail for one owner never takes all room, and the share of each owner shrinks with the room.
   */
  private findDiskShare(): number | null {
    const { inbound_disk_percent: percent } = this.deps.settings()
    return percent === 100 ? null : Math.floor((this.deps.disk.room() * percent) / (100 - percent))
  }
}

/** Finds the bytes that a message may add under one limit. Null means that there is no limit. */
class RoomReader {
  private readonly counts = createLruCache<{ readonly held: number; readonly readAt: number }>({ max: MAX_COUNTS })

  constructor(
    private readonly limitOf: (workspaceId: string) => Promise<number | null>,
    private readonly readHeld: (workspaceId: string) => Promise<number>,
    private readonly clock: Clock,
  ) {}

  /** Calls `readHeld` four times a second if there is much room, otherwise each time. */
  async find(workspaceId: string): Promise<number | null> {
    const limit = await this.limitOf(workspaceId)
    if (limit === null) return null
    const now = this.clock()
    const known = this.counts.get(workspaceId)
    const age = known === undefined ? -1 : now - known.readAt
    if (known !== undefined && age >= 0 && age < COUNT_AGE && limit - known.held >= MUCH_ROOM) return limit - known.held
    const held = await this.readHeld(workspaceId)
    this.counts.set(workspaceId, { held, readAt: now })
    return Math.max(0, limit - held)
  }
}

/** The bytes of the limit that a message takes. The triggers of `storage/schema/inbound` count the same. */
export function heldBytesOf({ size, envelope_to }: Pick<Tables['inbound_emails'], 'size' | 'envelope_to'>): number {
  return size + INBOUND_RECORD_BYTES + 2 * Buffer.byteLength(envelope_to)
}

interface AddedBytes {
  readonly workspaceId: string
  /** See `WorkspacePlans.findOwner`. Messages to the workspaces of one owner are stored in turn. */
  readonly owner: string
  readonly bytes: number
  readonly limit: number
}

/** Changes nothing, and misses when there is no room for so many bytes. It comes first in the commit of the message. */
export function requireRoom({ owner, ...added }: AddedBytes): Write {
  return { ...requireSum({ ...added, ...countByRows() }), turn: `inbound mail of ${owner}` }
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
    .onConflict((conflict) =>
      conflict.columns(['workspace_id', 'slot']).doUpdateSet({ bytes: sql<number>`inbound_totals.bytes` }),
    )
}, 1)
