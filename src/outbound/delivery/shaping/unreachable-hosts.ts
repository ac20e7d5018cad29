/**
 * Remembers hosts that could not be reached, so that thousands of messages do not each wait half a minute for one dead
 * server.
 *
 * The host is not called for 30 s after the first failure. Each further failure doubles that time, up to 5 minutes;
 * failures during that time do not count. A success forgets the host, and so do ten minutes without a call after the
 * time is over. A restart forgets all hosts.
 *
 * After its time a host is called by one message first (`probe`), so that a server that is still down, or is just
 * starting, does not get all waiting mail at once.
 */
import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { Host } from '../hosts/destination.js'
import type { SmtpFailure } from '../smtp/send-result.js'

const FIRST_WAIT = 30_000
const MAX_WAIT = 300_000
const FORGET_AFTER = 600_000
const MAX_HOSTS = 10_000

/** The host is not called before `until`. `why` names the host and its failure, for people. */
export interface Outage {
  readonly kind: 'outage'
  readonly until: number
  readonly why: string
  /** Set if other entries of the lane need not wait for it. */
  readonly isOfEntry?: true
  /** Set if the host refuses our address as a whole. */
  readonly isBlock?: true
}

/** `open`: a host may be called. `probe`: one message may call. An outage: all hosts are down. */
type Reachability = { readonly kind: 'open' | 'probe' } | Outage

interface UnreachableHost {
  until: number
  readonly wait: number
  readonly why: string
}

const openReachability: Reachability = { kind: 'open' }
const probeReachability: Reachability = { kind: 'probe' }

export class UnreachableHosts {
  private readonly hosts = createLruCache<UnreachableHost>({ max: MAX_HOSTS })

  /** Returns null if the host may be called. */
  findOutage(host: Host, now: number): Outage | null {
    const known = this.findUnexpired(host, now)
    return known !== undefined && known.until > now ? { kind: 'outage', until: known.until, why: known.why } : null
  }

  /** Judges the hosts of one destination. An outage lasts until the first of them may be called. */
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

  /** Records a call of the host. `failure` is null if the host answered. */
  recordResult(host: Host, failure: SmtpFailure | null, now: number): void {
    const key = keyOf(host)
    const known = this.findUnexpired(host, now)
    if (failure === null || !isUnreachable(failure)) {
      this.hosts.delete(key)
      return
    }
    if (known !== undefined && known.until > now) return
    const wait = known === undefined ? FIRST_WAIT : Math.min(known.wait * 2, MAX_WAIT)
    const from = host.source === undefined ? '' : ` from ${host.source}`
    const why = `${host.mx} [${host.address}]:${host.port}${from} (${failure.detail})`
    this.hosts.set(key, { until: now + wait, wait, why })
  }

  /** Lets every host be probed now, because the operator has changed something. */
  expireAll(now: number): void {
    for (const known of this.hosts.values()) known.until = Math.min(known.until, now)
  }

  private findUnexpired(host: Host, now: number): UnreachableHost | undefined {
    const known = this.hosts.get(keyOf(host))
    // A wait beyond the maximum means that the clock was set back.
    const isValid = known !== undefined && now < known.until + FORGET_AFTER && known.until - now <= MAX_WAIT
    return isValid ? known : undefined
  }
}

/**
 * Tells whether there is no connection, or whether it ends or stays silent before the greeting. A server that refuses
 * the session with a reply is reachable.
 */
function isUnreachable(failure: SmtpFailure): failure is Extract<SmtpFailure, { kind: 'failed' }> {
  if (failure.kind !== 'failed') return false
  if (failure.stage === 'connect') return failure.failure !== 'tls'
  return failure.stage === 'banner' && failure.failure !== 'protocol'
}

/** The key includes the source, because one of our addresses may be cut off while another one is not. */
function keyOf({ address, port, source = '' }: Host): string {
  return `${address} ${port} ${source}`
}
