/**
 * The suppression files of other providers: their columns, and the parsing of their lines. Pure.
 *
 * A provider is recognized by its column names: Postmark (EmailAddress, SuppressionReason, Origin, CreatedAt), SendGrid
 * (email, created, and for bounces status and reason), Mailgun (address with code and error, or with tags, created_at),
 * Amazon SES (EmailAddress, Reason, LastUpdateTime, or no names: address, BOUNCE or COMPLAINT). Any other file is a
 * list with a column for the address and optionally one for the reason, like the files of this server.
 *
 * The request gives the reason for lines without one, because files of SendGrid and Mailgun do not name their list. A
 * temporary failure is never a reason.
 */
import { type Address, explainAddress, formatForDisplay, tryParseForeignAddress } from '../../base/mail/address.js'
import { unescapeFormula } from '../../base/platform/csv/cells.js'
import { REPLACEMENT_CHARACTER, UNREADABLE } from '../../base/platform/csv/encoding.js'
import type { RefusedLine } from '../../base/platform/csv/refused-lines.js'
import type { CsvRow } from '../../base/platform/csv/rows.js'
import type { SuppressionProvider, SuppressionReason } from '../../base/storage/tables/content-tables.js'

export interface ProviderColumns {
  readonly provider: SuppressionProvider
  /** False if the first line is already data. */
  readonly hasHeader: boolean
  /** The index of each known column. */
  readonly indexes: Readonly<Partial<Record<Field, number>>>
}

type Field = 'email' | 'reason' | 'origin' | 'status' | 'text' | 'tags' | 'moment'

export interface ProviderLine {
  readonly email: Address
  /** Null if the line has no reason. */
  readonly reason: SuppressionReason | null
  /** The reply of a server. */
  readonly diagnostic: string | null
  /** The time as it is written in the file. */
  readonly moment: string | null
}

const fieldsByProvider: Readonly<Record<SuppressionProvider, Readonly<Record<string, Field>>>> = {
  postmark: { emailaddress: 'email', suppressionreason: 'reason', origin: 'origin', createdat: 'moment' },
  ses: { emailaddress: 'email', reason: 'reason', lastupdatetime: 'moment' },
  mailgun: { address: 'email', code: 'status', error: 'text', tags: 'tags', createdat: 'moment' },
  sendgrid: { email: 'email', status: 'status', reason: 'text', created: 'moment' },
  list: {
    email: 'email',
    emailaddress: 'email',
    address: 'email',
    recipient: 'email',
    reason: 'reason',
    suppressionreason: 'reason',
    type: 'reason',
    createdat: 'moment',
    created: 'moment',
  },
}

/** Column names that only the files of one provider have. */
const providerSignatures: readonly (readonly [SuppressionProvider, readonly string[]])[] = [
  ['postmark', ['emailaddress', 'suppressionreason']],
  ['ses', ['emailaddress', 'reason']],
  ['mailgun', ['address', 'code']],
  ['mailgun', ['address', 'error']],
  ['mailgun', ['address', 'tags']],
  ['mailgun', ['address', 'createdat']],
  ['sendgrid', ['email', 'created']],
  ['sendgrid', ['email', 'status', 'reason']],
]

/** Returns null if there is no column for the address, or if there are two. */
export function parseProviderColumns({ cells }: CsvRow): ProviderColumns | null {
  const names = cells.map((cell) => cell.toLowerCase().replace(/[\s._-]/g, ''))
  if (tryParseForeignAddress(cells[0]?.trim() ?? '') !== null) {
    return { provider: cells.length === 1 ? 'list' : 'ses', hasHeader: false, indexes: { email: 0, reason: 1 } }
  }
  const provider =
    providerSignatures.find(([, columns]) => columns.every((name) => names.includes(name)))?.[0] ?? 'list'
  const indexes: Partial<Record<Field, number>> = {}
  for (const [place, name] of names.entries()) {
    const field = Object.hasOwn(fieldsByProvider[provider], name) ? fieldsByProvider[provider][name] : undefined
    if (field === undefined) continue
    if (field === 'email' && indexes.email !== undefined) return null
    indexes[field] ??= place
  }
  return indexes.email === undefined ? null : { provider, hasHeader: true, indexes }
}

