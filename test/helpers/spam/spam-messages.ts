/** Input of the spam rules and the classifier. */
import { tokenizeMessage } from '../../../src/inbound/spam/bayes/tokens.js'
import type { SpamMessage } from '../../../src/inbound/spam/facts/spam-message.js'

export const emptyMessage: SpamMessage = {
  fields: [],
  subject: '',
  from: [],
  replyTo: [],
  to: [],
  text: null,
  html: null,
  attachments: [],
  size: 0,
  receivedAt: 0,
  origin: null,
  authentication: null,
  parts: [],
  pages: [],
  isAmbiguous: false,
}

/** A message of which only the text matters. */
export const messageWithText = (text: string): SpamMessage => ({ ...emptyMessage, text })

/** What the classifier learns of a message. */
export const learnableOf = (message: SpamMessage): { readonly tokens: readonly string[]; readonly dated: number } => ({
  tokens: tokenizeMessage(message),
  dated: message.receivedAt,
})
