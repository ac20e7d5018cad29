/**
 * Decides what the reply of a server says about our pace. Pure.
 *
 * `sessions`: too many sessions at a time. `messages`: too many messages in this session. `rate`: too many messages in
 * a time. `block`: the address from which we come is refused as a whole. `unnamed`: the session was refused without a
 * reason, which concerns the number of sessions if others are open. Null: the reply says nothing about pace, for
 * example because it is about greylisting, a full mailbox, the content of the message, or its sender (`isAboutSender`).
 *
 * Only replies before the recipient, and temporary ones later, are about us and not about the message. Known limit: it
 * recognizes only English, in which the providers reply.
 */
import type { Reason } from '../../../base/mail/reasons.js'
import type { Reply, Stage } from '../../../base/mail/reply.js'

/** The details of Google, which limits mail that fails SPF, DKIM or DMARC. */
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

export const paceSignals = ['sessions', 'messages', 'rate', 'block', 'unnamed'] as const

export type PaceSignal = (typeof paceSignals)[number]

/** The most characters of a reply that are read. */
const MAX_TEXT = 1_024

const perSession = [
  /\b(too many|max\w{0,6}|limit of|number of) (number of )?(messages?|mails?|e-?mails?|transactions?)( \w{1,20}){0,3} (this|one|per|a|same|each) (\w{1,12} )?(session|connection)\b/i,
  /\b(message|mail|e-?mail|transaction)s? per (session|connection)\b/i,
]
const ofSessions = [
  /\btoo many (\w{1,20} ){0,3}(connection|session)s?\b/i,
  /\bmax(imum)? (number of )?(\w{1,20} ){0,3}(connection|session)s?\b/i,
  /\b(concurrent|simultaneous|parallel) (\w{1,20} ){0,2}(connection|session)s?\b/i,
  /\b(connection|session|concurrency) (count|limit)\b/i,
  /\bexceed\w{0,5} (\w{1,20} ){0,4}(connection|session)s?\b/i,
]
/** The code of Microsoft's consumer mail. */
const sessionCodes = /\bS3115\b/
const ofRate = [
  /\b(rate|frequency|volume|speed)\b/i,
  /\btoo (much|many) (\w{1,20} ){0,2}(mail|message|e-?mail|request)s?\b/i,
  /\b(slow down|throttl\w{1,6}|temporarily deferred|deferred due|rate-?limited|too (fast|quickly))\b/i,
  /\bS775\b|\[TSS?0\d\]/,
]
const rateDetails = /^4\.7\.(28|65[01]|500)$/
/** Matches a reply that names the mailbox or its owner, and so does not concern other recipients. */
const ofRecipient = /\b(recipient|mailbox|the user|this user|over ?quota|receiving (e-?mail|mail|messages))\b/i

const ofBlock =
  /\b(your|sending|client|source) (\w{1,10} )?(address|ip|host|server|network)\b.{0,80}\b(block|list|bann|reputation)/i
const stagesOfSession: ReadonlySet<Stage> = new Set(['banner', 'ehlo', 'starttls'])

/** `reason` is what the text alone says. `classify-reply` passes both on. */
export function readPaceSignal(stage: Stage, reply: Reply, reason: Reason): PaceSignal | null {
  if (reply.code < 400 || stage === 'auth') return null
  const beforeRecipient = stagesOfSession.has(stage) || stage === 'mail'
  if (!beforeRecipient && reply.code >= 500) return null
  const text = reply.text.slice(0, MAX_TEXT)
  if (reason === 'greylisted' || isAboutRecipient(stage, reply, text, reason)) return null
  if (!stagesOfSession.has(stage) && isAboutSender(reply, text, reason)) return null
  const named = nameSignal(reply, text)
  if (named !== null) return named
  if (reason === 'spam-block' || (beforeRecipient && ofBlock.test(text))) return 'block'
  if (reason === 'rate-limited') return 'rate'
  if (!stagesOfSession.has(stage)) return reply.code === 421 && isPolicy(reply) ? 'rate' : null
  if (isPolicy(reply)) return reply.code === 421 ? 'rate' : 'block'
  return reply.code === 421 ? 'unnamed' : null
}

function nameSignal({ code, enhanced }: Reply, text: string): PaceSignal | null {
  if (perSession.some((form) => form.test(text))) return 'messages'
  if (enhanced === '4.7.652' || sessionCodes.test(text) || ofSessions.some((form) => form.test(text))) return 'sessions'
  if (code >= 500) return null
  if (rateDetails.test(enhanced ?? '')) return 'rate'
  return isPolicyOrSystem(enhanced) && ofRate.some((form) => form.test(text)) ? 'rate' : null
}

/** Tells whether the code is about security and policy (RFC 3463: X.7). Servers without enhanced codes have none. */
function isPolicy({ enhanced }: Reply): boolean {
  return enhanced?.startsWith('7.', 2) === true
}

/** Tells whether the code is about something else than addresses and mailboxes (X.1 and X.2). */
function isPolicyOrSystem(enhanced: string | null): boolean {
  return enhanced === null || !/^4\.[12]\./.test(enhanced)
}

const mailboxReasons: ReadonlySet<Reason> = new Set(['bad-mailbox', 'mailbox-disabled', 'mailbox-full', 'null-mx'])

function isAboutRecipient(stage: Stage, { enhanced }: Reply, text: string, reason: Reason): boolean {
  if (stagesOfSession.has(stage)) return false
  if (mailboxReasons.has(reason)) return true
  // Comcast and others say with X.1.0 that we send too fast.
  return (!isPolicyOrSystem(enhanced) && reason !== 'rate-limited') || (stage !== 'mail' && ofRecipient.test(text))
}

/**
 * Decides whether a refusal is about the author of the message, and not about the address from which it came. Pure.
 *
 * If a provider limits, blocks or cannot authenticate one sender's domain, that says nothing about the mail of other
 * senders from the same address. Known limit: it recognizes only English, in which the providers reply.
 *
 * It judges a reply to MAIL or later. `text` is cut to a length that may be read.
 */
function isAboutSender({ enhanced }: Reply, text: string, reason: Reason): boolean {
  if (authenticationDetails.test(enhanced ?? '') || aboutMessage.has(reason)) return true
  return ofSender.some((form) => form.test(text)) && !ofAddress.test(text)
}
