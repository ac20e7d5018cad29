/**
 * Parses delivery status parts: RFC 3464, RFC 6533, and deviating forms.
 *
 * Real reports put them into a text part, omit required fields, split one recipient's fields by blank lines or run
 * two recipients together: a new recipient begins where a group names one, or where a field repeats.
 *
 * Limit: 100 recipients.
 */
import type { Address } from '../../../base/mail/address.js'
import { findReply, interpretBounce, kindOfReply, toDiagnostic } from './read-reply.js'
import { namesOnlyOthers } from './recipient-sections.js'
import type { Bounce, BounceKind, ReportedHeader } from './report.js'
import { parseTypedAddress } from './report-addresses.js'
import { firstValueOf, parseFieldGroups } from './report-fields.js'

const MAX_RECIPIENTS = 100

const recipientFieldNames: ReadonlySet<string> = new Set([
  'final-recipient',
  'original-recipient',
  'x-actual-recipient',
])
const statusFieldNames: ReadonlySet<string> = new Set([...recipientFieldNames, 'action', 'status', 'diagnostic-code'])

interface DeliveryStatusPart {
  readonly bounces: readonly Bounce[]
  readonly envid: string | null
}

/** Whether a part contains such fields. Every part is checked, since the declared type is often wrong. */
export function hasDeliveryStatus(text: string): boolean {
  return (
    /^[ \t]{0,8}(final|original)-recipient[ \t]{0,8}:/im.test(text) &&
    /^[ \t]{0,8}(action|status)[ \t]{0,8}:/im.test(text)
  )
}

/** The prose about a recipient, for what its fields leave open. */
export type ProseLookup = (recipient: Address | null) => string

/** `proseOf` creates the lookup for all of these recipients. */
export function readDeliveryStatus(
  text: string,
  proseOf: (all: readonly Address[]) => ProseLookup,
): DeliveryStatusPart {
  const indented = !/^(final|original)-recipient[ \t]{0,8}:/im.test(text)
  const groups = parseFieldGroups(indented ? text.replace(/^[ \t]{1,8}(?=[\w-]{1,40}:)/gm, '') : text)
  const records: ReportedHeader[] = []
  for (const group of groups) for (const piece of splitByRecipient(group)) addRecord(records, piece)
  const read = records.slice(0, MAX_RECIPIENTS).map((record) => ({ record, ...readNames(record) }))
  const prose = proseOf(read.flatMap(({ final, original }) => [final, original].flatMap((name) => name ?? [])))
  return {
    bounces: read.map(({ record, ...names }) => buildBounce(record, names, prose)),
    envid: firstValueOf(groups.flat(), 'original-envelope-id') || null,
  }
}

/** Splits a group where a field of recipients repeats. */
function splitByRecipient(group: ReportedHeader): readonly ReportedHeader[] {
  const pieces: ReportedHeader[] = []
  let seen = new Set<string>()
  let from = 0
  for (const [index, { name }] of group.entries()) {
    if (recipientFieldNames.has(name) && seen.has(name)) {
      pieces.push(group.slice(from, index))
      from = index
      seen = new Set()
    }
    seen.add(name)
  }
  return [...pieces, group.slice(from)].filter((piece) => piece.some(({ name }) => statusFieldNames.has(name)))
}

/** A piece that names no recipient and repeats no field belongs to the recipient before it. */
function addRecord(records: ReportedHeader[], piece: ReportedHeader): void {
  const last = records.at(-1)
  const names = new Set(piece.map(({ name }) => name).filter((name) => statusFieldNames.has(name)))
  const hasField = (name: string): boolean => last?.some((field) => field.name === name) === true
  const namesRecipient = hasField('final-recipient') || hasField('original-recipient')
  const apart = [...names].some((name) => hasField(name)) || (namesRecipient && names.has('final-recipient'))
  if (last === undefined || apart) records.push(piece)
  else records.splice(-1, 1, [...last, ...piece])
}

