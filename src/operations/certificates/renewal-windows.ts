/**
 * Asks when the ACME server wants certificates to be renewed (RFC 9773), twice a day for each. A server without this
 * service, or one that does not answer, changes nothing. After a failure it is not asked for an hour, so that the names
 * do not wait for it one after the other.
 */
import type { DomainName } from '../../base/mail/address.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { AcmeDirectory } from './acme-directory.js'
import { readPair } from './certificate-rows.js'
import { renewalInfoId } from './renewal-info.js'
import type { IdentifiedFacts, RenewalWindow } from './renewal-plan.js'

interface WindowDeps {
  readonly directory: Pick<AcmeDirectory, 'readRenewalWindow'>
  readonly read: Read
  readonly clock: Clock
}

/** Milliseconds. */
const INTERVAL = 12 * 3_600_000
const REST_TIME = 3_600_000

interface KnownWindow {
  /** Of the certificate that it is for. Another daemon may replace that. */
  readonly fingerprint: string
  readonly askedAt: number
  readonly id: string | null
  readonly window: RenewalWindow | null
}

export class RenewalWindows {
  private readonly known = new Map<DomainName, KnownWindow>()
  private failedAt = Number.NEGATIVE_INFINITY

  constructor(private readonly deps: WindowDeps) {}

  windowOf(name: DomainName, facts: IdentifiedFacts | null): RenewalWindow | null {
    const known = this.known.get(name)
    return known?.fingerprint === facts?.fingerprint ? (known?.window ?? null) : null
  }

  /** The id of the certificate that an order replaces, or null if the server does not know such ids. */
  replacedId(name: DomainName): string | null {
    const known = this.known.get(name)
    return known?.window === undefined || known.window === null ? null : known.id
  }

  /** Asks the server if it is time to ask again. Never rejects. */
  async refresh(name: DomainName, { fingerprint }: IdentifiedFacts): Promise<void> {
    const { clock, directory, read } = this.deps
    const known = this.known.get(name)
    const isSince = (at: number, time: number): boolean => Math.abs(clock() - at) < time
    const isKnown = known?.fingerprint === fingerprint && isSince(known.askedAt, INTERVAL)
    if (isKnown || isSince(this.failedAt, REST_TIME)) return
    try {
      const pair = await readPair(read, name)
      const id = pair === null ? null : renewalInfoId(pair.cert)
      const window = id === null ? null : await directory.readRenewalWindow(id)
      this.known.set(name, { fingerprint, askedAt: clock(), id, window })
    } catch {
      this.failedAt = clock()
      this.known.set(name, { fingerprint, askedAt: clock(), id: null, window: null })
    }
  }

  /** The name is no longer served. */
  forget(name: DomainName): void {
    this.known.delete(name)
  }
}
