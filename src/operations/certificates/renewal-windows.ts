/**
 * Asks when the ACME server wants certificates to be renewed (RFC 9773), twice a day for each. A server without this
 * service, or one that does not answer, changes nothing. After a failure it is not asked for an hour, so that the names
 * do not wait for it one after the other.
 */
import type { DomainName } from '../../base/mail/address.js'
import type { Clock } from '../../base/platform/clock.js'
import type { AcmeDirectory } from './acme-directory.js'
import type { CertificateFiles } from './certificate-files.js'
import { renewalInfoId } from './renewal-info.js'
import type { RenewalWindow } from './renewal-plan.js'

interface WindowDeps {
  readonly directory: Pick<AcmeDirectory, 'readRenewalWindow'>
  readonly files: Pick<CertificateFiles, 'readPair'>
  readonly clock: Clock
}

/** Milliseconds. */
const INTERVAL = 12 * 3_600_000
const REST_TIME = 3_600_000

interface KnownWindow {
  readonly askedAt: number
  readonly id: string | null
  readonly window: RenewalWindow | null
}

const neverAsked: KnownWindow = { askedAt: Number.NEGATIVE_INFINITY, id: null, window: null }

export class RenewalWindows {
  private readonly known = new Map<DomainName, KnownWindow>()
  private failedAt = Number.NEGATIVE_INFINITY

  constructor(private readonly deps: WindowDeps) {}

  windowOf(name: DomainName): RenewalWindow | null {
    return this.known.get(name)?.window ?? null
  }

  /** The id of the certificate that an order replaces, or null if the server does not know such ids. */
  replacedId(name: DomainName): string | null {
    const known = this.known.get(name)
    return known?.window === undefined || known.window === null ? null : known.id
  }

  /** Asks the server if it is time to ask again. Never rejects. */
  async refresh(name: DomainName): Promise<void> {
    const { clock, directory, files } = this.deps
    const { askedAt } = this.known.get(name) ?? neverAsked
    const isSince = (at: number, time: number): boolean => Math.abs(clock() - at) < time
    if (isSince(this.failedAt, REST_TIME) || isSince(askedAt, INTERVAL)) return
    try {
      const pair = await files.readPair(name)
      const id = pair === null ? null : renewalInfoId(pair.cert)
      const window = id === null ? null : await directory.readRenewalWindow(id)
      this.known.set(name, { askedAt: clock(), id, window })
    } catch {
      this.failedAt = clock()
      this.known.set(name, { ...neverAsked, askedAt: clock() })
    }
  }

  /** Its certificate was replaced, or the name is no longer served. */
  forget(name: DomainName): void {
    this.known.delete(name)
  }
}