interface RecipientNames {
  readonly final: Address | null
  readonly original: Address | null
}

function readNames(record: ReportedHeader): RecipientNames {
  return {
    final:
      parseTypedAddress(firstValueOf(record, 'final-recipient')) ??
      parseTypedAddress(firstValueOf(record, 'x-actual-recipient')),
    original: parseTypedAddress(firstValueOf(record, 'original-recipient')),
  }
}

function buildBounce(record: ReportedHeader, { final, original }: RecipientNames, prose: ProseLookup): Bounce {
  const stated = firstValueOf(record, 'status') ?? ''
  const status = /\b([245]\.\d{1,3}\.\d{1,3})\b/.exec(stated)?.[1] ?? null
  const diagnostic = diagnosticOf(record, stated)
  const kind = statedKindOf(firstValueOf(record, 'action'), status, diagnostic)
  // If no reply is quoted, the prose is all there is.
  const meaning = interpretBounce({
    kind,
    status,
    diagnostic,
    prose: diagnostic.length < MIN_WORDS ? prose(final ?? original) : '',
  })
  const recipientsFault = meaning.recipientsFault && !namesOnlyOthers(meaning.diagnostic, [final, original])
  return { recipient: final ?? original, original, ...meaning, recipientsFault }
}

/** Some programs put the text into a comment of the status: `5.1.1 (user unknown)`. */
function diagnosticOf(record: ReportedHeader, status: string): string {
  const spoken = firstValueOf(record, 'diagnostic-code') ?? ''
  const exit = describeExitCode(spoken)
  if (exit !== null) return exit
  const words = toDiagnostic(spoken).replace(/^[\w-]{1,40} ?; ?/, '')
  if (words.length >= MIN_WORDS) return words
  const commented = /\(([^()]{12,300})\)/.exec(toDiagnostic(status))?.[1]
  return commented ?? supplementOf(record) ?? words
}

/** Characters of a diagnostic that says more than a code. */
const MIN_WORDS = 12

/** Exchange 2003 puts the reply here: `<mx.example.net #5.0.0 smtp; 550 no such user>`. */
function supplementOf(record: ReportedHeader): string | null {
  const words = toDiagnostic(firstValueOf(record, 'x-supplementary-info') ?? '')
    .replace(/^<(?:[^\s<>#]{1,255} )?(?:#[245]\.\d{1,3}\.\d{1,3} )?/, '')
    .replace(/^[\w-]{1,40} ?; ?/, '')
    .replace(/>$/, '')
  return words.length < MIN_WORDS ? null : words
}

function statedKindOf(action: string | null, status: string | null, diagnostic: string): BounceKind | null {
  const word = /[a-z]+/i.exec(action ?? '')?.[0]?.toLowerCase() ?? ''
  if (word.startsWith('delay')) return 'delayed'
  if (word === 'delivered' || word === 'relayed' || word === 'expanded') return 'delivered'
  if (word !== 'failed' && status?.startsWith('2') === true) return 'delivered'
  return kindOfReply(status, findReply(diagnostic))
}

/** Exit codes of local mailers, as `X-Unix; 67` in a Diagnostic-Code, by their meaning in sysexits.h. */
const exitMeanings: Readonly<Record<string, string>> = {
  '64': 'command line syntax error',
  '67': 'user unknown',
  '68': 'host unknown',
  '69': 'service unavailable',
  '70': 'internal software error',
  '71': 'operating system error',
  '73': 'cannot create output file',
  '74': 'input/output error',
  '75': 'temporary failure, try again later',
  '77': 'permission denied',
  '78': 'configuration error',
}

/** The meaning. Null if the field holds no exit code. */
function describeExitCode(diagnosticCode: string): string | null {
  const code = /^\s{0,8}x-unix {0,4}; {0,4}(\d{1,3})\s{0,8}$/i.exec(diagnosticCode)?.[1]
  return code === undefined ? null : (exitMeanings[code] ?? `mailer exited with status ${code}`)
}
