/**
 * What is written of an email once it was taken apart: what it says, its spam score, and the
 * event that announces it, in one commit.
 */
import { recordEvent } from '../events/event-log.js'
import { type InboundEmail, markProcessed } from '../messages/inbound-email.js'
import type { MimeParts } from '../messages/mime-parts-protocol.js'
import type { Clock } from '../platform/clock.js'
import type { Write } from '../storage/write.js'
import { inboundContent, receivedData } from './inbound-content.js'
import type { JudgeSpam } from './spam/spam-verdict.js'

export interface ProcessMailDeps {
  readonly clock: Clock
  readonly spamVerdict: JudgeSpam
}

export type ProcessMail = (email: InboundEmail, raw: Buffer, parts: MimeParts) => Promise<readonly Write[]>

export function processMail({ clock, spamVerdict }: ProcessMailDeps): ProcessMail {
  return async (email, raw, parts) => {
    const { id, workspace_id } = email
    const content = inboundContent(raw, parts)
    const verdict = await spamVerdict(email, raw, parts)
    const at = clock()
    return [
      markProcessed({ id, workspace_id, ...content, ...verdict, at }),
      recordEvent({
        workspaceId: workspace_id,
        type: 'email.received',
        emailId: null,
        recipient: null,
        at,
        data: receivedData(email, content),
      }),
    ]
  }
}
