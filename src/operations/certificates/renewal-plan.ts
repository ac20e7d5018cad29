/**
 * Decides when a certificate is renewed, when its expiry becomes a warning, and how long a name waits after failures.
 * Pure.
 *
 * Renewal is due at two thirds of the lifetime, up to 3 % earlier or later. The shift is a hash of the certificate, so
 * that a restart does not change it and many certificates of one day are not renewed in one hour.
 */
import { createHash, X509Certificate } from 'node:crypto'
import { DAY, HOUR, MINUTE } from '../../base/platform/time-units.js'

export interface Validity {
  /** Epoch milliseconds. */
  readonly from: number
  readonly to: number
}

/** A time span within which the server wants the renewal (RFC 9773). */
export interface RenewalWindow {
  readonly start: number
  readonly end: number
}

export interface CertificateFacts extends Validity {
  /** From 0 to 1, equally distributed over certificates and fixed for each. */
  readonly spread: number
}

export interface IdentifiedFacts extends CertificateFacts {
  /** SHA-256 of the certificate, in hexadecimal. */
  readonly fingerprint: string
}

const RENEWAL_SHARE = 2 / 3
const MAX_SHIFT = 0.03
/** A certificate that expires in less is a warning, or in less than a sixth of its lifetime if that is shorter. */
const WARNING_TIME = 14 * DAY

/** Reads the first certificate of a chain in PEM form. */
export function readCertificateFacts(pem: string): IdentifiedFacts {
  const certificate = new X509Certificate(pem)
  const fingerprint = createHash('sha256').update(certificate.raw).digest('hex')
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  return { from, to, fingerprint, spread: spreadOf(fingerprint) }
}

/** `fingerprint` is a hash of the certificate. */
export function spreadOf(fingerprint: string): number {
  return Number.parseInt(fingerprint.slice(0, 8), 16) / 0xffffffff
}

/** `window` is null if the server gives none. */
export function renewalTimeOf({ from, to, spread }: CertificateFacts, window: RenewalWindow | null): number {
  if (window !== null) return Math.min(to, Math.round(window.start + (window.end - window.start) * spread))
  const share = RENEWAL_SHARE + MAX_SHIFT * (2 * spread - 1)
  return Math.round(from + (to - from) * share)
}

export function isValidAt({ from, to }: Validity, now: number): boolean {
  return now >= from && now < to
}

export function expiresSoon({ from, to }: Validity, now: number): boolean {
  return to - now < Math.min(WARNING_TIME, (to - from) / 6)
}

/** Whole days that are left, rounded down; negative after the expiry. */
export function daysLeft({ to }: Pick<Validity, 'to'>, now: number): number {
  return Math.floor((to - now) / DAY)
}

/** The longest wait for a try. A server may ask for no longer one. */
export const MAX_WAIT = 8 * DAY

/** A longer wait was noted by a clock that was ahead, and does not count. */
export function isWaiting(until: number, now: number): boolean {
  return now < until && until - now <= MAX_WAIT
}

/** These make at most four tries in the first hour: Let's Encrypt allows five failed validations an hour. */
const nameWaits = [15 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 16 * HOUR, DAY]
const serverWaits = [MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 20 * MINUTE, 40 * MINUTE, HOUR]
const MAX_WAIT_SHIFT = 0.1

/** Milliseconds until the next try after this many failures in a row, up to a tenth longer. `random` is from 0 to 1. */
export function waitAfterFailures(failures: number, random: number, subject: 'name' | 'server'): number {
  const waits = subject === 'name' ? nameWaits : serverWaits
  const wait = waits[Math.min(failures, waits.length) - 1] ?? MINUTE
  return Math.round(wait * (1 + MAX_WAIT_SHIFT * random))
}
