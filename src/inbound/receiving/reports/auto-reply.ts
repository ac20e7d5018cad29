/**
 * Recognizes automatic replies that are not bounces: vacation notes and the like (RFC 3834 section 5), and what
 * programs sent before that standard.
 */
import { decodeHeaderText } from '../../../base/mail/header-text.js'
import type { ReportedHeader } from './report.js'
import { firstValueOf } from './report-fields.js'

const autoReplyFields = [
  'x-autoreply',
  'x-autorespond',
  'x-autoresponder',
  'x-auto-reply',
  'x-auto-response',
  'x-vacation',
  'x-mail-autoreply',
] as const

const autoReplySubject =
  /^\W{0,40}(auto(matic|mated)?[ -]?(re(ply|sponse|ponse)|answer)|auto(re(ply|sponder))?:|out of (the )?(office|facility)|away from|on vacation|vacation\b|absence|abwesenheit|automatische antwort|réponse automatique|r[eé]ponse d.absence|respuesta autom|risposta automatica|resposta autom|自動(返信|応答)|不在|ooo\b|.{0,80}\b(is|am|i.m) (currently )?out of (the )?office|.{0,80}\bvacation (message|reply|notice))/i

const challengers = /@(\w{1,20}\.)?(boxbe|spamarrest|mailinblack|bluebottle|spamlion|sendio|vanquish)\.com\b|\btmda\b/i

/** Phrases that ask the sender to prove something, so that the message is let through. */
const challengeWords: readonly RegExp[] = [
  /\b(your|the|this) (message|e-?mail|mail)\b.{0,160}\b(is being held|has been held|is on hold|is waiting|will (not )?be delivered (until|once|after|when)|will be held)\b/i,
  /\b(confirm|verify|prove)\b.{0,60}\b(you are (a )?(real|human|person|not a)|your (identity|message|e-?mail address))/i,
  /\bto release (your|the|this) (message|e-?mail|mail)\b|\baddress\b.{0,120}\bhas not been verified\b|\bTMDA\b/i,
  /\b(guest|approved|allowed|safe|white) ?(senders?['’]? )?list\b/i,
  /\b(challenge.{0,3}response|one-time (verification|confirmation)|sender (verification|authentication|confirmation))\b/i,
]

/** A mailbox that takes mail of known senders alone asks who this one is. `words` is the report's own text. */
export function isChallenge(header: ReportedHeader, words: string): boolean {
  if (challengers.test(firstValueOf(header, 'from') ?? '')) return true
  const flat = words.slice(0, 4_000).replace(/\s+/g, ' ')
  return challengeWords.filter((pattern) => pattern.test(flat)).length >= 2
}

/** The message is marked as automatic. Bounces of Exim, Gmail and others are marked so too. */
export function isAutomatic(header: ReportedHeader): boolean {
  const submitted = firstValueOf(header, 'auto-submitted')?.toLowerCase() ?? 'no'
  return !submitted.startsWith('no') || isVacation(header)
}

/** An automatic reply, not merely a message that a program wrote (RFC 3834 section 5). */
export function isAutoReply(header: ReportedHeader): boolean {
  const submitted = firstValueOf(header, 'auto-submitted')?.toLowerCase() ?? 'no'
  return submitted.startsWith('auto-replied') || isVacation(header)
}

/** Certainly a vacation note, whatever its text says. */
export function isVacation(header: ReportedHeader): boolean {
  if (autoReplyFields.some((name) => firstValueOf(header, name) !== null)) return true
  if (/vacation/i.test(firstValueOf(header, 'auto-submitted') ?? '')) return true
  if (/auto[_-]?reply|vacation/i.test(firstValueOf(header, 'precedence', 'x-precedence') ?? '')) return true
  return autoReplySubject.test(decodeHeaderText(firstValueOf(header, 'subject') ?? '', 300))
}
