/** A message as it is sent to one recipient. */
import type { Address, DomainName } from '../../../base/mail/address.js'
import type { DsnNotify, DsnReturn } from '../../../base/mail/dsn-parameters.js'
import type { TlsRequired } from '../../../base/mail/tls-required.js'

export interface OutboundMessage {
  /** The return path of this recipient. Empty for `<>`. */
  readonly returnPath: string
  readonly recipient: Address
  readonly domain: DomainName
  /** Header and body in pieces, with CRLF line ends, not yet dot-stuffed. */
  readonly pieces: readonly Buffer[]
  /** True if the message needs SMTPUTF8 (RFC 6531). */
  readonly smtputf8: boolean
  readonly envid: string | null
  readonly ret: DsnReturn | null
  readonly notify: readonly DsnNotify[] | null
  readonly orcpt: string | null
  /** What the sender says about TLS on the message's way (RFC 8689). Absent if the sender says nothing. */
  readonly tlsRequired?: TlsRequired | null
  /** Called when the last byte was handed to the kernel, because the message may arrive from then on. */
  readonly onHandedOver?: () => void
}
