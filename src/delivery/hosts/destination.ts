/** Where mail for a domain goes: the answer of `mx-hosts`, the question of `attempt`. */
import type { DomainName } from '../../mail/address.js'
import type { Reason } from '../../mail/reasons.js'

/** One address of one host, in the order in which they are to be tried. */
export interface Host {
  /** MX host name, or the host of the route. */
  readonly mx: string
  /** IPv4 or IPv6 address. */
  readonly address: string
  readonly port: number
  /** `opportunistic`: STARTTLS where offered. `implicit`: TLS from the start, certificate verified. */
  readonly tls: 'opportunistic' | 'implicit'
  /** For a smarthost that wants AUTH; only ever sent over TLS with a verified certificate, or to loopback. */
  readonly auth: { readonly user: string; readonly pass: string } | null
  /** An MX of the recipient's domain (or its stand-in by a route for that domain), not a smarthost. */
  readonly final: boolean
}

export type Destination =
  | { readonly kind: 'hosts'; readonly hosts: readonly Host[] }
  /** The domain takes no mail: null MX, no such domain, neither MX nor address. */
  | {
      readonly kind: 'refused'
      readonly reason: Reason
      readonly status: string
      readonly response: string
      readonly recipientsFault: boolean
    }
  /** DNS does not answer, or no address may be dialled now. */
  | { readonly kind: 'temporary'; readonly reason: Reason; readonly response: string }

export type FindDestination = (domain: DomainName) => Promise<Destination>
