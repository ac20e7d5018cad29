/**
 * Subject and bodies of an email from a template, with the link that unsubscribes its recipient.
 *
 * The link is a `mailto:` to an address made for that recipient; mail to it suppresses the recipient.
 *
 * Limit: all recipients of a message get the same bytes, so the link unsubscribes the first one, whichever recipient
 * follows it.
 */
import type { KeyObject } from 'node:crypto'
import { type ParsedTemplate, renderTemplate, type TemplateData } from '../content/render-template.js'
import { mailHostOf } from '../domains/sending-domains.js'
import { type Address, domainOf } from '../mail/address.js'
import { createUnsubscribeAddress } from '../mail/recipient-token.js'
import { Refusal } from '../mail/refusal.js'
import type { MessageContent } from './message-content.js'

interface TemplateUse {
  readonly template: ParsedTemplate
  readonly data: TemplateData
  readonly from: Address
  /** The id of the first recipient. */
  readonly recipientId: string
}

/** Throws a Refusal for missing or unsuitable values, and for a template without a body. */
export type RenderContent = (use: TemplateUse) => Pick<MessageContent, 'subject' | 'html' | 'text'>

/** `secret`: signs the unsubscribe addresses. */
export function renderContent(secret: KeyObject): RenderContent {
  return ({ template, data, from, recipientId }) => {
    if (template.html === null && template.text === null) {
      const details = { field: 'template_id', value: template.id }
      throw new Refusal('invalid-parameter', 'template_id: the template has neither html nor text', details)
    }
    return renderTemplate(
      template,
      data,
      buildUnsubscribeUrl(createUnsubscribeAddress(secret, recipientId, mailHostOf(domainOf(from)))),
    )
  }
}

/** RFC 6068. The address only, without a subject: text that is made from the HTML shows the complete URL. */
export function buildUnsubscribeUrl(address: string): string {
  return `mailto:${address}`
}
