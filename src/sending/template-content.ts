/**
 * What a template becomes in one email: its subject and bodies, with the link that
 * unsubscribes its recipient.
 *
 * The link is a `mailto:` to the address that was made for that recipient: mail there
 * suppresses it.
 *
 * Limit: a message has the same bytes for all of its recipients, so the link is that of the
 * first, whoever follows it.
 */
import type { KeyObject } from 'node:crypto'
import { type ParsedTemplate, renderTemplate, type TemplateData } from '../content/render-template.js'
import { mailHostOf } from '../domains/sending-domains.js'
import { type Address, domainOf } from '../mail/address.js'
import { createUnsubscribeAddress } from '../mail/recipient-token.js'
import { Refusal } from '../mail/refusal.js'
import type { MessageContent } from './message-content.js'

export interface TemplateUse {
  readonly template: ParsedTemplate
  readonly data: TemplateData
  readonly from: Address
  /** Of the first. */
  readonly recipientId: string
}

/** Throws a Refusal for values that are missing or will not do, and for a template without a body. */
export type RenderContent = (use: TemplateUse) => Pick<MessageContent, 'subject' | 'html' | 'text'>

/** `secret`: of the unsubscribe addresses. */
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

/** RFC 6068. Nothing behind the address: a text that is made of the HTML shows all of it. */
export function buildUnsubscribeUrl(address: string): string {
  return `mailto:${address}`
}
