/**
 * Makes the values that fill the slots of a broadcast's frame for one contact.
 *
 * Names and metadata are untrusted, because people enter them in forms. A value has at most `MAX_VALUE` characters, and
 * the values of one message have at most `MAX_VALUES`, so that no message blocks the main thread. In a header, line
 * ends and control characters are removed from a value; in a part of a URL, the value is percent-encoded; the slot
 * encodes it for its place. A value that is absent, null, empty, or neither text nor number nor boolean becomes the
 * variable's default, or empty.
 */
import type { KeyObject } from 'node:crypto'
import { type Address, needsUtf8 } from '../../base/mail/address.js'
import { createClickToken } from '../../base/mail/click-token.js'
import { formatMessageDate } from '../../base/mail/message-date.js'
import { createMessageId } from '../../base/mail/message-id.js'
import { MAX_NAME_LENGTH } from '../../base/mail/named-address.js'
import { createUnsubscribeToken } from '../../base/mail/recipient-token.js'
import { encodeForUrl } from '../../base/mail/url-part.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import type { FrameRecipe, FrameText, FrameValue, FrameVariable } from '../../records/messages/frames/frame-recipe.js'
import { type MessageFrame, sizeOfFramed } from '../../records/messages/frames/message-frame.js'
import { textOfHtml } from '../../records/messages/mime/text-of-html.js'
import type { Contact } from '../../workspaces/audiences/contacts.js'
import { findValueText, MAX_SUBJECT, type TemplateData } from '../../workspaces/content/render-template.js'
import { mailHostOf } from '../../workspaces/domains/rows/sending-domains.js'
import { composeMailboxes, composeSubject } from '../sending/compose-header.js'
import { buildBroadcastClickUrl } from '../tracking/broadcast-urls.js'
import { createOwnUrls, linkUrlOf } from '../tracking/link-url.js'
import { MAX_CLICK_URL } from './track-broadcast.js'

export type BroadcastContact = Pick<Contact, 'first_name' | 'last_name' | 'metadata'> & { readonly email: Address }

interface MessageIds {
  /** The id consists of `bc-` and a UUIDv7. */
  readonly emailId: string
  readonly recipientId: string
  /** Epoch milliseconds of the Date field. */
  readonly now: number
}

export interface ContactMessage {
  /** The values of `broadcast_messages.slots`. */
  readonly slots: readonly string[]
  /** Bytes of the message. */
  readonly size: number
  readonly messageId: string
  readonly subject: string
  /** The name in the To field. Empty if there is none. */
  readonly toName: string
  readonly smtputf8: boolean
}

/** The most characters of one value, and of all values of one message. Longer values are cut. */
const MAX_VALUE = 2_000
const MAX_VALUES = 40_000

type ReadVariable = (variable: FrameVariable) => string

interface Message {
  readonly ids: MessageIds
  readonly recipe: FrameRecipe
  readonly reader: ReadVariable
  readonly subject: string
  readonly to: { readonly address: Address; readonly name: string }
}

export class ContactMessages {
  /** `secret` is the key of unsubscribe links and of links with variables. `publicUrl` is `service.public_url`. */
  constructor(
    private readonly secret: KeyObject,
    private readonly publicUrl: string,
  ) {}

  build(frame: MessageFrame, contact: BroadcastContact, ids: MessageIds): ContactMessage {
    const { recipe } = frame
    const reader = createReader(contact)
    const toName = joinName(contact)
    const subject = truncate(toLine(renderText(recipe.subject, reader)), MAX_SUBJECT)
    const message: Message = { ids, recipe, reader, subject, to: { address: contact.email, name: toName } }
    const slots = recipe.values.map((value) => this.fillValue(message, value))
    const messageId = createMessageId(ids.emailId, recipe.hostname)
    const smtputf8 = frame.smtputf8 || needsUtf8(contact.email)
    return { slots, size: sizeOfFramed(frame, slots), messageId, subject, toName, smtputf8 }
  }

  private fillValue({ ids, recipe, reader, subject, to }: Message, value: FrameValue): string {
    switch (value.kind) {
      case 'email-id':
        return ids.emailId
      case 'date':
        return formatMessageDate(ids.now)
      case 'unsubscribe-token':
        return createUnsubscribeToken(this.secret, ids.recipientId)
      case 'to':
        return composeMailboxes('To', [to])
      case 'subject':
        return composeSubject(subject)
      case 'variable':
        return reader(value.variable)
      case 'text-of-variable':
        return textOfHtml(reader(value.variable))
      case 'link':
        return this.trackUrl(recipe, ids.emailId, renderText(value.url, reader))
    }
  }

  /** Returns the tracked href of a link, or the same href if its clicks are not tracked. */
  private trackUrl({ base, broadcastId, domain }: FrameRecipe, emailId: string, href: string): string {
    const url = linkUrlOf(href, createOwnUrls(this.publicUrl)(mailHostOf(domain)))
    if (url === null) return href
    const token = createClickToken(this.secret, emailId, url)
    const tracked = buildBroadcastClickUrl({ base, emailId, broadcastId }, url, token)
    return tracked.length > MAX_CLICK_URL ? href : tracked
  }
}

function renderText(text: FrameText, reader: ReadVariable): string {
  return text.map((piece) => (typeof piece === 'string' ? piece : reader(piece))).join('')
}

/** The reader parses the metadata only if a variable needs it. */
function createReader({ email, first_name, last_name, metadata }: BroadcastContact): ReadVariable {
  const data: TemplateData = {
    email,
    first_name,
    last_name,
    get metadata() {
      parsed ??= parseJson(metadata)
      return parsed
    },
  }
  let parsed: TemplateData | undefined
  let left = MAX_VALUES
  return ({ name, fallback, part }) => {
    const text = truncate(findValueText(data, name.split('.')) || fallback, Math.min(MAX_VALUE, left))
    left -= text.length
    return part === undefined ? text : encodeForUrl(text, part)
  }
}

function joinName({ first_name, last_name }: BroadcastContact): string {
  const name = [first_name, last_name].filter((part) => part !== null).join(' ')
  return truncate(toLine(name).replace(/\s+/g, ' ').trim(), MAX_NAME_LENGTH)
}

/** Makes text fit for a header field: removes line ends, other control characters and lone surrogates. */
function toLine(text: string): string {
  return text.replace(/[\r\n]+/g, '').replace(/\p{Cc}|\p{Cs}/gu, ' ')
}

/** Cuts text, but never within a surrogate pair. */
function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const last = text.charCodeAt(maxLength - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? maxLength - 1 : maxLength)
}
