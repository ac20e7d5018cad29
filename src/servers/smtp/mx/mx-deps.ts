/** Lists what the MX listener uses: the rooms below, settings and limits. */
import type { Config } from '../../../base/config/complete.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import type { MemoryBudget } from '../../../base/platform/memory/budget.js'
import { MINUTE } from '../../../base/platform/time-units.js'
import type { ListenerTls } from '../../../base/platform/tls-files.js'
import type { DiskGuard } from '../../../base/storage/health/disk-guard.js'
import type { Greylist } from '../../../inbound/receiving/greylisting/greylist.js'
import type { InboundAcceptor } from '../../../inbound/receiving/inbound-acceptor.js'
import type { RecipientChecker } from '../../../inbound/receiving/recipients/recipient-checker.js'
import type { BlockLists } from '../../../inbound/spam/dnsbl.js'
import type { AllowLists } from '../../../inbound/spam/dnswl.js'
import type { SessionLimits, SessionObserver } from '../session/session-gate.js'

export interface MxDeps {
  readonly recipients: Pick<RecipientChecker, 'check'>
  readonly acceptor: Pick<InboundAcceptor, 'accept'>
  readonly blockLists: Pick<BlockLists, 'find'>
  readonly allowLists: Pick<AllowLists, 'find'>
  readonly greylist: Pick<Greylist, 'applies' | 'check'>
  readonly disk: Pick<DiskGuard, 'hasRoom'>
  /** New mail belongs to other nodes. If it is absent, it never does. */
  readonly isDraining?: () => boolean
  /** Shared by all listeners. If it is absent, this listener has only its own limit. */
  readonly memory?: MemoryBudget
  /** Calls `act` after so many milliseconds, unless the returned function cancels it. If it is absent, a timer does. */
  readonly schedule?: (milliseconds: number, act: () => void) => () => void
  /** If it is absent, nothing is measured. */
  readonly observer?: SessionObserver | null
  readonly clock: Clock
  readonly log: Pick<Log, 'debug' | 'info' | 'warn' | 'error'>
  readonly hostname: string
  readonly tls: ListenerTls
  readonly settings: () => Config['inbound']
  /** If it is absent, the defaults hold. */
  readonly limits?: MxLimits
}

/** Times in milliseconds. */
export interface MxLimits extends SessionLimits {
  /** Octets in one line of a message, CRLF not counted. RFC 5321 section 4.5.3.1.6 says 998, which many senders exceed. */
  readonly maxLineLength: number
  readonly handshakeTimeout: number
  /** Workspaces that one message is filed for: all copies are in memory at once. */
  readonly maxWorkspaces: number
  /** Forwarding rules that match one message. Each stores a separate copy, all in one commit. */
  readonly maxForwardRules: number
  /** Addresses and networks whose connections, messages and bytes are counted. */
  readonly maxClients: number
  /** The delay of the greeting, in which early talkers are recognized. */
  readonly greetingDelay: number
}

const MB = 1_048_576

export const defaultMxLimits: MxLimits = {
  maxLineLength: 65_536,
  maxCommandLength: 4096,
  maxBytesInFlight: 256 * MB,
  memoryWait: MINUTE,
  maxWaitingPerAddress: 8,
  maxFaults: 20,
  idleTimeout: 5 * MINUTE,
  handshakeTimeout: MINUTE / 2,
  givesWayAfter: 10_000,
  finishWithin: 5 * MINUTE,
  maxWorkspaces: 5,
  maxForwardRules: 10,
  maxClients: 10_000,
  greetingDelay: 100,
}
