/**
 * Finds where a domain wants its TLS reports: the record at `_smtp._tls` (RFC 8460 section 3). Pure.
 *
 * Exactly one record counts. Addresses that cannot be used are left out, and so are those after the fifth.
 */
import { type Address, tryParseAddress } from '../../../base/mail/address.js'
import type { LookupResult } from '../../../base/platform/dns/resolver.js'

/** What begins with anything else is no such record, also where only blanks differ. */
const BEGIN = 'v=TLSRPTv1;'
/** The most characters of a record. */
const MAX_RECORD = 2_000
const MAX_URIS = 5

export interface ReportTargets {
  readonly mailboxes: readonly Address[]
  /** Only `https:` URLs without credentials. */
  readonly urls: readonly string[]
}

type ReportingRequest =
  | { readonly kind: 'wanted'; readonly targets: ReportTargets }
  /** There is no valid record, or there are several. */
  | { readonly kind: 'unwanted' }
  /** DNS did not answer. */
  | { readonly kind: 'unknown'; readonly reason: string }

export function readReportingRequest(lookup: LookupResult<string>): ReportingRequest {
  if (lookup.kind === 'failure') return { kind: 'unknown', reason: `DNS does not answer: ${lookup.detail}` }
  if (lookup.kind !== 'records') return { kind: 'unwanted' }
  const [record, ...others] = lookup.records.filter((text) => text.startsWith(BEGIN))
  if (record === undefined || others.length > 0) return { kind: 'unwanted' }
  const targets = parseReportingRecord(record)
  return targets === null ? { kind: 'unwanted' } : { kind: 'wanted', targets }
}

/** Returns null if the record names no place to which a report can be sent. */
export function parseReportingRecord(record: string): ReportTargets | null {
  if (record.length > MAX_RECORD || !record.startsWith(BEGIN)) return null
  const uris = record
    .slice(BEGIN.length)
    .split(';')
    .map((field) => field.trim())
    .find((field) => /^rua\s*=/.test(field))
    ?.replace(/^rua\s*=/, '')
    .split(',')
    .slice(0, MAX_URIS)
    .map((uri) => uri.trim())
  const mailboxes = (uris ?? []).map(parseMailto).filter((address) => address !== null)
  const urls = (uris ?? []).map(parseHttps).filter((url) => url !== null)
  if (mailboxes.length + urls.length === 0) return null
  return { mailboxes: [...new Set(mailboxes)], urls: [...new Set(urls)] }
}

function parseMailto(uri: string): Address | null {
  if (!/^mailto:/i.test(uri)) return null
  const [path = ''] = uri.slice('mailto:'.length).split('?')
  try {
    return tryParseAddress(decodeURIComponent(path))
  } catch {
    return null
  }
}

function parseHttps(uri: string): string | null {
  const url = URL.canParse(uri) ? new URL(uri) : null
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') return null
  return url.href
}
