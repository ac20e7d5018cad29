/**
 * Which host an attempt is on its way to, and how many are on their way there.
 *
 * Before its MX is known a domain stands for its own host; afterwards all domains of one
 * MX count together, because they wait for the same sessions.
 *
 * A host that was unreachable is probed by one entry; while that finds out, no other starts for it.
 *
 * Limit: the hosts of 10,000 domains are remembered.
 */
import { createLruCache } from '../../platform/lru-cache.js'

const MAX_DOMAINS = 10_000

/** `isOpen`: nothing is known yet. */
interface Probe {
  readonly entryId: string
  readonly isPending: () => boolean
}

export class HostConcurrency {
  private readonly hosts = createLruCache<string>({ max: MAX_DOMAINS })
  /** By entry: the host that it counts for. */
  private readonly hostByEntry = new Map<string, string>()
  private readonly counts = new Map<string, number>()
  private readonly probes = new Map<string, Probe>()

  /** The host of the domain, or the domain itself. */
  hostOf(domain: string): string {
    return this.hosts.get(domain) ?? domain
  }

  setHost(domain: string, host: string): void {
    if (this.hosts.get(domain) === host) return
    this.hosts.set(domain, host)
  }

  slotOf(entryId: string): string | undefined {
    return this.hostByEntry.get(entryId)
  }

  /** On the way to `host`, of all workspaces and of this one. */
  countSlots(host: string): number {
    return this.counts.get(host) ?? 0
  }

  countSlotsOf(workspaceId: string, host: string): number {
    return this.counts.get(keyOf(workspaceId, host)) ?? 0
  }

  acquireSlot(entryId: string, workspaceId: string, host: string): void {
    this.hostByEntry.set(entryId, host)
    this.addToCount(host, 1)
    this.addToCount(keyOf(workspaceId, host), 1)
  }

  /** The entry probes the host, unless another does. */
  startProbe(host: string, entryId: string, isPending: () => boolean): boolean {
    if (this.isProbed(host)) return false
    this.probes.set(host, { entryId, isPending })
    return true
  }

  isProbed(host: string): boolean {
    const probe = this.probes.get(host)
    if (probe === undefined) return false
    if (!probe.isPending()) this.probes.delete(host)
    return this.probes.has(host)
  }

  releaseSlot(entryId: string, workspaceId: string): void {
    const host = this.hostByEntry.get(entryId)
    if (host === undefined) return
    if (this.probes.get(host)?.entryId === entryId) this.probes.delete(host)
    this.hostByEntry.delete(entryId)
    this.addToCount(host, -1)
    this.addToCount(keyOf(workspaceId, host), -1)
  }

  private addToCount(key: string, change: 1 | -1): void {
    const next = (this.counts.get(key) ?? 0) + change
    if (next > 0) this.counts.set(key, next)
    else this.counts.delete(key)
  }
}

function keyOf(workspaceId: string, host: string): string {
  return `${workspaceId} ${host}`
}
