/** Defines where mail for a domain goes: `DestinationFinder` finds it, `MessageSender` calls its hosts. */
import type { DomainName } from '../../../base/mail/address.js'
import type { Reason } from '../../../base/mail/reasons.js'
import type { HostSecurity } from './host-security.js'

/** One address of one host. */
export interface Host {
  /** The name of the MX host, or the host of the route. */
  readonly mx: string
  /** An IPv4 or IPv6 address. */
  readonly address: string
  readonly port: number
  /** `opportunistic` uses STARTTLS if the host offers it; `implicit` uses TLS from the start, with verification. */
  readonly tls: 'opportunistic' | 'implicit'
  /** The login of a smarthost that requires AUTH. It is sent only over verified TLS, or to loopback. */
  readonly auth: { readonly user: string; readonly pass: string } | null
  /** True for an MX of the recipient's domain, or the route for exactly that domain; false for a smarthost. */
  readonly final: boolean
  /** Set if a route names the host, and no MX record does. */
  readonly isRouted?: true
  /** The address of ours from which the session is opened. Absent if the system chooses. */
  readonly source?: string
  /** The name in our EHLO. Absent if it is that of the service. */
  readonly hello?: string
  /** What policies demand of TLS. Absent if they demand nothing. */
  readonly security?: HostSecurity
}

export type Destination =
  /** The hosts in the order in which they are called. */
  | { readonly kind: 'hosts'; readonly hosts: readonly Host[] }
  /** The domain accepts no mail: it has a null MX, does not exist, or has neither MX nor address. */
  | {
      readonly kind: 'refused'
      readonly reason: Reason
      readonly status: string
      readonly response: string
      readonly recipientsFault: boolean
    }
  /** The simulator plays the attempt (`delivery/simulator`). Attempts share slots under the name `host`. */
  | { readonly kind: 'scripted'; readonly host: DomainName }
  /** DNS does not answer, a route has no address, or policies exclude all hosts. `status` is an enhanced code. */
  | { readonly kind: 'temporary'; readonly reason: Reason; readonly response: string; readonly status?: string }

/** Names the host and our address from which it is called. Sessions and paces are counted for each such pair. */
export function pathOf({ mx, source }: Host): string {
  return source === undefined ? mx : `${mx} from ${source}`
}
