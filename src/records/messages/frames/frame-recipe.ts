/**
 * The recipe by which the values of one message are made from a contact: stored with the frame, so that the messages of
 * a broadcast that goes on for days are all made alike. What reads the contact is `broadcasts/contact-message.ts`.
 */

import type { UrlPart } from '../../../base/mail/url-part.js'

/** A variable of the contact; its fallback stands for a value that the contact lacks, and may be empty. */
export interface FrameVariable {
  readonly name: string
  readonly fallback: string
  /** The part of a URL for which the value is encoded; absent: none. */
  readonly part?: UrlPart
}

/** Text in which variables stand. */
export type FrameText = readonly (string | FrameVariable)[]

export type FrameValue =
  | { readonly kind: 'email-id' }
  /** For the Date field. */
  | { readonly kind: 'date' }
  /** The token of the recipient's unsubscribe link. */
  | { readonly kind: 'unsubscribe-token' }
  /** The To field, complete. */
  | { readonly kind: 'to' }
  /** The Subject field, complete. */
  | { readonly kind: 'subject' }
  | { readonly kind: 'variable'; readonly variable: FrameVariable }
  /** The text of a variable whose value is HTML. */
  | { readonly kind: 'text-of-variable'; readonly variable: FrameVariable }
  /** The href of a link whose URL has variables, decoded. */
  | { readonly kind: 'link'; readonly url: FrameText }

export interface FrameRecipe {
  readonly broadcastId: string
  /** The host name in Message-IDs. */
  readonly hostname: string
  /** The domain of the From address. */
  readonly domain: string
  /** The URL, without a trailing slash, under which links in the message reach us. */
  readonly base: string
  readonly subject: FrameText
  /** In the order of a message's slots. */
  readonly values: readonly FrameValue[]
}
