/**
 * Why the MX listener turns somebody away: a closed list, each with its reply.
 *
 * The reply tells a stranger what to do; the log and the counts tell us which rule it was.
 */
import { Refusal, type RefusalKind } from '../../mail/refusal.js'
import { keysOf } from '../../platform/records.js'
import type { SmtpReply } from '../session/protocol-fault.js'
import type { CommonReason } from '../session/session-gate.js'
import { storageFull } from '../session/smtp-reply.js'

/** What `recipient` may say of an address. */
export type RecipientRefusal = Extract<RefusalKind, 'unknown-recipient' | 'relay-denied' | 'recipient-blocked'>

/** What it may say beside: of this message, or of this moment. It spoils no client's name. */
export type RecipientDelay = 'mailbox-full' | 'no-operator' | 'system-mail-size'

export type MxReason =
  | CommonReason
  /** New connections in a minute. */
  | 'connection-rate'
  /** Messages in a minute. */
  | 'message-rate'
  | 'early-talker'
  /** No memory for one more message. */
  | 'memory'
  /** Too many recipients of a session were refused. */
  | 'harvest'
  /** Block lists know the client. */
  | 'listed'
  | RecipientRefusal
  /** Its workspace holds as much mail as it may. */
  | 'mailbox-full'
  /** Mail to the postmaster, and no workspace is the operator's. */
  | 'no-operator'
  /** Too large for a system address. */
  | 'system-mail-size'

export const mxReplies: Readonly<Record<Exclude<MxReason, RecipientRefusal | CommonReason>, SmtpReply>> = {
  'connection-rate': {
    code: 421,
    status: '4.7.0',
    text: 'Too many new connections from your address, try again later',
  },
  'message-rate': { code: 451, status: '4.7.1', text: 'Too many messages from your address, try again later' },
  'early-talker': { code: 554, status: '5.5.1', text: 'You spoke before you were greeted' },
  memory: { code: 421, status: '4.3.2', text: 'Too many messages are on their way in, try again later' },
  harvest: { code: 421, status: '4.7.0', text: 'Too many recipients were refused' },
  'mailbox-full': { code: 452, status: '4.2.2', text: 'The mailbox has no room now, try again later' },
  'no-operator': { code: 451, status: '4.3.5', text: 'Mail to this address cannot be filed yet, try again later' },
  'system-mail-size': { code: 552, status: '5.3.4', text: 'Mail to this address may have 1 MB' },
  listed: { code: 550, status: '5.7.1', text: 'Your address is on block lists that this server asks' },
}

/** Their codes are those of every refusal (`answer.ts`). */
export const recipientTexts: Readonly<Record<RecipientRefusal, string>> = {
  'unknown-recipient': 'No such recipient here',
  'relay-denied': 'Mail for that domain is not taken here',
  'recipient-blocked': 'This recipient takes no mail',
}

export function isRefusal(verdict: RecipientRefusal | RecipientDelay): verdict is RecipientRefusal {
  return verdict in recipientTexts
}

/** Why a recipient was refused; null: it was something else that went wrong. */
export function recipientReasonOf(error: unknown): RecipientRefusal | null {
  if (!(error instanceof Refusal)) return null
  return keysOf(recipientTexts).find((kind) => kind === error.kind) ?? null
}

/** A full disk is a fault of ours like any other: 451. */
export function toMxReply(reply: SmtpReply): SmtpReply {
  return reply.status === storageFull.status ? { ...reply, code: 451 } : reply
}

/** Milliseconds before the `refused`th recipient of a session is refused: none for the first, then more and more. */
export function tarpitDelay(refused: number, maxDelay: number, maxRefused: number): number {
  return Math.round((maxDelay * Math.min(refused - 1, maxRefused)) / maxRefused)
}
