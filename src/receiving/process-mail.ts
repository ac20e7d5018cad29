/**
 * What is written of an email once it was taken apart: what it says, its spam score, and the
 * event that announces it, in one commit.
 */
import { type Event, recordEvent } from '../events/event-log.js'
import { type InboundEmail, markProcessed } from '../messages/inbound/inbound-email.js'
import type { Clock } from '../platform/clock.js'
import type { ContentAnalysis } from '../spam/content-analysis.js'
import type { JudgeSpam } from '../spam/spam-verdict.js'
import type { Write } from '../storage/writer/write.js'
import { buildReceivedData, readInboundContent } from './inbound-content.js'
import type { MailProcessor } from './inbound-processor.js'

export interface ProcessMailDeps {
  readonly clock: Clock
  readonly judgeSpam: JudgeSpam
}

export function createMailProcessor({ clock, judgeSpam }: ProcessMailDeps): MailProcessor {
  return async (email, raw, outline, study) => {
    const { id, workspace_id } = email
    const content = readInboundContent(raw, outline)
    const verdict = await judgeSpam(email, raw, study as ContentAnalysis | null)
    const at = clock()
    const processed = markProcessed({ id, workspace_id, ...content, ...verdict, at })
    return { writes: [processed, recordReceived(email, buildReceivedData(email, content), at)] }
  }
}

function recordReceived({ workspace_id: workspaceId }: InboundEmail, data: Event['data'], at: number): Write {
  return recordEvent({ workspaceId, type: 'email.received', emailId: null, recipient: null, at, data })
}
