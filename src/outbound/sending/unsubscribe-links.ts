/**
 * Makes the link by which a recipient unsubscribes: its URL for the content, and the header fields for mail programs.
 *
 * Every recipient has a different token. The URL leads to a page that asks for confirmation; the header fields let a
 * mail program unsubscribe by one request (RFC 8058), or by a mail (RFC 2369).
 */
import type { KeyObject } from 'node:crypto'
import { type Address, type DomainName, domainOf } from '../../base/mail/address.js'
import { createUnsubscribeToken, unsubscribeAddressOf } from '../../base/mail/recipient-token.js'
import { mailHostOf } from '../../workspaces/domains/rows/sending-domains.js'
import type { TrackingHost } from '../tracking/tracking-host.js'
import type { CustomField } from './message-content.js'

/** The recipient of a link, and the address from which the email is sent. */
interface LinkOwner {
  readonly recipientId: string
  readonly from: Address
}

export class UnsubscribeLinks {
  constructor(
    private readonly secret: KeyObject,
    private readonly trackingHost: Pick<TrackingHost, 'baseFor'>,
  ) {}

  tokenOf(recipientId: string): string {
    return createUnsubscribeToken(this.secret, recipientId)
  }

  urlOf({ recipientId, from }: LinkOwner): string {
    return buildUnsubscribeUrl(this.trackingHost.baseFor(domainOf(from)), this.tokenOf(recipientId))
  }

  /** Returns the header fields. Empty if the client has set one of them. */
  fieldsOf({ recipientId, from }: LinkOwner, fields: readonly CustomField[]): readonly CustomField[] {
    if (fields.some(({ name }) => /^list-unsubscribe(?:-post)?$/i.test(name))) return []
    const domain = domainOf(from)
    return buildListFields(this.trackingHost.baseFor(domain), this.tokenOf(recipientId), mailHostOf(domain))
  }
}

/** Builds the fields of RFC 2369 and RFC 8058. */
export function buildListFields(base: string, token: string, host: DomainName): readonly CustomField[] {
  const address = unsubscribeAddressOf(token, host)
  return [
    { name: 'List-Unsubscribe', value: `<${buildUnsubscribeUrl(base, token)}>, <mailto:${address}>` },
    { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
  ]
}

/** `base` has no trailing slash. */
export function buildUnsubscribeUrl(base: string, token: string): string {
  return `${base}/v1/unsubscribe/${token}`
}
