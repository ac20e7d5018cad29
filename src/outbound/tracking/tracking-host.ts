/**
 * Decides the base of the URLs in a domain's mail. It is `service.public_url`, with the domain's mail host in place of
 * its host while a valid certificate for that host is served: the host's own, or the default one if that names the
 * host. So links belong to the sending domain where that works, and always work.
 *
 * A listener of this server must itself serve TLS: behind a proxy, its certificate says nothing about what clients
 * reach.
 */
import { X509Certificate } from 'node:crypto'
import type { DomainName } from '../../base/mail/address.js'
import type { Clock } from '../../base/platform/clock.js'
import { createLruCache } from '../../base/platform/lru-cache.js'
import { mailHostOf } from '../../workspaces/domains/rows/sending-domains.js'

interface TrackingHostDeps {
  /** `service.public_url`. */
  readonly publicUrl: string
  readonly servesTls: boolean
  /** Returns the default certificate that the listeners serve now, in PEM. */
  readonly certificateOf: () => string
  /** Tells whether clients that ask for this name get a valid certificate of the name itself. */
  readonly servesName: (name: DomainName) => boolean
  readonly clock: Clock
}

export class TrackingHost {
  private loaded: LoadedCertificate
  private readonly isByDomain: boolean

  constructor(private readonly deps: TrackingHostDeps) {
    const { publicUrl, servesTls } = deps
    this.isByDomain = servesTls && publicUrl.startsWith('https:')
    this.loaded = { pem: '', from: 0, to: 0, baseOf: () => publicUrl }
  }

  /** Returns the base, without a trailing slash. */
  baseFor(domain: DomainName): string {
    const { publicUrl, servesName, certificateOf, clock } = this.deps
    if (!this.isByDomain) return publicUrl
    const host = mailHostOf(domain)
    if (servesName(host)) return replaceHost(publicUrl, host)
    const pem = certificateOf()
    if (pem !== this.loaded.pem) this.loaded = readCertificate(pem, publicUrl)
    const now = clock()
    return now >= this.loaded.from && now < this.loaded.to ? this.loaded.baseOf(host) : publicUrl
  }
}

/** The most mail hosts whose base is kept for the next email of their domain. */
const MAX_KNOWN_HOSTS = 1_000

interface LoadedCertificate {
  readonly pem: string
  /** Epoch milliseconds from which the certificate is valid. */
  readonly from: number
  readonly to: number
  /** Returns the base for a mail host while the certificate is valid. */
  readonly baseOf: (host: string) => string
}

function readCertificate(pem: string, publicUrl: string): LoadedCertificate {
  const certificate = new X509Certificate(pem)
  const known = createLruCache<string>({ max: MAX_KNOWN_HOSTS })
  const baseOf = (host: string): string => {
    const base = known.get(host) ?? (certificate.checkHost(host) ? replaceHost(publicUrl, host) : publicUrl)
    known.set(host, base)
    return base
  }
  return { pem, from: Date.parse(certificate.validFrom), to: Date.parse(certificate.validTo), baseOf }
}

/** Replaces the host. The port and the path stay. */
function replaceHost(publicUrl: string, host: string): string {
  const url = new URL(publicUrl)
  url.hostname = host
  return url.href.replace(/\/$/, '')
}
