/**
 * Decides what the answers of DNS mean for each record of a sending domain. Pure.
 *
 *   CNAME to our target                                   verified
 *   other records with the same effect                    verified (a flattened CNAME, records set by hand)
 *   a CNAME to another name, other records, none          failed
 *   no answer that decides it                             unknown
 *   the key of a rotation under way is not in DNS yet     awaited
 *
 * A key and the label in its target belong to one registration only: they prove whose domain it is. The target of the
 * mail host is the same for all customers.
 */
import { toPrintableAscii } from '../../../base/mail/printable.js'
import type { LookupResult, MxRecord } from '../../../base/platform/dns/resolver.js'
import { holdsKey } from '../dkim/key-record.js'
import { isIncomingKey } from '../dkim/rotation-step.js'
import type { DkimKeyRow } from '../dkim/signing-keys.js'
import { policyHostOf } from '../mta-sts/own-policy.js'
import type { SendingDomain } from '../rows/sending-domains.js'
import { type DnsRecord, dnsRecordsOf } from './dns-records.js'
import {
  type DomainAnswers,
  type KeyAnswers,
  type MailHostAnswers,
  pointsTo,
  type ZoneNames,
} from './look-up-records.js'

export interface RecordsFinding extends DnsRecord {
  readonly state: 'verified' | 'failed' | 'unknown' | 'awaited'
  /** The records found, shortened. It is null if there is none or no answer. */
  readonly found: string | null
  /** For a DKIM key, it says whether verifiers see the key now. A CNAME does not prove that. */
  readonly visible: boolean
}

export function judgeRecords(
  answers: DomainAnswers,
  row: SendingDomain,
  keys: readonly DkimKeyRow[],
  names: ZoneNames,
): readonly RecordsFinding[] {
  return dnsRecordsOf(row, names.zone).map((record) => {
    const { purpose, value } = record
    if (purpose === 'mail_cname') return { ...record, ...judgeMailHost(answers.mailHost, value, names), visible: false }
    const key = keys.find(({ selector }) => selector === purpose)
    const judged = judgeKey(answers.keys[purpose], value, key?.public_record ?? '')
    const awaited = judged.state === 'failed' && row.status === 'verified' && key !== undefined && isIncomingKey(key)
    return { ...record, ...judged, ...(awaited ? { state: 'awaited' as const } : {}) }
  })
}

export function judgeKey(
  { cname, txt }: KeyAnswers,
  target: string,
  publicRecord: string,
): Pick<RecordsFinding, 'state' | 'found' | 'visible'> {
  const visible = holdsKey(recordsOf(txt), publicRecord)
  const found = describeAnswer(cname, txt)
  if (visible || pointsTo(cname, target)) return { state: 'verified', found, visible }
  if (cname.kind === 'records') return { state: 'failed', found, visible }
  const silent = cname.kind === 'failure' || txt.kind === 'failure'
  return { state: silent ? 'unknown' : 'failed', found, visible }
}

function judgeMailHost(
  { cname, content }: MailHostAnswers,
  target: string,
  { inbound_mx_host: inboundMxHost }: ZoneNames,
): Pick<RecordsFinding, 'state' | 'found'> {
  if (pointsTo(cname, target)) return { state: 'verified', found: target }
  if (content === null) return { state: cname.kind === 'failure' ? 'unknown' : 'failed', found: null }
  const { mx, txt, addresses, targetTxt, targetAddresses } = content
  const found = describeAnswer(cname, mx, txt, addresses)
  const there = { mx: recordsOf(mx), txt: recordsOf(txt), addresses: recordsOf(addresses) }
  const expected = { target, inboundMxHost, txt: recordsOf(targetTxt), addresses: recordsOf(targetAddresses) }
  if (mx.kind !== 'failure' && mxPointsToUs(there, expected) && spfAuthorizesUs(there, expected))
    return { state: 'verified', found }
  if (cname.kind === 'records') return { state: 'failed', found }
  return { state: isUndecided(content) ? 'unknown' : 'failed', found }
}

/** A name without TXT records has no SPF record, so the check fails even if we do not know our own records. */
function isUndecided({
  mx,
  txt,
  addresses,
  targetTxt,
  targetAddresses,
}: NonNullable<MailHostAnswers['content']>): boolean {
  const anyFailed = (...lookups: readonly LookupResult<unknown>[]): boolean =>
    lookups.some(({ kind }) => kind === 'failure')
  return anyFailed(mx, txt, addresses) || (txt.kind === 'records' && anyFailed(targetTxt, targetAddresses))
}

/** The DKIM keys whose CNAME is right, but which DNS does not show: receivers cannot check signatures of them. */
export function findHiddenKeys(findings: readonly RecordsFinding[]): readonly RecordsFinding[] {
  return findings.filter(({ state, purpose, visible }) => state === 'verified' && purpose !== 'mail_cname' && !visible)
}

export type RecordVerdict = 'proved' | 'no-answer' | 'dkim-not-proved' | 'spf-not-proved' | 'domain-not-proved'

