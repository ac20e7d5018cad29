/**
 * What the answers of DNS mean for each record of a sending domain. Pure.
 *
 *   CNAME to our target                       verified
 *   something else that does the same         verified (a flattened CNAME, records set by hand)
 *   a CNAME elsewhere, something else, none   failed
 *   no answer that would decide it            unknown
 *   a key that a rotation has put there anew, not in DNS yet    awaited
 *
 * The label in a key's target belongs to one registration alone, and so does the key: that is
 * what proves whose domain it is. The mail host's target is the same for everybody.
 */
import type { Lookup, MxRecord } from '../../platform/dns/resolver.js'
import { holdsKey } from '../dkim/key-record.js'
import { isArriving } from '../dkim/rotation-step.js'
import type { DkimKeyRow } from '../dkim/signing-keys.js'
import type { SendingDomain } from '../sending-domains.js'
import { letsUsSend, reachesUs } from '../zone/mail-host-records.js'
import { type DnsRecord, dnsRecords } from './dns-records.js'
import {
  type DomainAnswers,
  type KeyAnswers,
  leadsTo,
  type MailHostAnswers,
  type ZoneNames,
} from './look-up-records.js'

export interface Finding extends DnsRecord {
  readonly state: 'verified' | 'failed' | 'unknown' | 'awaited'
  /** What stands there, shortened; null: nothing, or DNS did not say. */
  readonly found: string | null
  /** Of a DKIM key: whether verifiers see it now. A CNAME alone does not show it. */
  readonly shown: boolean
}

export function judgeRecords(
  answers: DomainAnswers,
  row: SendingDomain,
  keys: readonly DkimKeyRow[],
  names: ZoneNames,
): readonly Finding[] {
  return dnsRecords(row, names.zone).map((record) => {
    const { purpose, value } = record
    if (purpose === 'mail_cname') return { ...record, ...judgeMailHost(answers.mailHost, value, names), shown: false }
    const key = keys.find(({ selector }) => selector === purpose)
    const judged = judgeKey(answers.keys[purpose], value, key?.public_record ?? '')
    const awaited = judged.state === 'failed' && row.status === 'verified' && key !== undefined && isArriving(key)
    return { ...record, ...judged, ...(awaited ? { state: 'awaited' as const } : {}) }
  })
}

export function judgeKey(
  { cname, txt }: KeyAnswers,
  target: string,
  publicRecord: string,
): Pick<Finding, 'state' | 'found' | 'shown'> {
  const shown = holdsKey(recordsOf(txt), publicRecord)
  const found = foundOf(cname, txt)
  if (shown || leadsTo(cname, target)) return { state: 'verified', found, shown }
  if (cname.kind === 'records') return { state: 'failed', found, shown }
  const silent = cname.kind === 'failure' || txt.kind === 'failure'
  return { state: silent ? 'unknown' : 'failed', found, shown }
}

function judgeMailHost(
  { cname, content }: MailHostAnswers,
  target: string,
  { inbound_mx_host: inboundMxHost }: ZoneNames,
): Pick<Finding, 'state' | 'found'> {
  if (leadsTo(cname, target)) return { state: 'verified', found: target }
  if (content === null) return { state: cname.kind === 'failure' ? 'unknown' : 'failed', found: null }
  const { mx, txt, addresses, targetTxt, targetAddresses } = content
  const found = foundOf(cname, mx, txt, addresses)
  const there = { mx: recordsOf(mx), txt: recordsOf(txt), addresses: recordsOf(addresses) }
  const wanted = { target, inboundMxHost, txt: recordsOf(targetTxt), addresses: recordsOf(targetAddresses) }
  if (mx.kind !== 'failure' && reachesUs(there, wanted) && letsUsSend(there, wanted))
    return { state: 'verified', found }
  if (cname.kind === 'records') return { state: 'failed', found }
  return { state: isUndecided(content) ? 'unknown' : 'failed', found }
}

/** Without a text there is no SPF record: whatever our own names hold, it is wrong. */
function isUndecided({
  mx,
  txt,
  addresses,
  targetTxt,
  targetAddresses,
}: NonNullable<MailHostAnswers['content']>): boolean {
  const silent = (...lookups: readonly Lookup<unknown>[]): boolean => lookups.some(({ kind }) => kind === 'failure')
  return silent(mx, txt, addresses) || (txt.kind === 'records' && silent(targetTxt, targetAddresses))
}

export type Verdict = 'proved' | 'no-answer' | 'dkim-not-proved' | 'spf-not-proved' | 'domain-not-proved'

export function verdictOf(findings: readonly Finding[]): Verdict {
  if (findings.some(({ state }) => state === 'unknown')) return 'no-answer'
  const wrong = findings.filter(({ state }) => state === 'failed').map(({ purpose }) => purpose)
  if (wrong.length === 0) return 'proved'
  if (!wrong.includes('mail_cname')) return 'dkim-not-proved'
  return wrong.length === 1 ? 'spf-not-proved' : 'domain-not-proved'
}

/** Of the records that are only suggested; null: not asked for, or no answer. */
export function judgeInboundMx(mx: Lookup<MxRecord> | null, host: string): 'verified' | 'failed' | null {
  if (mx === null || mx.kind === 'failure') return null
  return recordsOf(mx).some(({ exchange }) => exchange.toLowerCase() === host) ? 'verified' : 'failed'
}

/** Any policy will do: which one is the owner's affair. */
export function judgeDmarc(txt: Lookup<string>): 'verified' | 'pending' | null {
  if (txt.kind === 'failure') return null
  return recordsOf(txt).some((text) => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text)) ? 'verified' : 'pending'
}

function recordsOf<T>(lookup: Lookup<T>): readonly T[] {
  return lookup.kind === 'records' ? lookup.records : []
}

const LONGEST_FOUND = 500

/** A CNAME tells where to look; without one what stands there itself. */
function foundOf(cname: Lookup<string>, ...others: readonly Lookup<string | MxRecord>[]): string | null {
  const [target] = recordsOf(cname)
  const texts = target === undefined ? others.flatMap((lookup) => recordsOf(lookup).map(textOf)) : [target]
  return texts.length === 0 ? null : harmless(texts.join(', ')).slice(0, LONGEST_FOUND)
}

function textOf(record: string | MxRecord): string {
  return typeof record === 'string' ? record : `${record.preference} ${record.exchange}.`
}

/** Strangers write it, terminals and pages show it. */
function harmless(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?')
}
