/**
 * A message at `dmarc@` or `tlsrpt@` as the processes that parse messages read it: what it reports about domains.
 *
 * The report is the first part that looks like one by its first bytes, whatever its type and name say: gzip and ZIP, whose
 * files may be packed once more, then XML and JSON. An archive may hold several; what else is in it is passed over.
 * Limits: the first 15 MB of the message, 3 such parts, 32 MB of XML and 4 MB of JSON unpacked, 20 reports in XML. What is
 * no report, or exceeds a limit, is a refusal for the log.
 */

import { isUtf8 } from 'node:buffer'
import { decodeCharset } from '../../../base/mail/charset.js'
import type { MessageDigester } from '../../../records/messages/mime/mime-parts-protocol.js'
import { parseReport, splitReport } from '../reports/report-parts.js'
import { readAggregates } from './read-aggregate.js'
import { readFailureReport } from './read-failure-report.js'
import { readTlsReport } from './read-tls-report.js'
import type { ReportedDomain } from './reported-domain.js'
import { isGzip, isZip, MAX_UNPACKED, unpack } from './unpack.js'
import { UnreadableReport } from './unreadable-report.js'

/** Bytes of a message that are searched for its report; the text of one part. */
const MAX_BYTES = 15_728_640
const MAX_CANDIDATES = 3
/** Bytes of JSON. Its values take many times their length in memory. */
const MAX_JSON = 4_194_304

export type ReportDigest =
  | { readonly kind: 'reported'; readonly domains: readonly ReportedDomain[] }
  | { readonly kind: 'unreadable'; readonly why: string }

/** The processes import it under this name. */
export const messageDigester: MessageDigester<Readonly<Record<string, never>>, ReportDigest> = {
  module: new URL(import.meta.url),
  digest: readDomainReport,
}

/** Pure; never throws. */
export function readDomainReport(raw: Buffer): ReportDigest {
  const failure = readFailureReport(parseReport(raw))
  if (failure !== null) return { kind: 'reported', domains: [failure] }
  let why = 'it has no part that is a report'
  for (const candidate of findCandidates(raw)) {
    try {
      return { kind: 'reported', domains: readFiles(unpackTwice(candidate.bytes), candidate.charset) }
    } catch (error) {
      if (!(error instanceof UnreadableReport)) throw error
      why = error.message
    }
  }
  return { kind: 'unreadable', why }
}

interface Candidate {
  readonly bytes: Buffer
  /** The charset of its part, if that declares one of text that is not packed. */
  readonly charset: string
  /** Packed parts come first: the others may be HTML for people. */
  readonly rank: number
}

function findCandidates(raw: Buffer): readonly Candidate[] {
  const found = splitReport(raw, { bytes: MAX_BYTES, part: MAX_BYTES }).flatMap(({ content, charset }) => {
    // Some programs forget to say that they have encoded it: these are the first bytes of gzip and ZIP in base64.
    const isEncoded = /^\s{0,20}(?:H4sI|UEsDB)/.test(content.toString('latin1', 0, 30))
    const bytes = isEncoded ? Buffer.from(content.toString('latin1'), 'base64') : content
    if (isGzip(bytes) || isZip(bytes)) return [{ bytes, charset: '', rank: 0 }]
    const beginning = readBeginning(bytes)
    if (!/^[<{]/.test(beginning)) return []
    return [{ bytes, charset, rank: /^<(?:!doctype )?html/i.test(beginning) ? 2 : 1 }]
  })
  return found.toSorted((one, other) => one.rank - other.rank).slice(0, MAX_CANDIDATES)
}

/** A file of an archive may be packed itself. */
function unpackTwice(bytes: Buffer): readonly Buffer[] {
  let left = MAX_UNPACKED
  return unpack(bytes).flatMap((file) => {
    const inner = isGzip(file) || isZip(file) ? unpack(file, left) : [file]
    left -= inner.reduce((sum, { length }) => sum + length, 0)
    return inner
  })
}

/** What the readable files report. If there are none, it throws the refusal of the last one. */
function readFiles(files: readonly Buffer[], charset: string): readonly ReportedDomain[] {
  const domains: ReportedDomain[] = []
  let failure: UnreadableReport | null = null
  for (const file of files) {
    try {
      domains.push(...readFile(file, charset))
    } catch (error) {
      if (!(error instanceof UnreadableReport)) throw error
      failure = error
    }
  }
  if (domains.length === 0 && failure !== null) throw failure
  return domains
}

function readFile(bytes: Buffer, charset: string): readonly ReportedDomain[] {
  switch (readBeginning(bytes).charAt(0)) {
    case '<':
      return readAggregates(readDocumentText(bytes, charset))
    case '{':
      if (bytes.length > MAX_JSON) throw new UnreadableReport(`JSON with more than ${MAX_JSON} octets`)
      return readTlsReport(readDocumentText(bytes))
    default:
      throw new UnreadableReport('neither XML nor JSON')
  }
}

const declaration = /^\s{0,20}<\?xml\s[^<>]{0,200}?encoding\s{0,10}=\s{0,10}["']([\w.:-]{1,40})["']/i
const unitsOfTwo = /^(?:utf-?16|utf-?32|ucs-?[24]|iso-10646-ucs-[24])/i
/** Octets that are searched for the declaration. */
const BEGINNING = 400

/**
 * Decodes the text of a report. Its charset is that of its byte order mark, of its first octets (UTF-16 without a
 * mark), of its XML declaration, or of its part, in this order (RFC 7303 section 3, but the part comes last, because
 * its charset is often wrong).
 *
 * A declaration that cannot be true has no effect: programs declare UTF-16 and write UTF-8. Text that is not valid
 * UTF-8 and has no other charset is windows-1252. `partCharset` is the charset of the part if the report is not packed. Empty if there is none. */
function readDocumentText(bytes: Buffer, partCharset = ''): string {
  const text = decodeUtf16(bytes) ?? decodeDeclared(bytes, partCharset) ?? decodePlain(bytes)
  return text.replace(/^\ufeff/, '')
}

/** Its first characters without blanks. */
function readBeginning(bytes: Buffer): string {
  return readDocumentText(bytes.subarray(0, BEGINNING)).trimStart()
}

function decodeUtf16(bytes: Buffer): string | null {
  const [first, second] = [bytes[0], bytes[1]]
  if ((first === 0xff && second === 0xfe) || (isOpening(first) && second === 0)) return decodeCharset(bytes, 'utf-16le')
  if ((first === 0xfe && second === 0xff) || (first === 0 && isOpening(second))) return decodeCharset(bytes, 'utf-16be')
  return null
}

/** The beginning of a document in XML or in JSON. */
function isOpening(octet: number | undefined): boolean {
  return octet === 0x3c || octet === 0x7b
}

function decodeDeclared(bytes: Buffer, partCharset: string): string | null {
  const declared = declaration.exec(bytes.toString('latin1', 0, BEGINNING).replace(/^\xef\xbb\xbf/, ''))?.[1]
  const charset = declared ?? partCharset
  const isUsable = charset !== '' && !unitsOfTwo.test(charset) && !/^(?:utf-?8|us-ascii)$/i.test(charset)
  return isUsable ? decodeCharset(bytes, charset) : null
}

function decodePlain(bytes: Buffer): string {
  return isUtf8(bytes) ? bytes.toString('utf8') : (decodeCharset(bytes, 'windows-1252') ?? bytes.toString('latin1'))
}
