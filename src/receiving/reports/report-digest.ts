/** A report read in the process that takes messages apart: a `Digest` of messages/mime/mime-parts-protocol. */
import { isAutoReply } from './auto-reply.js'
import type { ReportMail } from './claim.js'
import { readReport } from './read-report.js'
import { parseReport } from './report-parts.js'

export interface ReportFacts {
  /** Of its envelope; empty: `<>`. */
  readonly envelopeFrom: string
}

export function digest(raw: Buffer, facts: unknown): ReportMail {
  const { envelopeFrom } = facts as ReportFacts
  return { report: readReport(raw), isAutoReply: envelopeFrom === '' || isAutoReply(parseReport(raw).header) }
}

/** This module, for the process. */
export const reportDigest = new URL(import.meta.url)
