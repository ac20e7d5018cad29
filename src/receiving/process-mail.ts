/** Builds the writes for a parsed email: record fields, spam score, and the event that announces it. */
import { recordEvent } from '../events/event-log.js'
import type { EventPayloads } from '../events/payloads.js'
import { type InboundEmail, markProcessed } from '../messages/inbound/inbound-email.js'
import type { Clock } from '../platform/clock.js'
import type { JudgeSpam } from '../spam/spam-verdict.js'
import type { Write } from '../storage/writer/write.js'
import { buildReceivedData } from './inbound-content.js'
import type { MailProcessor } from './inbound-processor.js'

interface ProcessMailDeps {
  readonly clock: Clock
  readonly judgeSpam: JudgeSpam
}

export function createMailProcessor({ clock, judgeSpam }: ProcessMailDeps): MailProcessor {
  return async (email, raw, summary, analysis) => {
    const { id, workspace_id } = email
    const verdict = await judgeSpam(email, raw, analysis)
    const at = clock()
    const processed = markProcessed({ id, workspace_id, ...summary, ...verdict, at })
    return { writes: [processed, recordReceived(email, buildReceivedData(email, summary), at)] }
  }
}

function recordReceived(
  { workspace_id: workspaceId }: InboundEmail,
  data: EventPayloads['email.received'],
  at: number,
): Write {
  return recordEvent({ workspaceId, type: 'email.received', emailId: null, recipient: null, at, data })
}