const reasonWords: Readonly<Record<string, SuppressionReason>> = {
  hardbounce: 'hard_bounce',
  bounce: 'hard_bounce',
  bounced: 'hard_bounce',
  permanent: 'hard_bounce',
  invalid: 'hard_bounce',
  spamcomplaint: 'spam_complaint',
  complaint: 'spam_complaint',
  complained: 'spam_complaint',
  spamreport: 'spam_complaint',
  spam: 'spam_complaint',
  abuse: 'spam_complaint',
  manual: 'manual',
  manualsuppression: 'manual',
  manuallyadded: 'manual',
  admin: 'manual',
  custom: 'manual',
  unsubscribe: 'unsubscribe',
  unsubscribed: 'unsubscribe',
  unsub: 'unsubscribe',
  listunsubscribe: 'unsubscribe',
  optout: 'unsubscribe',
}

const temporaryWords = new Set(['softbounce', 'soft', 'transient', 'temporary', 'block', 'blocked', 'deferred'])

export function parseProviderLine(columns: ProviderColumns, row: CsvRow): ProviderLine | RefusedLine {
  const cell = (field: Field): string => unescapeFormula(row.cells[columns.indexes[field] ?? -1] ?? '').trim()
  const refuseLine = (field: string, reason: string, value: string): RefusedLine => ({
    line: row.line,
    field,
    reason,
    value: formatForDisplay(value),
  })
  const given = cell('email')
  const email = tryParseForeignAddress(given)
  if (given.includes(REPLACEMENT_CHARACTER)) return refuseLine('email', UNREADABLE, given)
  if (email === null) return refuseLine('email', explainAddress(given, 'is not a mail address, local@domain'), given)
  const word = cell('reason')
  const status = cell('status')
  const text = cell('text')
  const meaning =
    columns.provider === 'sendgrid' || columns.provider === 'mailgun'
      ? meaningOfFailure(status, text, cell('tags'))
      : meaningOfWord(columns.provider, word, cell('origin'))
  if (meaning === 'temporary')
    return refuseLine('reason', 'was a temporary failure, which does not suppress an address', word || status)
  if (meaning === 'not-the-address') return refuseLine('status', 'does not refer to the address', status)
  if (meaning === 'unknown') return refuseLine('reason', 'is not a known reason', word)
  return { email, reason: meaning, diagnostic: formatDiagnostic(status, text), moment: cell('moment') || null }
}

export function isRefusedLine(line: ProviderLine | RefusedLine): line is RefusedLine {
  return 'line' in line
}

type Meaning = SuppressionReason | null | 'temporary' | 'not-the-address' | 'unknown'

function meaningOfWord(provider: SuppressionProvider, word: string, origin: string): Meaning {
  if (word === '') return null
  const key = word.toLowerCase().replace(/[^a-z]/g, '')
  if (temporaryWords.has(key)) return 'temporary'
  // Postmark lists a recipient's own request as ManualSuppression with the origin Recipient.
  if (provider === 'postmark' && key === 'manualsuppression' && origin.toLowerCase() === 'recipient')
    return 'unsubscribe'
  return Object.hasOwn(reasonWords, key) ? (reasonWords[key] ?? 'unknown') : 'unknown'
}

/**
 * Matches a full mailbox, a large message, the system, the network, the protocol, the content, policy (RFC 3463). None
 * of these is permanent for the address.
 */
const unrelatedStatus = /^5\.(?:2\.2|2\.3|[34567]\.)/
/** Matches an enhanced status code within a reply, but no part of an IP address. */
const enhancedCode = /(?<![\d.])5\.\d{1,3}\.\d{1,3}(?!\.?\d)/

function meaningOfFailure(status: string, text: string, tags: string): Meaning {
  if (/^4/.test(status)) return 'temporary'
  // Mailgun writes the reply code into `code` and the enhanced code into the text.
  if (unrelatedStatus.test(status.includes('.') ? status : (enhancedCode.exec(text)?.[0] ?? '')))
    return 'not-the-address'
  if (status !== '') return 'hard_bounce'
  if (tags !== '') return 'unsubscribe'
  if (text === '') return null
  const meaning = meaningOfWord('list', text, '')
  return meaning === 'unknown' ? 'hard_bounce' : meaning
}

const MAX_TEXT_LENGTH = 500

function formatDiagnostic(status: string, text: string): string | null {
  const words = [status, text].filter((part) => part !== '').join(' ')
  return words === '' ? null : words.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, MAX_TEXT_LENGTH)
}
