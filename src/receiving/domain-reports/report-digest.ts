/**
 * A message at `dmarc@` or `tlsrpt@` as the processes that parse messages read it: what it reports about domains.
 *
 * The report is the first part that looks like one by its first bytes, whatever its type says: gzip, ZIP, XML or JSON.
 * Limits: the first 15 MB of the message, 3 such parts, 32 MB of XML and 4 MB of JSON unpacked. What is no report, or
 * exceeds a limit, is a refusal for the log.
 */
import type { MessageDigester } from '../../messages/mime/mime-parts-protocol.js'
import { parseReport, splitReport } from '../reports/report-parts.js'
import { readAggregate } from './read-aggregate.js'
import { readFailureReport } from './read-failure-report.js'
import { readTlsReport } from './read-tls-report.js'
import type { ReportedDomain } from './reported-domain.js'
import { isGzip, isZip, unpack } from './unpack.js'
import { UnreadableReport } from './unreadable-report.js'

/** Bytes of a message that are searched for its report; the text of one part. */
const MAX_BYTES = 15_728_640
const MAX_CANDIDATES = 3
/** Bytes of JSON, whose values take many times their length in memory. */
const MAX_JSON = 4_194_304

export type ReportDigest =
  | { readonly kind: 'reported'; readonly domains: readonly ReportedDomain[] }
  | { readonly kind: 'unreadable'; readonly why: string }

/** Under the name that the processes import. */
export const messageDigester: MessageDigester<Readonly<Record<string, never>>, ReportDigest> = {
  module: new URL(import.meta.url),
  digest: readDomainReport,
}

/** Pure; never throws. */
export function readDomainReport(raw: Buffer): ReportDigest {
  const failure = readFailureReport(parseReport(raw))
  if (failure !== null) return { kind: 'reported', domains: [failure] }
  let why = 'it has no part that is a report'
  for (const bytes of findCandidates(raw)) {
    try {
      return { kind: 'reported', domains: readDocument(unpack(bytes)) }
    } catch (error) {
      if (!(error instanceof UnreadableReport)) throw error
      why = error.message
    }
  }
  return { kind: 'unreadable', why }
}

function findCandidates(raw: Buffer): readonly Buffer[] {
  const found: Buffer[] = []
  for (const { content } of splitReport(raw, { bytes: MAX_BYTES, part: MAX_BYTES })) {
    if (found.length === MAX_CANDIDATES) break
    const bytes = Buffer.from(content, 'latin1')
    if (isGzip(bytes) || isZip(bytes) || /^[<{]/.test(beginningOf(bytes))) found.push(bytes)
  }
  return found
}

/** Its first characters, without a byte order mark and blanks. */
function beginningOf(bytes: Buffer): string {
  return bytes
    .toString('utf8', 0, Math.min(bytes.length, 200))
    .replace(/^\ufeff/, '')
    .trimStart()
}

function readDocument(bytes: Buffer): readonly ReportedDomain[] {
  switch (beginningOf(bytes).charAt(0)) {
    case '<':
      return [readAggregate(bytes.toString('utf8'))]
    case '{':
      if (bytes.length > MAX_JSON) throw new UnreadableReport(`JSON with more than ${MAX_JSON} octets`)
      return readTlsReport(bytes.toString('utf8').replace(/^\ufeff/, ''))
    default:
      throw new UnreadableReport('neither XML nor JSON')
  }
}
