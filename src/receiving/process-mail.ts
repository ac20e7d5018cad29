/**
 * What is written of an email once it was taken apart: what it says, its spam score, and the
 * event that announces it, in one commit.
 */
import { type Event, recordEvent } from '../events/event-log.js'
import { type InboundEmail, markProcessed } from '../messages/inbound/inbound-email.js'
import type { Clock } from '../platform/clock.js'
import type { SpamStudy } from '../spam/spam-study.js'
import type { JudgeSpam } from '../spam/spam-verdict.js'
import type { Write } from '../storage/writer/write.js'
import { inboundContent, receivedData } from './inbound-content.js'
import type { Judge } from './inbound-processor.js'

export interface ProcessMailDeps {
  readonly clock: Clock
  readonly spamVerdict: JudgeSpam
}

export function processMail({ clock, spamVerdict }: ProcessMailDeps): Judge {
  return async (email, raw, outline, study) => {
    const { id, workspace_id } = email
    const content = inboundContent(raw, outline)
    const verdict = await spamVerdict(email, raw, study as SpamStudy | null)
    const at = clock()
    const processed = markProcessed({ id, workspace_id, ...content, ...verdict, at })
    return { writes: [processed, announcement(email, receivedData(email, content), at)] }
  }
}

function announcement({ workspace_id: workspaceId }: InboundEmail, data: Event['data'], at: number): Write {
  return recordEvent({ workspaceId, type: 'email.received', emailId: null, recipient: null, at, data })
}
