/**
 * Makes the subject and bodies of an email, from a template or from what the client wrote, with the link that
 * unsubscribes the first recipient. The other recipients get copies with other links (`token-places.ts`).
 */

import type { Address } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import {
  type ParsedTemplate,
  renderSmallTemplate,
  type TemplateData,
} from '../../workspaces/content/render-template.js'
import { insertUnsubscribeUrl, UNSUBSCRIBE_URL } from '../../workspaces/content/template-text.js'
import { checkSize } from './composed-size.js'
import type { MessageContent, RequestedContent } from './message-content.js'
import type { UnsubscribeLinks } from './unsubscribe-links.js'

type Bodies = Pick<MessageContent, 'html' | 'text'>

/** The recipient whose link the content may have. */
interface FirstRecipient {
  readonly from: Address
  readonly recipientId: string
}

export interface TemplateToRender {
  readonly template: ParsedTemplate
  readonly data: TemplateData
  readonly unsubscribeUrl: string
  /** Says whether the bodies come as they are, or as JSON texts. */
  readonly form: 'text' | 'json'
}

export interface RenderedBodies<Bytes> {
  readonly subject: string
  /** The bytes in UTF-8. */
  readonly html: Bytes | null
  readonly text: Bytes | null
}

/** `ComposeThread`, which imports the types of this file. */
interface TemplateRenderer {
  render(workspaceId: string, job: TemplateToRender): Promise<RenderedBodies<Buffer>>
}

export interface TemplateUse extends FirstRecipient {
  /** The workspace that sends the email. */
  readonly workspaceId: string
  readonly template: ParsedTemplate
  readonly data: TemplateData
}

interface Linked {
  /** True if the bodies have the link of the first recipient. */
  readonly hasUnsubscribeLink: boolean
}

export type FilledContent = Pick<RequestedContent, 'subject' | 'html' | 'text'> & Linked

export class ContentFiller {
  constructor(
    private readonly unsubscribing: UnsubscribeLinks,
    private readonly composing: TemplateRenderer,
  ) {}

  /**
   * Rejects with a Refusal for missing or unsuitable values, too many links, a template without a body, and with
   * `unavailable` if too many messages of the owner wait.
   */
  async fillTemplate(use: TemplateUse): Promise<FilledContent> {
    const { workspaceId, template, data, from, recipientId } = use
    const { id, html, text } = template
    if (html === null && text === null) {
      const details = { field: 'template_id', value: id }
      throw new Refusal('invalid-parameter', 'template_id: the template has neither html nor text', details)
    }
    const uses = [html, text].flatMap((part) => (part === null ? [] : [...part.uses]))
    const links = uses.reduce((sum, [{ name }, times]) => sum + (name === UNSUBSCRIBE_URL ? times : 0), 0)
    checkLinks(links, 'template_id')
    const unsubscribeUrl = this.unsubscribing.urlOf({ recipientId, from })
    const rendered =
      renderSmallTemplate(template, data, unsubscribeUrl) ??
      (await this.composing.render(workspaceId, { template, data, unsubscribeUrl, form: 'text' }))
    return { ...rendered, hasUnsubscribeLink: links > 0 }
  }
}

/** Tells whether a body may have the link. Long bodies are not searched. */
export function mayHaveUnsubscribeUrl({ html, text }: Pick<RequestedContent, 'html' | 'text'>): boolean {
  return [html, text].some((body) => Buffer.isBuffer(body) || body?.includes(UNSUBSCRIBE_URL) === true)
}

/** Replaces `{{unsubscribe_url}}` and no other variable. Throws a Refusal for too many of them, or too many bytes. */
export function insertUnsubscribeUrls({ html, text }: Bodies, url: string): Bodies & Linked {
  const filled = { html: fillBody(html, url, 'html'), text: fillBody(text, url, 'text') }
  return { ...filled, hasUnsubscribeLink: filled.html !== html || filled.text !== text }
}

function fillBody(body: string | null, url: string, form: 'html' | 'text'): string | null {
  if (body === null) return null
  let links = 0
  return insertUnsubscribeUrl(body, url, form, (size) => {
    checkLinks(++links, form)
    checkSize(size)
  })
}

/** The most links in the bodies, because each is written again for each recipient. */
const MAX_LINKS = 1_000

function checkLinks(links: number, field: string): void {
  if (links <= MAX_LINKS) return
  const message = `${field}: the variable ${UNSUBSCRIBE_URL} stands there more than ${MAX_LINKS} times`
  throw new Refusal('invalid-parameter', message, { field, value: UNSUBSCRIBE_URL, limit: MAX_LINKS })
}
