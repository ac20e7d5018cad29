/**
 * Reads bounces in prose: which recipients, and what the server said.
 *
 * A message is taken for a bounce if its own text contains a phrase of a family (`prose-patterns`), or if a mail
 * system sends it with the subject of a bounce. Its own text ends where the returned message begins; 16 KB of it
 * are read.
 */
import type { Address } from '../../../base/mail/address.js'
import type { Reason } from '../../../base/mail/reasons.js'
import { isConditional } from '../../../records/messages/replies/conditional-replies.js'
import {
  type BounceFamily,
  bounceFamilies,
  bounceSubject,
  daemonSender,
  delaySubject,
  proseReasons,
  returnedMessageMarks,
} from './prose-patterns.js'
import { findRecipients, type ProseReport } from './prose-recipients.js'
import { findReply, interpretBounce, toDiagnostic } from './read-reply.js'
import { namesOnlyOthers } from './recipient-sections.js'
import type { Bounce, BounceKind } from './report.js'
import { isSameReportedAddress } from './report-addresses.js'
import { confirmsSuccess, reportsSuccess } from './report-subject.js'

const MAX_WORDS = 16_384
const MAX_REPLY_LINES = 6
/** A line that does not continue a reply: a field, a mark, another recipient, or another reply. */
const replyEndPattern =
  /^[\w-]{1,40}:|^--|^\W{0,8}[^\s@<>]{1,64}@[^\s@<>:]{1,255}[>:]|^[<>]{3}|^\s{0,20}[45]\d\d[ -].{0,40}@/

/** The text up to the returned message, and what follows. */
export function splitReturnedMessage(text: string): { readonly words: string; readonly returned: string } {
  const lines = text.slice(0, MAX_WORDS * 4).split(/\r?\n/)
  // Field names at the very beginning are no returned message, since some reports begin with them.
  const at = lines.findIndex(
    (line, index) => index > 0 && returnedMessageMarks.some((mark) => mark.test(line.slice(0, 200))),
  )
  if (at === -1) return { words: text.slice(0, MAX_WORDS), returned: '' }
  const rest = lines.slice(at)
  const header = rest.findIndex((line) => /^[\w-]{1,60}: ?\S/.test(line))
  return {
    words: lines.slice(0, at).join('\n').slice(0, MAX_WORDS),
    returned: header === -1 ? '' : rest.slice(header).join('\n'),
  }
}

/** The bounces of a report in prose, or null if it is none. */
export function readProseBounces(report: ProseReport): readonly Bounce[] | null {
  const flat = report.words.replace(/\s+/g, ' ')
  const family = bounceFamilies.find(({ opens }) => opens.some((open) => open.test(flat)))
  const daemon = daemonSender.test(report.from)
  const spoken = daemon || report.failed.length > 0 || bounceSubject.test(report.subject)
  if (family === undefined ? !isUnknownBounce(report, daemon) : family.loose === true && !spoken) return null
  const lines = report.words.split('\n')
  const success = successOf(report, lines, family)
  if (success === 'doubtful' && family === undefined) return null
  const recipients = findRecipients(lines, report)
  const kind = success === 'certain' ? 'delivered' : kindOf(family, report.subject, flat)
  if (recipients.length === 0) return [buildBounce(null, null, findReplyLines(lines)[0] ?? flat, flat, family, kind)]
  return recipients.map(({ recipient, original, section }) => {
    const alone = recipients.length === 1
    const diagnostic = alone ? diagnosticOf(recipient, section, lines, flat) : sectionDiagnosticOf(recipient, section)
    return buildBounce(recipient, original, diagnostic, alone ? flat : section.join(' '), family, kind)
  })
}

/** No phrase is known: it is a mail system's bounce by its subject, or by the reply in it. */
function isUnknownBounce({ subject, words, failed }: ProseReport, daemon: boolean): boolean {
  if (failed.length > 0) return true
  return daemon && (bounceSubject.test(subject) || findReplyLines(words.split('\n')).length > 0)
}

/** A report of success says so in its text too, and has no phrase that only failures have. */
function successOf(
  { subject, failed, words }: ProseReport,
  lines: readonly string[],
  family?: BounceFamily,
): 'certain' | 'doubtful' | 'none' {
  if (failed.length > 0 || !reportsSuccess(subject) || findReplyLines(lines).length > 0) return 'none'
  if (family?.kind !== undefined || findReason('', words) !== null) return 'none'
  const text = confirmsSuccess(words.replace(/\s+/g, ' '))
  if (text === 'denies') return 'none'
  return text === 'yes' ? 'certain' : 'doubtful'
}

