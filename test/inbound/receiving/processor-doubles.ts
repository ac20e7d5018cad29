/** Doubles of what the processor of stored mail uses, for tests without spam filter, forwarding and reports. */

import type { Write } from '../../../src/base/storage/db/write.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import type { InboundSummary } from '../../../src/inbound/receiving/analysis/inbound-content.js'
import type { ProcessorDeps } from '../../../src/inbound/receiving/inbound-processor.js'
import type { ProcessedMail } from '../../../src/inbound/receiving/mail-processor.js'
import type { InboundEmail } from '../../../src/records/messages/inbound/inbound-record.js'

/** Clean mail that is processed at 2000. */
export function cleanMail(
  { id, workspace_id }: Pick<InboundEmail, 'id' | 'workspace_id'>,
  summary: InboundSummary,
  writes: readonly Write[] = [],
): ProcessedMail {
  const spam = { spam_status: 'clean', spam_score: 0, spam_report: toJson([]) } as const
  const content = { ...summary, ...spam, id, workspace_id, at: 2000 }
  return { content, writes, mayBeFiled: true, onCommitted: () => undefined }
}

export const noReports: Pick<ProcessorDeps, 'reports' | 'domainReports'> = {
  reports: { process: () => Promise.reject(new Error('a report')) },
  domainReports: {
    handles: async () => false,
    refuse: () => null,
    file: async () => {
      throw new Error('a report about a domain')
    },
  },
}
