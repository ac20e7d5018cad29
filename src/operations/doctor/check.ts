/** Defines a check, and what checks are given. */
import type { Config } from '../../base/config/complete.js'
import type { WrittenConfig } from '../../base/config/load.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Dialer } from '../../base/platform/dialer.js'
import type { DnssecResolver, RecordResolver, Resolver } from '../../base/platform/dns/resolver.js'
import type { DnsServer } from '../../base/platform/dns/transport.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { Judgement } from './finding.js'

/** Milliseconds for one answer over the network, DNS aside. */
export const ANSWER_TIMEOUT = 5_000

/** If the last part is absent, nothing is said about DNSSEC. */
export type DoctorResolver = Resolver & RecordResolver & Partial<DnssecResolver>

export interface CheckDeps {
  readonly config: Config
  /** What `config` was made from. It is absent in the daemon, whose settings are in force. */
  readonly written?: WrittenConfig
  readonly clock: Clock
  /** Null if there is no database yet. */
  readonly read: Read | null
  readonly resolver: DoctorResolver
  /** A resolver that asks this server alone. */
  readonly openServerResolver: (server: DnsServer) => DoctorResolver
  readonly dialer: Dialer
  /** PEM certificates that are trusted instead of the system's. Undefined if the system's are. */
  readonly authorities: string | undefined
  /** Whether the system keeps its clock synchronized, or null if it does not say. */
  readonly readClockState: () => Promise<boolean | null>
  /** Addresses of this machine's interfaces. */
  readonly ownAddresses: readonly string[]
  /** Ends what is under way because the time is over. */
  readonly signal: AbortSignal
}

export interface Check {
  readonly name: string
  /** What the check shows, for help and documents. */
  readonly summary: string
  /** Returns them in the order in which they are shown. */
  readonly run: (deps: CheckDeps) => Promise<readonly Judgement[]>
}
