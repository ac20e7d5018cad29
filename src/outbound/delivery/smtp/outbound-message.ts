/** A message as it is sent to one recipient. */
import type { Address, DomainName } from '../../../base/mail/address.js'
import type { DsnNotify, DsnReturn } from '../../../base/mail/dsn-parameters.js'
import type { TlsRequired } from '../../../base/mail/tls-required.js'

export interface OutboundMessage {
  /** Per-recipient return path, or empty for `<>`. */
  readonly returnPath: string
  readonly recipient: Address
  readonly domain: DomainName
  /** Header and body in pieces, CRLF line ends, not yet dot-stuffed. */
  readonly pieces: readonly Buffer[]
  /** Needs SMTPUTF8 (RFC 6531). */
  readonly smtputf8: boolean
  readonly envid: string | null
  readonly ret: DsnReturn | null
  readonly notify: readonly DsnNotify[] | null
  readonly orcpt: string | null
  /** What the sender says about TLS on its way (RFC 8689); absent: nothing. */
  readonly tlsRequired?: TlsRequired | null
  /** Called when the last byte was handed to the kernel: from now on the message may arrive. */
  readonly onHandedOver?: () => void
}
