/**
 * Limits the connections of a listener: in total, per address and per network.
 *
 * When a limit is reached, a new connection evicts one that makes no use of its slot, in this order: unproved ones
 * (not authenticated, no message or request yet), transfers that are far too slow, proved ones that are idle, and
 * those whose client does not read its answer; among equals the one that has been idle longest. A fresh connection
 * is evicted only when the entire listener is full, and only for a network that holds at least 10 slots fewer than
 * its own. So a few networks cannot shut out all others, and regular clients do not evict each other.
 *
 * A connection without an origin counts only in the total, since many clients may share it. One without a network
 * has only the limit of its address.
 *
 * The limits are read for each new connection, so that a reload changes them; open ones stay.
 *
 * Cost: a full listener scans all its connections for each new one.
 */
/** Named as in the configuration. */
export interface ConnectionLimitSettings {
  readonly max_connections: number
  readonly max_connections_per_address: number
  /** If it is lower than `max_connections_per_address`, that one holds. */
  readonly max_connections_per_network: number
}

export interface ConnectionOrigin {
  readonly address: string
  /** Null if there is no limit for networks. */
  readonly network: string | null
}

const evictionOrder = ['unproved', 'slow', 'idle', 'unread'] as const

/** How a connection uses its slot. */
export interface ConnectionState {
  readonly rank: (typeof evictionOrder)[number]
  /** The moment from which it counts; epoch milliseconds. */
  readonly since: number
  /** Idle for too short a time to be evicted. */
  readonly isFresh: boolean
}

export interface LimitedConnection {
  /** Null if it is busy and must not be closed. */
  state(): ConnectionState | null
  /** Closes the connection. Its slot is free already. */
  evict(): void
}

export interface ConnectionSlot {
  readonly origin: ConnectionOrigin | null
  /** Frees the slot; further calls do nothing. */
  release(): void
}

export type ReachedLimit = 'full' | 'too-many-of-address' | 'too-many-of-network'

/** A network loses a fresh connection only to one that holds at least this many slots fewer. */
const MIN_CROWDING = 10

interface HeldSlot extends ConnectionSlot {
  readonly connection: LimitedConnection
}

interface Candidate {
  readonly held: HeldSlot
  readonly state: ConnectionState
}

export class ConnectionLimiter {
  private readonly allSlots = new Set<HeldSlot>()
  private readonly slotsByAddress = new SlotGroups()
  private readonly slotsByNetwork = new SlotGroups()

  constructor(private readonly settings: () => ConnectionLimitSettings) {}

  acquire(origin: ConnectionOrigin | null, occupant: LimitedConnection): ConnectionSlot | ReachedLimit {
    const { max_connections: max, max_connections_per_address: maxOfAddress, ...limits } = this.settings()
    const maxOfNetwork = Math.max(limits.max_connections_per_network, maxOfAddress)
    const neighbours = this.slotsByAddress.slotsOf(origin?.address)
    if (neighbours.size >= maxOfAddress && !evictOne(neighbours, findNone)) return 'too-many-of-address'
    const network = this.slotsByNetwork.slotsOf(origin?.network)
    if (network.size >= maxOfNetwork && !evictOne(network, findNone)) return 'too-many-of-network'
    if (this.allSlots.size >= max && !evictOne(this.allSlots, () => this.findFreshToEvict(origin))) return 'full'
    return this.addSlot(origin, occupant)
  }

  countOpen(): number {
    return this.allSlots.size
  }

  private addSlot(origin: ConnectionOrigin | null, connection: LimitedConnection): HeldSlot {
    const held: HeldSlot = {
      origin,
      connection,
      release: () => {
        this.allSlots.delete(held)
        this.slotsByAddress.delete(origin?.address, held)
        this.slotsByNetwork.delete(origin?.network, held)
      },
    }
    this.allSlots.add(held)
    this.slotsByAddress.add(origin?.address, held)
    this.slotsByNetwork.add(origin?.network, held)
    return held
  }

  private findFreshToEvict(origin: ConnectionOrigin | null): HeldSlot | null {
    const sizeOf = (network: string | null | undefined): number => this.slotsByNetwork.slotsOf(network).size
    const own = origin === null ? 0 : sizeOf(origin.network)
    return findCrowdedFresh(this.allSlots, (held) => sizeOf(held.origin?.network) - own - MIN_CROWDING)
  }
}

function evictOne(among: ReadonlySet<HeldSlot>, otherwise: () => HeldSlot | null): boolean {
  const candidate = findLongestIdle(among) ?? otherwise()
  candidate?.release()
  candidate?.connection.evict()
  return candidate !== null
}

const findNone = (): null => null

/** The first by rank, and within a rank the one that has been idle longest. */
function findLongestIdle(among: Iterable<HeldSlot>): HeldSlot | null {
  let candidate: Candidate | null = null
  for (const held of among) {
    const state = held.connection.state()
    if (state === null || state.isFresh) continue
    if (candidate === null || isBefore(state, candidate.state)) candidate = { held, state }
  }
  return candidate?.held ?? null
}

/** A fresh and unproved connection of the most crowded network. Connections stay if their `crowd` is not above zero. */
function findCrowdedFresh(among: Iterable<HeldSlot>, crowd: (held: HeldSlot) => number): HeldSlot | null {
  let candidate: Candidate | null = null
  let most = 0
  for (const held of among) {
    const own = crowd(held)
    if (own <= 0 || own < most) continue
    const state = held.connection.state()
    if (state?.rank !== 'unproved') continue
    if (own === most && candidate !== null && !isBefore(state, candidate.state)) continue
    candidate = { held, state }
    most = own
  }
  return candidate?.held ?? null
}

function isBefore(one: ConnectionState, other: ConnectionState): boolean {
  const distance = evictionOrder.indexOf(one.rank) - evictionOrder.indexOf(other.rank)
  return distance < 0 || (distance === 0 && one.since < other.since)
}

const noSlots: ReadonlySet<HeldSlot> = new Set()

/** The slots of each address, or of each network. */
class SlotGroups {
  private readonly groups = new Map<string, Set<HeldSlot>>()

  slotsOf(name: string | null | undefined): ReadonlySet<HeldSlot> {
    return (name === null || name === undefined ? undefined : this.groups.get(name)) ?? noSlots
  }

  add(name: string | null | undefined, held: HeldSlot): void {
    if (name === null || name === undefined) return
    const group = this.groups.get(name) ?? new Set()
    this.groups.set(name, group.add(held))
  }

  delete(name: string | null | undefined, held: HeldSlot): void {
    if (name === null || name === undefined) return
    const group = this.groups.get(name)
    group?.delete(held)
    if (group?.size === 0) this.groups.delete(name)
  }
}
