/** The `with` clause of a Received field (RFC 3848, RFC 6531 section 3.7.3). */
import type { SessionConnection } from './smtp-session.js'

interface TransmissionFacts {
  /** MAIL had the SMTPUTF8 parameter. */
  readonly smtputf8: boolean
  readonly authenticated: boolean
}

export function transmissionTypeOf(
  { isExtended, tls }: Pick<SessionConnection, 'isExtended' | 'tls'>,
  { smtputf8, authenticated }: TransmissionFacts,
): string {
  if (!isExtended) return 'SMTP'
  return `${smtputf8 ? 'UTF8' : 'E'}SMTP${tls === null ? '' : 'S'}${authenticated ? 'A' : ''}`
}
