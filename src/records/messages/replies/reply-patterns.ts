/**
 * Decides what the text of a refusal means, by an ordered table: the first match wins.
 *
 * Text beats codes, which are misused far more often: 550 5.7.1 is used for full mailboxes, unknown users and
 * blocklists alike. The order is a safety property: rows that blame us (address, sender, authentication, pace)
 * precede rows that blame the mailbox, because only the latter suppress an address, and a server that blocks us
 * often says "mailbox unavailable" in the same reply. Two groups come before both: codes that a provider has
 * published, and full mailboxes, whose words also occur in replies about pace.
 *
 * Patterns see at most 2 KB of text with mail addresses replaced by `<>`. They contain no nested repetition. Known
 * limit: English, plus a few phrases of the other languages in which large providers reply.
 */
import type { Stage } from '../../../base/mail/reply.js'
import { patternsOfContent } from './reply-patterns/content.js'
import { patternsOfPace } from './reply-patterns/pace.js'
import type { ReplyPattern } from './reply-patterns/pattern.js'
import { providerCodes } from './reply-patterns/provider-codes.js'
import { patternsOfFullMailbox, patternsOfRecipient } from './reply-patterns/recipient.js'
import { patternsOfReputation } from './reply-patterns/reputation.js'
import { patternsOfSender } from './reply-patterns/sender.js'
import { patternsOfServer } from './reply-patterns/server.js'

const replyPatterns: readonly ReplyPattern[] = [
  ...providerCodes,
  ...patternsOfFullMailbox,
  ...patternsOfPace,
  ...patternsOfSender,
  ...patternsOfReputation,
  ...patternsOfRecipient,
  ...patternsOfContent,
  ...patternsOfServer,
]

interface ReplyWords {
  readonly stage: Stage
  readonly code: number
  /** For example `5.1.1`, or null. */
  readonly enhanced: string | null
  readonly text: string
}

/** The first row that matches, or null. */
export function findPattern({ stage, code, enhanced, text }: ReplyWords): ReplyPattern | null {
  const words = normalizeText(text)
  const detail = enhanced?.slice(2) ?? ''
  const found = replyPatterns.find(({ when, texts }) => {
    if (when?.codes !== undefined && !when.codes.includes(code)) return false
    if (when?.stages !== undefined && !when.stages.includes(stage)) return false
    if (when?.status !== undefined && !detail.startsWith(when.status)) return false
    if (when?.statuses !== undefined && !when.statuses.includes(detail)) return false
    return texts.some((pattern) => pattern.test(words))
  })
  return found ?? null
}

/** Addresses contain unrelated words (`no-spam@…`); codes at the beginnings of lines split sentences. */
function normalizeText(text: string): string {
  return text
    .slice(0, 2048)
    .replace(/<?[^\s<>@]{1,320}@[^\s<>@]{1,255}>?/g, '<>')
    .replace(/\b[245]\d\d-(?:[245]\.\d{1,3}\.\d{1,3})?|#[245]\.\d{1,3}\.\d{1,3}/g, ' ')
    .replace(/\s+/g, ' ')
}
