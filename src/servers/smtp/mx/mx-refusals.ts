/**
 * The reasons for which the MX listener turns a client away, each with its reply.
 *
 * The reply says what the client can do; the log and the counts say which rule applied.
 */
import { Refusal, type RefusalKind } from '../../../base/mail/refusal.js'
import { keysOf } from '../../../base/platform/records.js'
import type { CommonReason } from '../session/session-gate.js'
import { type SmtpReply, storageFull } from '../session/smtp-reply.js'

/** `RecipientChecker` refuses them. They count as signs of address harvesting. */
type RecipientRefusal = Extract<RefusalKind, 'unknown-recipient' | 'relay-denied' | 'recipient-blocked'>

/** `RecipientChecker` refuses them for this message, or for now. They are not the client's fault. */
type RecipientDelay = 'mailbox-full' | 'no-operator' | 'system-mail-size'

export type MxReason =
  | CommonReason
  /** Too many new connections in a minute. */
  | 'connection-rate'
  /** Too many messages in a minute. */
  | 'message-rate'
  /** Too many bytes of messages in a minute. */
  | 'byte-rate'
  | 'early-talker'
  /** There is no memory for another message. */
  | 'memory'
  /** Too many refused recipients in a session. */
  | 'harvest'
  /** The client is on block lists. */
  | 'listed'
  /** The recipient has to wait: the reply says how long. */
  | 'greylisted'
  | RecipientRefusal
  /** The workspace stores as much mail as it may. */
  | 'mailbox-full'
  /** Mail to the postmaster, and there is no operator workspace. */
  | 'no-operator'
  /** Too large for a system address. */
  | 'system-mail-size'

export const mxReplies: Readonly<Record<Exclude<MxReason, RecipientRefusal | CommonReason | 'greylisted'>, SmtpReply>> =
  {
    'connection-rate': {
      code: 421,
      status: '4.7.0',
      text: 'Too many new connections from your address, try again later',
    },
    'message-rate': { code: 451, status: '4.7.1', text: 'Too many messages from your address, try again later' },
    'byte-rate': {
      code: 452,
      status: '4.7.1',
      text: 'Too many bytes of mail from your network in a minute, try again in a few minutes',
    },
    'early-talker': { code: 554, status: '5.5.1', text: 'You spoke before you were greeted' },
    memory: { code: 421, status: '4.3.2', text: 'Too many messages are being received, try again later' },
    harvest: { code: 421, status: '4.7.0', text: 'Too many recipients were refused' },
    'mailbox-full': { code: 452, status: '4.2.2', text: 'The mailbox has no room now, try again later' },
    'no-operator': { code: 451, status: '4.3.5', text: 'Mail to this address cannot be filed yet, try again later' },
    'system-mail-size': { code: 552, status: '5.3.4', text: 'The message is too large for this address' },
    listed: { code: 550, status: '5.7.1', text: 'Your address is on block lists that this server uses' },
  }

/** Their codes are in `session/smtp-reply.ts`. */
export const recipientTexts: Readonly<Record<RecipientRefusal, string>> = {
  'unknown-recipient': 'No such recipient here',
  'relay-denied': 'Mail for that domain is not accepted here',
  'recipient-blocked': 'This recipient accepts no mail',
}

export function isRefusal(verdict: RecipientRefusal | RecipientDelay): verdict is RecipientRefusal {
  return verdict in recipientTexts
}

/** Null if the error is no refusal of a recipient. */
export function recipientReasonOf(error: unknown): RecipientRefusal | null {
  if (!(error instanceof Refusal)) return null
  return keysOf(recipientTexts).find((kind) => kind === error.kind) ?? null
}

/** A full disk is a fault of ours like any other: 451. */
export function toMxReply(reply: SmtpReply): SmtpReply {
  return reply.status === storageFull.status ? { ...reply, code: 451 } : reply
}

/** Milliseconds before the reply to the `refused`th refused recipient of a session: 0 for the first, then linear up to `maxDelay`. */
export function tarpitDelay(refused: number, maxDelay: number, maxRefused: number): number {
  return Math.round((maxDelay * Math.min(refused - 1, maxRefused)) / maxRefused)
}
