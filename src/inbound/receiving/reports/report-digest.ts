/** A report as the processes that parse messages read it. */
import type { MessageDigester } from '../../../records/messages/mime/mime-parts-protocol.js'
import { isAutoReply } from './auto-reply.js'
import { readParsedReport } from './read-report.js'
import type { ReportMail } from './report-claim.js'
import { parseReport } from './report-parts.js'

interface ReportFacts {
  /** The sender of its envelope, or empty for `<>`. */
  readonly envelopeFrom: string
}

/** The processes import it under this name. */
export const messageDigester: MessageDigester<ReportFacts, ReportMail> = {
  module: new URL(import.meta.url),
  digest: (raw, { envelopeFrom }) => {
    const parsed = parseReport(raw)
    return { report: readParsedReport(parsed), isAutoReply: envelopeFrom === '' || isAutoReply(parsed.header) }
  },
}
