/**
 * The base of the URLs that we put into a domain's mail: `service.public_url`, with the domain's mail host in place of
 * its host while the loaded certificate is valid and names that host. So links belong to the sending domain where that
 * works, and always work.
 *
 * A listener of ours must serve TLS itself: behind a proxy, our certificate says nothing about what clients reach.
 */
import { X509Certificate } from 'node:crypto'
import { mailHostOf } from '../domains/sending-domains.js'
import type { DomainName } from '../mail/address.js'
import type { Clock } from '../platform/clock.js'

interface TrackingHostDeps {
  /** `service.public_url`. */
  readonly publicUrl: string
  readonly servesTls: boolean
  /** The certificate that the listeners serve now, PEM. */
  readonly certificateOf: () => string
  readonly clock: Clock
}

/** Without a trailing slash. */
export type TrackingBaseFor = (domain: DomainName) => string

export function createTrackingHost({ publicUrl, servesTls, certificateOf, clock }: TrackingHostDeps): TrackingBaseFor {
  if (!servesTls || !publicUrl.startsWith('https:')) return () => publicUrl
  let loaded = { pem: '', namesHost: (_host: string, _now: number): boolean => false }
  return (domain) => {
    const pem = certificateOf()
    if (pem !== loaded.pem) loaded = { pem, namesHost: readCertificate(pem) }
    const host = mailHostOf(domain)
    return loaded.namesHost(host, clock()) ? replaceHost(publicUrl, host) : publicUrl
  }
}

function readCertificate(pem: string): (host: string, now: number) => boolean {
  const certificate = new X509Certificate(pem)
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  return (host, now) => now >= from && now < to && certificate.checkHost(host) !== undefined
}

/** The port and the path stay. */
function replaceHost(publicUrl: string, host: string): string {
  const url = new URL(publicUrl)
  url.hostname = host
  return url.href.replace(/\/$/, '')
}
