/**
 * The bytes of messages that one client network brings in a minute: `inbound.bytes_per_minute`.
 *
 * A network is what the limit of connections calls so (`base/platform/connections/client-address.ts`): a /24 of IPv4, a /48 of IPv6. A
 * message needs room for its declared size before it is transferred, and takes it then; bytes beyond that count as they
 * come. A message larger than the whole rate comes alone, into a network that has used nothing. All bytes count, also
 * those of messages that are refused: they cost memory and bandwidth.
 *
 * Where a network has used up its rate, an address that has brought little itself (of IPv6 a /64) is still served, from a
 * reserve of the same size: else one client would shut out its neighbours at a large hoster.
 *
 * In one minute a network brings at most its rate and what a full bucket holds, the reserve as much again, and each may
 * be exceeded by one message of `max_size`. Cost: a few look-ups in maps for each message.
 */

import type { Config } from '../../../base/config/complete.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { ConnectionOrigin } from '../../../base/platform/connections/connection-limiter.js'
import { TokenBuckets } from '../../../base/platform/token-buckets.js'

type ByteLimits = () => Pick<Config['inbound'], 'bytes_per_minute' | 'max_size'>

/** The part of its network's rate that one address may use while its neighbours send too. */
const SHARE_OF_ADDRESS = 1 / 8

const SECONDS = 60

/** Takes bytes from the rate, or gives them back if the number is negative. False if no further byte may be kept. */
type Spend = (bytes: number) => boolean

export class ByteRate {
  private readonly networks: TokenBuckets
  private readonly reserves: TokenBuckets
  private readonly addresses: TokenBuckets

  constructor(
    private readonly limits: ByteLimits,
    maxClients: number,
    private readonly clock: Clock,
  ) {
    this.networks = openBuckets(limits, 1, maxClients)
    this.reserves = openBuckets(limits, 1, maxClients)
    this.addresses = openBuckets(limits, SHARE_OF_ADDRESS, maxClients)
  }

  /**
   * Returns the function that takes the bytes of a message of this size from the rate; 0 if the size is unknown. Null
   * if there is no room.
   */
  open(origin: ConnectionOrigin, size: number): Spend | null {
    const { address } = origin
    const network = origin.network ?? address
    const now = this.clock()
    const { bytes_per_minute: bytesPerMinute } = this.limits()
    const hasRoom = (buckets: TokenBuckets, key: string, full: number): boolean =>
      buckets.countTokens(key, now) >= Math.min(Math.max(1, size), full)
    if (hasRoom(this.networks, network, bytesPerMinute)) {
      return (bytes) => this.spend(this.networks, network, address, bytes)
    }
    const isQuiet = hasRoom(this.addresses, address, bytesPerMinute * SHARE_OF_ADDRESS)
    if (!isQuiet || !hasRoom(this.reserves, network, bytesPerMinute)) return null
    return (bytes) => this.spend(this.reserves, network, address, bytes)
  }

  private spend(shared: TokenBuckets, network: string, address: string, bytes: number): boolean {
    const now = this.clock()
    const { bytes_per_minute: bytesPerMinute, max_size: maxSize } = this.limits()
    shared.spend(network, now, { cost: bytes, maxDebt: maxSize })
    this.addresses.spend(address, now, { cost: bytes, maxDebt: bytesPerMinute })
    return shared.countTokens(network, now) > -maxSize
  }
}

/** Takes the bytes of the messages of one session from the rate, one message after the other. */
export class SessionBytes {
  private spend: Spend | null = null
  private reserved = 0
  private received = 0

  /** A `connection` without an origin is not limited. */
  constructor(
    private readonly rate: ByteRate,
    private readonly connection: { readonly origin: ConnectionOrigin | null },
  ) {}

  /** Whether `begin` would find room for this `size`. */
  hasRoom(size: number): boolean {
    const { origin } = this.connection
    return origin === null || this.rate.open(origin, size) !== null
  }

  /** A message of this size is to come; 0 if the size is unknown. False if there is no room for it. */
  begin(size: number): boolean {
    const { origin } = this.connection
    this.end()
    if (origin === null) return true
    this.spend = this.rate.open(origin, size)
    this.reserved = size
    this.received = 0
    if (size > 0) this.spend?.(size)
    return this.spend !== null
  }

  /** False if the network owes so much that the message may not be kept. */
  receive(bytes: number): boolean {
    const before = Math.max(this.reserved, this.received)
    this.received += bytes
    return this.spend === null || this.received <= before || this.spend(this.received - before)
  }

  /** Gives back what was reserved and has not come. May be called again. */
  end(): void {
    if (this.received < this.reserved) this.spend?.(this.received - this.reserved)
    this.spend = null
  }
}

function openBuckets(limits: ByteLimits, share: number, maxKeys: number): TokenBuckets {
  return new TokenBuckets({
    get burst() {
      return limits().bytes_per_minute * share
    },
    get perSecond() {
      return (limits().bytes_per_minute * share) / SECONDS
    },
    maxKeys,
  })
}
