/**
 * Decides at RCPT which recipients are accepted. All others are refused, so the MX is not an open relay.
 *
 * Mailboxes: any local part of a verified domain whose workspace receives mail there, except the ones that it has
 * blocked. Return paths: `bounce+…` at the mail host of a sending domain, or at the host in the zone that it is a
 * CNAME of (some senders write the name that they looked up). One without a valid token is accepted too, and then
 * concerns no recipient: the sender is often a robot that would otherwise complain to the postmaster. One with a
 * valid token is ours whichever workspace receives mail at that name: a workspace that registers the mail host of
 * another's domain must not get the other's bounces. Rewritten senders of forwarded mail are accepted there too, if their
 * hash is ours and for as long as they are valid. System addresses: those of RFC 2142 and of our own reports,
 * at the service's hostname and zone and at every host of return paths.
 */
import type { KeyObject } from 'node:crypto'
import { type Address, type DomainName, domainOf, localPartOf } from '../../../base/mail/address.js'
import { looksRewritten, senderOfForwarded } from '../../../base/mail/forwarded-sender.js'
import { localPartKey } from '../../../base/mail/mailbox-key.js'
import { recipientOfReturnPath } from '../../../base/mail/recipient-token.js'
import { simulatorDomainOf } from '../../../base/mail/simulator-address.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { InboundPolicy } from '../../../base/storage/tables/domain-tables.js'
import type { ReceivingDomainCache } from '../../../workspaces/domains/receiving-domain-cache.js'
import { defaultInboundPolicy } from '../../../workspaces/domains/rows/inbound-policy.js'
import { domainOfMailHost } from '../../../workspaces/domains/rows/sending-domains.js'
import { mailTargetOf } from '../../../workspaces/domains/verification/dns-records.js'

export type SystemName = 'postmaster' | 'abuse' | 'fbl' | 'dmarc' | 'tlsrpt' | 'unsubscribe'

export type InboundRecipient =
  | { readonly kind: 'mailbox'; readonly workspaceId: string; readonly domain: DomainName }
  /** Null if the token is not one of ours. */
  | { readonly kind: 'return-path'; readonly recipientId: string | null }
  /** The rewritten sender of a forwarded message; a bounce to it goes back to `sender`. */
  | { readonly kind: 'forwarded-sender'; readonly sender: Address }
  /** `detail` is the part after a `+`. Empty if there is none. */
  | { readonly kind: 'system'; readonly name: SystemName; readonly detail: string }
  /**
   * `unknown`: the domain is ours, the address is not. `blocked`: the domain accepts mail to any address except some,
   * and this is one of them. `relay`: the domain is not ours.
   */
  | { readonly kind: 'refused'; readonly why: 'unknown' | 'blocked' | 'relay' }

interface PolicyDeps {
  readonly hostname: DomainName
  readonly zone: DomainName
  /** The key that signs the return paths and rewritten senders. */
  readonly secret: KeyObject
  readonly clock: Clock
  /** Verified domains of all workspaces. */
  readonly domains: Pick<ReceivingDomainCache, 'find'>
}

const systemNames: readonly SystemName[] = ['postmaster', 'abuse', 'fbl', 'dmarc', 'tlsrpt']
const RETURN_PATH = /^bounce\+/i
const UNSUBSCRIBE = /^unsubscribe\+(.+)$/i

export class RecipientPolicy {
  readonly zone: DomainName
  readonly secret: KeyObject

  constructor(private readonly deps: PolicyDeps) {
    this.zone = deps.zone
    this.secret = deps.secret
  }

  async classify(address: Address): Promise<InboundRecipient> {
    const { hostname, zone, secret, clock, domains } = this.deps
    const domain = domainOf(address)
    const localPart = localPartOf(address)
    const isBounceHost = await this.isReturnPathHost(domain)
    const isReturnPath = isBounceHost && RETURN_PATH.test(localPart)
    const recipientId = isReturnPath ? recipientOfReturnPath(secret, localPart) : null
    if (recipientId !== null) return { kind: 'return-path', recipientId }
    const isRewritten = isBounceHost && looksRewritten(localPart)
    const sender = isRewritten ? senderOfForwarded(secret, localPart, clock()) : null
    if (sender !== null) return { kind: 'forwarded-sender', sender }
    const owner = await domains.find(domain)
    if (domain === simulatorDomainOf(zone)) return { kind: 'refused', why: 'unknown' }
    if (owner?.inbound === true) {
      const isBlocked = owner.blocked.size > 0 && owner.blocked.has(localPartKey(address))
      if (isBlocked) return { kind: 'refused', why: 'blocked' }
      return { kind: 'mailbox', workspaceId: owner.workspaceId, domain }
    }
    if (isReturnPath) return { kind: 'return-path', recipientId: null }
    if (isRewritten) return { kind: 'refused', why: 'relay' }
    const isService = domain === hostname || domain === zone
    const system = isService || isBounceHost ? parseSystemAddress(localPart) : null
    if (system !== null) return system
    return { kind: 'refused', why: isService || isBounceHost || owner !== undefined ? 'unknown' : 'relay' }
  }

  /** The settings of a mailbox's domain. Any other recipient has the defaults. */
  async findInboundPolicy(recipient: InboundRecipient): Promise<InboundPolicy> {
    if (recipient.kind !== 'mailbox') return defaultInboundPolicy
    return (await this.deps.domains.find(recipient.domain))?.policy ?? defaultInboundPolicy
  }

  private async isReturnPathHost(host: DomainName): Promise<boolean> {
    if (host === mailTargetOf(this.zone)) return true
    const domain = domainOfMailHost(host)
    return domain !== null && (await this.deps.domains.find(domain)) !== undefined
  }
}

function parseSystemAddress(localPart: string): InboundRecipient | null {
  const name = localPart.toLowerCase()
  const system = systemNames.find((known) => known === name)
  if (system !== undefined) return { kind: 'system', name: system, detail: '' }
  const detail = UNSUBSCRIBE.exec(localPart)?.[1]
  return detail === undefined ? null : { kind: 'system', name: 'unsubscribe', detail }
}
