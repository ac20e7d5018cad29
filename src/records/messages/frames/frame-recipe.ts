/**
 * The recipe by which the values of one message are made from a contact. It is stored with the frame, so that all
 * messages of a broadcast are made alike, even if it takes days. `broadcasts/contact-message.ts` reads the contact.
 */

import type { UrlPart } from '../../../base/mail/url-part.js'

/** A variable of the contact. Its fallback replaces a value that the contact lacks, and may be empty. */
export interface FrameVariable {
  readonly name: string
  readonly fallback: string
  /** The part of a URL for which the value is encoded. Absent if the variable is not in a URL. */
  readonly part?: UrlPart
}

/** Text that may contain variables. */
export type FrameText = readonly (string | FrameVariable)[]

export type FrameValue =
  | { readonly kind: 'email-id' }
  /** The value of the Date field. */
  | { readonly kind: 'date' }
  /** The token of the recipient's unsubscribe link. */
  | { readonly kind: 'unsubscribe-token' }
  /** The complete To field. */
  | { readonly kind: 'to' }
  /** The complete Subject field. */
  | { readonly kind: 'subject' }
  | { readonly kind: 'variable'; readonly variable: FrameVariable }
  /** The text of a variable whose value is HTML. */
  | { readonly kind: 'text-of-variable'; readonly variable: FrameVariable }
  /** The decoded href of a link whose URL has variables. */
  | { readonly kind: 'link'; readonly url: FrameText }

export interface FrameRecipe {
  readonly broadcastId: string
  /** The host name in Message-IDs. */
  readonly hostname: string
  /** The domain of the From address. */
  readonly domain: string
  /** The URL, without a trailing slash, under which links in the message reach this server. */
  readonly base: string
  readonly subject: FrameText
  /** The values in the order of a message's slots. */
  readonly values: readonly FrameValue[]
}
