/** Defines where mail for a domain goes: `DestinationFinder` finds it, `MessageSender` calls its hosts. */
import type { DomainName } from '../../../base/mail/address.js'
import type { Reason } from '../../../base/mail/reasons.js'
import type { HostSecurity } from './host-security.js'

/** One address of one host. */
export interface Host {
  /** MX host name, or the host of the route. */
  readonly mx: string
  /** IPv4 or IPv6 address. */
  readonly address: string
  readonly port: number
  /** `opportunistic`: STARTTLS where offered. `implicit`: TLS from the start, certificate verified. */
  readonly tls: 'opportunistic' | 'implicit'
  /** For a smarthost that requires AUTH; sent only over TLS with a verified certificate, or to loopback. */
  readonly auth: { readonly user: string; readonly pass: string } | null
  /** An MX of the recipient's domain, or the route for exactly that domain; false: a smarthost. */
  readonly final: boolean
  /** Named by a route, and by no MX record. */
  readonly isRouted?: true
  /** Our address that the session is opened from; absent: the system's choice. */
  readonly source?: string
  /** The name in our EHLO; absent: that of the service. */
  readonly hello?: string
  /** What policies demand of TLS; absent: nothing. */
  readonly security?: HostSecurity
}

export type Destination =
  /** In the order in which they are called. */
  | { readonly kind: 'hosts'; readonly hosts: readonly Host[] }
  /** The domain accepts no mail: null MX, no such domain, neither MX nor address. */
  | {
      readonly kind: 'refused'
      readonly reason: Reason
      readonly status: string
      readonly response: string
      readonly recipientsFault: boolean
    }
  /** The simulator: no host is called (`delivery/simulator`). `host`: the name under which attempts share slots. */
  | { readonly kind: 'scripted'; readonly host: DomainName }
  /** DNS does not answer, a route has no address, or policies rule out all hosts. `status`: an enhanced code. */
  | { readonly kind: 'temporary'; readonly reason: Reason; readonly response: string; readonly status?: string }

/** Names the host, and the address of ours that it is called from: sessions and paces are counted for each of both. */
export function pathOf({ mx, source }: Host): string {
  return source === undefined ? mx : `${mx} from ${source}`
}
