/**
 * How many connections a listener has: in all, from one address and from one network.
 *
 * Where a limit is reached, a connection that uses its place for nothing gives way to the new one.
 * In this order: unproved ones (not authenticated, no message or request yet), then transfers that
 * are far too slow, then proved ones that are idle, then those whose client does not take its answer;
 * among equals the one that is quiet for longest.
 * A fresh one gives way only where the listener as a whole is full, and only to a network that holds
 * clearly fewer places than its own: a few networks cannot shut out all others, and under a load of
 * honest clients none ends another.
 *
 * A connection without an origin counts in all alone: many clients may be behind it. One without a
 * network has the limits of its address alone.
 *
 * Cost: a listener that is full looks at all its connections for each new one.
 */
export interface ConnectionLimitSettings {
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
  /** Less than an address may have is as much as that. */
  readonly maxConnectionsPerNetwork: number
}

export interface ConnectionOrigin {
  readonly address: string
  /** Null: its limit does not hold. */
  readonly network: string | null
}

const ranks = ['unproved', 'slow', 'idle', 'unread'] as const

/** What a connection uses its place for. */
export interface Standing {
  readonly rank: (typeof ranks)[number]
  /** Since when; epoch milliseconds. */
  readonly since: number
  /** Quiet for too short a time to be judged. */
  readonly fresh: boolean
}

export interface Occupant {
  /** Null: it is at work and must not be ended. */
  standing(): Standing | null
  /** Ends it. Its place is free already. */
  giveWay(): void
}

export interface Place {
  readonly origin: ConnectionOrigin | null
  /** Frees the place; further calls do nothing. */
  leave(): void
}

/** Which limit is reached. */
export type Shortage = 'full' | 'too-many-of-address' | 'too-many-of-network'

export interface ConnectionLimit {
  enter(origin: ConnectionOrigin | null, occupant: Occupant): Place | Shortage
  open(): number
}

/** A network loses a fresh connection to one that holds so many places fewer. */
const CLEARLY = 10

interface Held extends Place {
  readonly occupant: Occupant
}

interface Candidate {
  readonly held: Held
  readonly standing: Standing
}

export function connectionLimit(settings: ConnectionLimitSettings): ConnectionLimit {
  const { maxConnections, maxConnectionsPerAddress } = settings
  const maxConnectionsPerNetwork = Math.max(settings.maxConnectionsPerNetwork, maxConnectionsPerAddress)
  const all = new Set<Held>()
  const ofAddress = new Groups()
  const ofNetwork = new Groups()

  function hold(origin: ConnectionOrigin | null, occupant: Occupant): Held {
    const held: Held = {
      origin,
      occupant,
      leave: () => {
        all.delete(held)
        ofAddress.delete(origin?.address, held)
        ofNetwork.delete(origin?.network, held)
      },
    }
    all.add(held)
    ofAddress.add(origin?.address, held)
    ofNetwork.add(origin?.network, held)
    return held
  }

  function freshOne(origin: ConnectionOrigin | null): Held | null {
    const own = origin === null ? 0 : ofNetwork.of(origin.network).size
    return crowdedFresh(all, (held) => ofNetwork.of(held.origin?.network).size - own - CLEARLY)
  }

  function makePlace(among: ReadonlySet<Held>, otherwise: () => Held | null): boolean {
    const found = longestQuiet(among) ?? otherwise()
    found?.leave()
    found?.occupant.giveWay()
    return found !== null
  }

  return {
    enter(origin, occupant) {
      const neighbours = ofAddress.of(origin?.address)
      if (neighbours.size >= maxConnectionsPerAddress && !makePlace(neighbours, none)) return 'too-many-of-address'
      const network = ofNetwork.of(origin?.network)
      if (network.size >= maxConnectionsPerNetwork && !makePlace(network, none)) return 'too-many-of-network'
      if (all.size >= maxConnections && !makePlace(all, () => freshOne(origin))) return 'full'
      return hold(origin, occupant)
    },
    open: () => all.size,
  }
}

const none = (): null => null

/** The first in the order of ranks, and of one rank the one that is quiet for longest. */
function longestQuiet(among: Iterable<Held>): Held | null {
  let found: Candidate | null = null
  for (const held of among) {
    const standing = held.occupant.standing()
    if (standing === null || standing.fresh) continue
    if (found === null || isBefore(standing, found.standing)) found = { held, standing }
  }
  return found?.held ?? null
}

/** Of the fresh and unproved ones that of the most crowded network. `crowd`: not above zero, and it stays. */
function crowdedFresh(among: Iterable<Held>, crowd: (held: Held) => number): Held | null {
  let found: Candidate | null = null
  let most = 0
  for (const held of among) {
    const own = crowd(held)
    if (own <= 0 || own < most) continue
    const standing = held.occupant.standing()
    if (standing?.rank !== 'unproved') continue
    if (own === most && found !== null && !isBefore(standing, found.standing)) continue
    found = { held, standing }
    most = own
  }
  return found?.held ?? null
}

function isBefore(one: Standing, other: Standing): boolean {
  const distance = ranks.indexOf(one.rank) - ranks.indexOf(other.rank)
  return distance < 0 || (distance === 0 && one.since < other.since)
}

const nobody: ReadonlySet<Held> = new Set()

/** The places of each address, or of each network. */
class Groups {
  private readonly groups = new Map<string, Set<Held>>()

  of(name: string | null | undefined): ReadonlySet<Held> {
    return (name === null || name === undefined ? undefined : this.groups.get(name)) ?? nobody
  }

  add(name: string | null | undefined, held: Held): void {
    if (name === null || name === undefined) return
    const group = this.groups.get(name) ?? new Set()
    this.groups.set(name, group.add(held))
  }

  delete(name: string | null | undefined, held: Held): void {
    if (name === null || name === undefined) return
    const group = this.groups.get(name)
    group?.delete(held)
    if (group?.size === 0) this.groups.delete(name)
  }
}
