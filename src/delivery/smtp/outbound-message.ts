/** A message ready for the wire: what `attempt` sends to one recipient. */
import type { Address, DomainName } from '../../mail/address.js'
import type { DsnNotify } from '../../mail/dsn-parameters.js'

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
  readonly ret: 'full' | 'headers' | null
  readonly notify: readonly DsnNotify[] | null
  readonly orcpt: string | null
  /** Called when its last byte is on the way: from now on it may arrive, whatever we hear. */
  readonly onHandedOver?: () => void
}
