/**
 * The link by which a recipient unsubscribes: its URL for the content, and the header fields of mail programs.
 *
 * Every recipient has a token of its own. The URL leads to a page that asks; the header fields let a mail program
 * unsubscribe by one request (RFC 8058), or by a mail (RFC 2369).
 */
import type { KeyObject } from 'node:crypto'
import { type Address, type DomainName, domainOf } from '../../base/mail/address.js'
import { createUnsubscribeToken, unsubscribeAddressOf } from '../../base/mail/recipient-token.js'
import { mailHostOf } from '../../workspaces/domains/rows/sending-domains.js'
import type { CustomField } from './message-content.js'

/** The recipient of a link, and the address that the email is sent from. */
interface LinkOwner {
  readonly recipientId: string
  readonly from: Address
}

export interface UnsubscribeLinks {
  readonly tokenOf: (recipientId: string) => string
  readonly urlOf: (owner: LinkOwner) => string
  /** Empty if the client has set one of them. */
  readonly fieldsOf: (owner: LinkOwner, fields: readonly CustomField[]) => readonly CustomField[]
}

interface UnsubscribeLinkDeps {
  readonly secret: KeyObject
  /** The URL, without a trailing slash, under which links in mail of this domain reach us. */
  readonly baseFor: (domain: DomainName) => string
}

export function createUnsubscribeLinks({ secret, baseFor }: UnsubscribeLinkDeps): UnsubscribeLinks {
  const tokenOf: UnsubscribeLinks['tokenOf'] = (recipientId) => createUnsubscribeToken(secret, recipientId)
  const urlOf: UnsubscribeLinks['urlOf'] = ({ recipientId, from }) =>
    buildUnsubscribeUrl(baseFor(domainOf(from)), tokenOf(recipientId))
  return {
    tokenOf,
    urlOf,
    fieldsOf: (owner, fields) => {
      if (fields.some(({ name }) => /^list-unsubscribe(?:-post)?$/i.test(name))) return []
      const domain = domainOf(owner.from)
      return buildListFields(baseFor(domain), tokenOf(owner.recipientId), mailHostOf(domain))
    },
  }
}

/** RFC 2369, RFC 8058. */
export function buildListFields(base: string, token: string, host: DomainName): readonly CustomField[] {
  const address = unsubscribeAddressOf(token, host)
  return [
    { name: 'List-Unsubscribe', value: `<${buildUnsubscribeUrl(base, token)}>, <mailto:${address}>` },
    { name: 'List-Unsubscribe-Post', value: 'List-Unsubscribe=One-Click' },
  ]
}

/** `base`: without a trailing slash. */
export function buildUnsubscribeUrl(base: string, token: string): string {
  return `${base}/v1/unsubscribe/${token}`
}
