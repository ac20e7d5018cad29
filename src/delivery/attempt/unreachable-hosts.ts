/**
 * Hosts that could not be reached, for a short while, so that a queue of thousands does not
 * wait half a minute a message for one dead server.
 *
 * 30 s after the first failure, doubled by each further one up to 5 minutes. Failures that
 * fall together count once. A success forgets the host, and so do ten minutes without a call
 * after its time is over; a restart forgets all.
 *
 * A host whose time is over is called by one message first (`probe`): a server that is still
 * down, or comes up under load, is not met by everything that has waited for it.
 */
import { createLruCache } from '../../platform/lru-cache.js'
import type { Host } from '../hosts/destination.js'
import type { SmtpFailure } from '../smtp/outcome.js'

const FIRST_WAIT = 30_000
const MAX_WAIT = 300_000
const FORGET_AFTER = 600_000
const MAX_HOSTS = 10_000

/** Not called before `until`. `why`: the host and what is the matter with it, for people. */
export interface Outage {
  readonly kind: 'outage'
  readonly until: number
  readonly why: string
}

/** `open`: some host may be called. `probe`: by one message, which finds out. An outage: all hosts are down. */
export type Reachability = { readonly kind: 'open' | 'probe' } | Outage

interface UnreachableHost {
  until: number
  readonly wait: number
  readonly why: string
}

const openReachability: Reachability = { kind: 'open' }
const probeReachability: Reachability = { kind: 'probe' }

export class UnreachableHosts {
  private readonly hosts = createLruCache<UnreachableHost>({ max: MAX_HOSTS })

  /** Why the host should not be called now; null: it may. */
  findOutage(host: Host, now: number): Outage | null {
    const known = this.findUnexpired(host, now)
    return known !== undefined && known.until > now ? { kind: 'outage', until: known.until, why: known.why } : null
  }

  /** Of the hosts of one destination; an outage lasts until the first of them may be called. */
  checkReachability(hosts: readonly Host[], now: number): Reachability {
    if (this.hosts.size === 0 || hosts.length === 0) return openReachability
    const outages: Outage[] = []
    for (const host of hosts) {
      if (this.findUnexpired(host, now) === undefined) return openReachability
      const outage = this.findOutage(host, now)
      if (outage !== null) outages.push(outage)
    }
    if (outages.length < hosts.length) return probeReachability
    return outages.reduce((first, other) => (other.until < first.until ? other : first))
  }

  /** What came of calling it; null: it answered. */
  recordResult(host: Host, trouble: SmtpFailure | null, now: number): void {
    const key = keyOf(host)
    const known = this.findUnexpired(host, now)
    if (trouble === null || !isUnreachable(trouble)) {
      this.hosts.delete(key)
      return
    }
    if (known !== undefined && known.until > now) return
    const wait = known === undefined ? FIRST_WAIT : Math.min(known.wait * 2, MAX_WAIT)
    const why = `${host.mx} [${host.address}]:${host.port} (${trouble.detail})`
    this.hosts.set(key, { until: now + wait, wait, why })
  }

  /** Each may be probed now: the operator has changed something. */
  expireAll(now: number): void {
    for (const known of this.hosts.values()) known.until = Math.min(known.until, now)
  }

  private findUnexpired(host: Host, now: number): UnreachableHost | undefined {
    const known = this.hosts.get(keyOf(host))
    // Beyond the longest wait: the clock was set back.
    const isKept = known !== undefined && now < known.until + FORGET_AFTER && known.until - now <= MAX_WAIT
    return isKept ? known : undefined
  }
}

/** No connection, or one that ends or stays silent before a greeting. A server that says that it is full is there. */
function isUnreachable(trouble: SmtpFailure): trouble is Extract<SmtpFailure, { kind: 'failed' }> {
  if (trouble.kind !== 'failed') return false
  if (trouble.stage === 'connect') return trouble.failure !== 'tls'
  return trouble.stage === 'banner' && trouble.failure !== 'protocol'
}

function keyOf({ address, port }: Host): string {
  return `${address} ${port}`
}