/** A warning that names a permanent error is no warning. */
function kindOf(family: BounceFamily | undefined, subject: string, flat: string): BounceFamily['kind'] {
  const isWarning = family?.kind === 'delayed' || (family === undefined && delaySubject.test(subject))
  if (!isWarning) return family?.kind
  return /\b(permanent (error|failure)|giving up|given up|permanently failed)\b/i.test(flat) ? undefined : 'delayed'
}

function buildBounce(
  recipient: Address | null,
  original: Address | null,
  diagnostic: string,
  words: string,
  family: BounceFamily | undefined,
  kind: BounceKind | undefined,
): Bounce {
  const stated = { kind: null, status: null, diagnostic, prose: words.slice(0, 1_500) }
  const first = interpretBounce({ ...stated, kind: kind ?? null })
  const reason =
    first.reason === 'unclassified' ? (findReason(diagnostic, words) ?? family?.reason ?? 'unclassified') : first.reason
  const passing =
    kind === undefined &&
    findReply(first.diagnostic) === null &&
    first.status === null &&
    transientReasons.has(reason ?? 'expired')
  const permanent = first.kind === 'permanent' && !passing
  return {
    ...first,
    recipient,
    original,
    reason,
    kind: passing ? 'temporary' : first.kind,
    recipientsFault:
      permanent &&
      (first.recipientsFault || reason === 'bad-mailbox' || reason === 'mailbox-disabled') &&
      !isConditional(first.diagnostic) &&
      !namesOnlyOthers(first.diagnostic, [recipient, original]),
  }
}

/** If there is no code, expiry or a routing fault says nothing about the recipient. */
const transientReasons: ReadonlySet<Reason> = new Set([
  'expired',
  'timeout',
  'unreachable',
  'connection-refused',
  'connection-lost',
  'dns',
])

function findReason(diagnostic: string, words: string): Reason | null {
  for (const text of [diagnostic, words]) {
    const row = proseReasons.find(({ texts }) => texts.some((pattern) => pattern.test(text)))
    if (row !== undefined) return row.reason
  }
  return null
}

/** The reply that names the recipient, else the first one next to it, else the first of all, else the text. */
function diagnosticOf(recipient: Address, section: readonly string[], lines: readonly string[], flat: string): string {
  const all = findReplyLines(lines)
  const bare = recipient.toLowerCase()
  const named = all.find((line) => line.toLowerCase().includes(bare))
  const beside = section.join(' ').replace(/\s+/g, ' ').trim()
  const rest = isSameReportedAddress(recipient, beside) ? '' : beside
  return findReplyLines(section)[0] ?? named ?? all[0] ?? (rest.length > bare.length + 8 ? rest : toDiagnostic(flat))
}

/** The diagnostic of one of several recipients. Text elsewhere does not count, since it may concern another. */
function sectionDiagnosticOf(recipient: Address, section: readonly string[]): string {
  const beside = section.join(' ').replace(/\s+/g, ' ').trim()
  return findReplyLines(section)[0] ?? (beside.length > recipient.length + 8 ? beside : '')
}

/** Quoted refusals, each with its continuation lines. */
function findReplyLines(lines: readonly string[]): readonly string[] {
  const matches: string[] = []
  for (const [index, line] of lines.entries()) {
    if (!isRefusalLine(line)) continue
    const more = lines.slice(index + 1, index + MAX_REPLY_LINES)
    const end = more.findIndex((next) => next.trim() === '' || replyEndPattern.test(next))
    matches.push(toDiagnostic([line, ...more.slice(0, end === -1 ? more.length : end)].join(' ')))
    if (matches.length === 50) break
  }
  return matches
}

function isRefusalLine(line: string): boolean {
  if (
    line.length > 2_000 ||
    /^\s{0,40}(date|sent|message-id|subject|x-[\w-]{1,40}) ?:/i.test(line) ||
    /^\s{0,40}>>> /.test(line)
  )
    return false
  const reply = findReply(line)
  return reply !== null && reply.code >= 400 && (reply.enhanced !== null || reply.text.length > 3)
}