export function verdictOf(findings: readonly RecordsFinding[]): RecordVerdict {
  if (findings.some(({ state }) => state === 'unknown')) return 'no-answer'
  const wrong = findings.filter(({ state }) => state === 'failed').map(({ purpose }) => purpose)
  if (wrong.length === 0) return 'proved'
  if (!wrong.includes('mail_cname')) return 'dkim-not-proved'
  return wrong.length === 1 ? 'spf-not-proved' : 'domain-not-proved'
}

/** The state of a record that is only suggested. It is null if we did not ask or got no answer. */
export function judgeInboundMx(mx: LookupResult<MxRecord> | null, host: string): 'verified' | 'failed' | null {
  if (mx === null || mx.kind === 'failure') return null
  return recordsOf(mx).some(({ exchange }) => exchange.toLowerCase() === host) ? 'verified' : 'failed'
}

/** Tells whether the host of the domain's MTA-STS policy is ours. It is null if we did not ask or got no answer. */
export function judgePolicyHost(cname: LookupResult<string> | null, zone: string): 'verified' | 'pending' | null {
  if (cname === null || cname.kind === 'failure') return null
  return pointsTo(cname, policyHostOf(zone)) ? 'verified' : 'pending'
}

/** Any policy counts, because the owner chooses it. */
export function judgeDmarc(txt: LookupResult<string>): 'verified' | 'pending' | null {
  if (txt.kind === 'failure') return null
  return recordsOf(txt).some((text) => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text)) ? 'verified' : 'pending'
}

function recordsOf<T>(lookup: LookupResult<T>): readonly T[] {
  return lookup.kind === 'records' ? lookup.records : []
}

const MAX_FOUND_LENGTH = 500

/** The CNAME target. If there is no CNAME, it is the records at the name itself. */
function describeAnswer(
  cname: LookupResult<string>,
  ...others: readonly LookupResult<string | MxRecord>[]
): string | null {
  const [target] = recordsOf(cname)
  const texts = target === undefined ? others.flatMap((lookup) => recordsOf(lookup).map(formatRecord)) : [target]
  return texts.length === 0 ? null : toPrintableAscii(texts.join(', ')).slice(0, MAX_FOUND_LENGTH)
}

function formatRecord(record: string | MxRecord): string {
  return typeof record === 'string' ? record : `${record.preference} ${record.exchange}.`
}

interface MailHostRecords {
  /** An empty list means that there is no MX record. */
  readonly mx: readonly MxRecord[]
  readonly addresses: readonly string[]
  readonly txt: readonly string[]
}

/** The records that we compare the found ones with. */
interface ExpectedMailHost {
  readonly target: string
  readonly inboundMxHost: string
  /** The TXT records at `target`. */
  readonly addresses: readonly string[]
  readonly txt: readonly string[]
}

/**
 * Decides whether the records at a customer's mail host have the effect of our CNAME. Pure.
 *
 * Two things are needed: bounces reach us (by the MX, or without an MX by the addresses: RFC 5321 section 5.1), and
 * SPF (RFC 7208) authorizes us. An SPF record authorizes us if it equals the one at our target, or if it refers to
 * that one by `include:` or `redirect=`.
 */
export function mxPointsToUs({ mx, addresses }: MailHostRecords, expected: ExpectedMailHost): boolean {
  if (mx.length === 0) return addresses.length > 0 && addresses.every((address) => expected.addresses.includes(address))
  const best = Math.min(...mx.map(({ preference }) => preference))
  const ours = [expected.target, expected.inboundMxHost].map((name) => name.toLowerCase())
  return mx.every(({ preference, exchange }) => preference > best || ours.includes(exchange.toLowerCase()))
}

/** More than one SPF record is an error (RFC 7208 section 4.5). */
export function spfAuthorizesUs({ txt }: Pick<MailHostRecords, 'txt'>, expected: ExpectedMailHost): boolean {
  const [record, ...others] = filterSpfRecords(txt)
  if (record === undefined || others.length > 0) return false
  const terms = parseTerms(record)
  const target = expected.target.toLowerCase()
  const last = terms.findIndex((term) => /^[-+~?]?all$/.test(term))
  // Verifiers ignore terms after "all", and "redirect=" counts only without "all".
  const effective = last === -1 ? terms : terms.slice(0, last)
  if (effective.some((term) => term === `include:${target}` || term === `+include:${target}`)) return true
  if (last === -1 && terms.includes(`redirect=${target}`)) return true
  const [own] = filterSpfRecords(expected.txt)
  return own !== undefined && hasSameTerms(terms, parseTerms(own))
}

function filterSpfRecords(txt: readonly string[]): readonly string[] {
  return txt.filter((text) => /^v=spf1(?: |$)/i.test(text))
}

function parseTerms(record: string): readonly string[] {
  const [, ...terms] = record.toLowerCase().trim().split(/ +/)
  return terms
}

/** The order of terms that authorize does not matter, because the last one is `all`. */
function hasSameTerms(terms: readonly string[], others: readonly string[]): boolean {
  return terms.at(-1) === others.at(-1) && [...terms].sort().join(' ') === [...others].sort().join(' ')
}
