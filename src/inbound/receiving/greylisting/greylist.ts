/**
 * Answers greylisting at RCPT from the tuples and networks in memory, and behind them in the database.
 *
 * A decision waits for no disk: changes are written every second, so a crash costs the last second, and a client that
 * came in it waits once more. A client network may add 300 tuples in a minute; what it brings beyond that has to wait
 * and is not remembered, so that no client can fill the memory of others.
 *
 * Limits: 50,000 entries in memory, 10,000 of them unwritten, and what `greylist-records.ts` stores.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import type { Config } from '../../../base/config/complete.js'
import type { Address } from '../../../base/mail/address.js'
import type { Clock } from '../../../base/platform/clock.js'
import { addressKeyOf, networkKeyOf } from '../../../base/platform/connections/client-address.js'
import { isInSomeNetwork, parseIpAddress } from '../../../base/platform/ip-address.js'
import type { Log } from '../../../base/platform/log.js'
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { Store } from '../../../base/storage/db/database.js'
import { takeTurn } from '../../../base/storage/db/write.js'
import type { InboundPolicy } from '../../../base/storage/tables/domain-tables.js'
import { RateLimit } from '../../../workspaces/accounts/limits/rate-limit.js'
import { decideGreylisting, type GreylistDecision, type GreylistEntry } from './greylist-policy.js'
import { readGreylistEntry, removeExcess, storeGreylistEntry } from './greylist-records.js'

export interface GreylistDeps extends Store {
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
  /** The key of the hashes. */
  readonly secret: KeyObject
  readonly settings: () => Config['inbound']['greylisting']
  /** If it is absent, nothing is measured. */
  readonly onDecision?: ((kind: GreylistDecision['kind']) => void) | undefined
}

export interface GreylistTuple {
  /** The address of the client. */
  readonly client: string
  /** Empty for `<>`. */
  readonly sender: Address | ''
  readonly recipient: Address
}

const MAX_ENTRIES = 50_000
const MAX_UNWRITTEN = 10_000
/** Entries of one commit. */
const BATCH_SIZE = 500
/** Milliseconds. */
const WRITE_INTERVAL = 1_000
const MAX_NEW_PER_MINUTE = 300
const MAX_NETWORKS = 10_000

export class Greylist {
  private readonly entries = createLruCache<GreylistEntry>({ max: MAX_ENTRIES })
  private readonly unwritten = new Map<string, GreylistEntry>()
  private readonly newTuples = new RateLimit({
    limitsOf: () => ({ requests_per_minute: MAX_NEW_PER_MINUTE }),
    maxKeys: MAX_NETWORKS,
  })
  private timer: NodeJS.Timeout | null = null
  private writing: Promise<void> | null = null
  private hasFailed = false

  constructor(private readonly deps: GreylistDeps) {}

  /** Whether mail of the client to a domain with this setting is greylisted at all. */
  applies(setting: InboundPolicy['greylisting'], client: string): boolean {
    const { enabled, exempt } = this.deps.settings()
    return (setting === 'default' ? enabled : setting === 'on') && !isInSomeNetwork(exempt, client)
  }

  /** Seconds until the recipient is accepted, or 0 if it is now. */
  async check({ client, sender, recipient }: GreylistTuple): Promise<number> {
    const { clock, settings, onDecision } = this.deps
    const network = clientNetworkOf(client)
    const networkKey = this.hashKey(['network', network])
    const tupleKey = this.hashKey(['tuple', network, sender.toLowerCase(), recipient.toLowerCase()])
    const { delay, retry_window: retryWindow, remember } = settings()
    const times = { delay, retryWindow, remember }
    const [storedTuple, storedNetwork] = await Promise.all([this.findStored(tupleKey), this.findStored(networkKey)])
    // Another try may have changed an entry since it was read. From here on nothing comes in between.
    const now = clock()
    const tuple = this.findKnown(tupleKey) ?? storedTuple
    const decision = decideGreylisting(tuple, this.findKnown(networkKey) ?? storedNetwork, times, now)
    onDecision?.(decision.kind)
    const isNew = decision.tuple?.passes === 0
    if (isNew && !this.newTuples.take(network, now).allowed) return decision.seconds
    if (decision.tuple !== undefined) this.change(tupleKey, decision.tuple)
    if (decision.network !== undefined) this.change(networkKey, decision.network)
    return decision.seconds
  }

  /** Writes what is not on disk yet. */
  async stop(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    await this.writing
    while (this.unwritten.size > 0 && (await this.writeBatch()));
  }

  private findKnown(key: string): GreylistEntry | undefined {
    return this.unwritten.get(key) ?? this.entries.get(key)
  }

  /** Reads what memory does not have. */
  private async findStored(key: string): Promise<GreylistEntry | undefined> {
    if (this.findKnown(key) !== undefined) return undefined
    const stored = await readGreylistEntry(this.deps.read, key)
    if (stored !== undefined && this.findKnown(key) === undefined) this.entries.set(key, stored)
    return stored
  }

  private change(key: string, entry: GreylistEntry): void {
    this.entries.set(key, entry)
    if (this.unwritten.size >= MAX_UNWRITTEN && !this.unwritten.has(key)) return
    this.unwritten.set(key, entry)
    this.timer ??= setTimeout(() => this.beginWriting(), WRITE_INTERVAL)
  }

  private beginWriting(): void {
    this.timer = null
    this.writing ??= this.writeAll().finally(() => {
      this.writing = null
      if (this.unwritten.size > 0) this.timer ??= setTimeout(() => this.beginWriting(), WRITE_INTERVAL)
    })
  }

  private async writeAll(): Promise<void> {
    for (let left = this.unwritten.size; left > 0; left -= BATCH_SIZE) if (!(await this.writeBatch())) return
  }

  /** False if the database does not take it now, and it is tried again. */
  private async writeBatch(): Promise<boolean> {
    const { read, commit, log } = this.deps
    const batch = [...this.unwritten.entries()].slice(0, BATCH_SIZE)
    try {
      const stores = batch.map(([key, entry]) => storeGreylistEntry({ key, ...entry }))
      // Another node may store the same entries in another order.
      await commit(takeTurn('greylist', [...stores, ...(await removeExcess(read))]))
    } catch (error) {
      if (!this.hasFailed) log.error({ err: error }, 'what greylisting remembers cannot be stored')
      this.hasFailed = true
      return false
    }
    this.hasFailed = false
    for (const [key, entry] of batch) if (this.unwritten.get(key) === entry) this.unwritten.delete(key)
    return true
  }

  private hashKey(words: readonly string[]): string {
    const mac = createHmac('sha256', this.deps.secret).update(`greylist\0${words.join('\0')}`)
    return mac.digest('base64url').slice(0, 22)
  }
}

/** The /24 of an IPv4 address, the /64 of an IPv6 address. */
function clientNetworkOf(client: string): string {
  return parseIpAddress(client)?.kind() === 'ipv4' ? (networkKeyOf(client) ?? client) : addressKeyOf(client)
}
