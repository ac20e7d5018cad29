/**
 * Subject and bodies of an email, from a template or as the client wrote them, with the link that unsubscribes the
 * first recipient. The other recipients get copies with their own links (`token-places.ts`).
 */
import { type ParsedTemplate, renderTemplate, type TemplateData } from '../content/render-template.js'
import { insertUnsubscribeUrl, UNSUBSCRIBE_URL } from '../content/template-text.js'
import type { Address } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'
import { checkSize } from './compose-email.js'
import type { MessageContent } from './message-content.js'
import type { UnsubscribeLinks } from './unsubscribe-links.js'

type Bodies = Pick<MessageContent, 'html' | 'text'>

/** Whose link the content may have. */
interface FirstRecipient {
  readonly from: Address
  readonly recipientId: string
}

interface TemplateUse extends FirstRecipient {
  readonly template: ParsedTemplate
  readonly data: TemplateData
}

interface Linked {
  /** The bodies have the link of the first recipient. */
  readonly hasUnsubscribeLink: boolean
}

export interface ContentFiller {
  /** Throws a Refusal for missing or unsuitable values, and for a template without a body. */
  readonly fillTemplate: (use: TemplateUse) => Pick<MessageContent, 'subject' | 'html' | 'text'> & Linked
  /** Replaces `{{unsubscribe_url}}` and no other variable. Throws a Refusal `too-large`. */
  readonly fillBodies: (bodies: Bodies, first: FirstRecipient) => Bodies & Linked
}

export function createContentFiller({ urlOf }: Pick<UnsubscribeLinks, 'urlOf'>): ContentFiller {
  return {
    fillTemplate: ({ template, data, from, recipientId }) => {
      const { id, html, text } = template
      if (html === null && text === null) {
        const details = { field: 'template_id', value: id }
        throw new Refusal('invalid-parameter', 'template_id: the template has neither html nor text', details)
      }
      const variables = [html, text].flatMap((part) => (part === null ? [] : [...part.uses.keys()]))
      const hasUnsubscribeLink = variables.some(({ name }) => name === UNSUBSCRIBE_URL)
      return { ...renderTemplate(template, data, urlOf({ recipientId, from })), hasUnsubscribeLink }
    },
    fillBodies: ({ html, text }, first) => {
      const url = urlOf(first)
      const filled = { html: fillBody(html, url, 'html'), text: fillBody(text, url, 'text') }
      return { ...filled, hasUnsubscribeLink: filled.html !== html || filled.text !== text }
    },
  }
}

function fillBody(body: string | null, url: string, form: 'html' | 'text'): string | null {
  return body === null ? null : insertUnsubscribeUrl(body, url, form, checkSize)
}
