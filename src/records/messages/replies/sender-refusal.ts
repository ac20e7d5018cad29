/**
 * Decides whether a refusal is about who has written the message, and not about the address that it came from. Pure.
 *
 * One sender's domain that a provider limits, blocks or cannot authenticate says nothing about the mail of the others,
 * which comes from the same address. Known limit: English, as the providers reply.
 */
import type { Reason } from '../../../base/mail/reasons.js'
import type { Reply } from '../../../base/mail/reply.js'

/** Google limits mail that fails SPF, DKIM or DMARC. */
const authenticationDetails = /^[45]\.7\.(?:2[67]|3[0-2]|40)$/
const aboutMessage: ReadonlySet<Reason> = new Set(['spam-content', 'content', 'authentication', 'sender-rejected'])
const ofSender = [
  /\b(?:sender|sending|from|spf|dkim|url|your|envelope)(?:'s)? (?:e?mail )?domains?\b/i,
  /\b(?:envelope )?sender (?:e?mail )?address\b/i,
  /\b(?:for|from) (?:this|the) sender\b/i,
  /\bsender (?:rate|message|sending|quota|limit)\b/i,
  /\brate ?limit "(?:sender|user)"/i,
  /\bdbl\.spamhaus\b/i,
]
const ofAddress = /\bips?\b/i

/** Judges a reply to MAIL or later. `text`: cut to a length that may be read. */
export function isAboutSender({ enhanced }: Reply, text: string, reason: Reason): boolean {
  if (authenticationDetails.test(enhanced ?? '') || aboutMessage.has(reason)) return true
  return ofSender.some((form) => form.test(text)) && !ofAddress.test(text)
}
