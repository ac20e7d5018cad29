/**
 * Builds the writes for a parsed email: record fields, spam score, the event that announces it, and what forwarding rules
 * ask for. All of it is one commit, so a message is forwarded once, whenever the process ends.
 */
import { recordEvent } from '../events/event-log.js'
import type { EventPayloads } from '../events/payloads.js'
import { type InboundEmail, markProcessed, removeInbound, removeInboundRaw } from '../messages/inbound/inbound-email.js'
import type { Clock } from '../platform/clock.js'
import type { JudgeSpam } from '../spam/spam-verdict.js'
import type { SpamStatus } from '../storage/tables/inbound-tables.js'
import type { Write } from '../storage/writer/write.js'
import { buildReceivedData } from './inbound-content.js'
import type { MailProcessor } from './inbound-processor.js'

/** What the rules of its domain do with a message. */
interface Forwarding {
  /** In the commit that processes the message, after its event; they read its stored bytes. */
  readonly writes: readonly Write[]
  /** False: the message is not filed. */
  readonly keep: boolean
  readonly onCommitted: () => void
}

/** Null: no rule matches. `raw` is not used after it resolves. */
export type PlanForwarding = (
  email: InboundEmail,
  raw: Buffer,
  spamStatus: SpamStatus | null,
) => Promise<Forwarding | null>

interface ProcessMailDeps {
  readonly clock: Clock
  readonly judgeSpam: JudgeSpam
  readonly planForwarding: PlanForwarding
}

export function createMailProcessor({ clock, judgeSpam, planForwarding }: ProcessMailDeps): MailProcessor {
  return async (email, raw, summary, analysis) => {
    const { id, workspace_id } = email
    const verdict = await judgeSpam(email, raw, analysis)
    const at = clock()
    const processed = markProcessed({ id, workspace_id, ...summary, ...verdict, at })
    const forwarding = await planForwarding(email, raw, verdict.spam_status)
    const received = recordReceived(email, buildReceivedData(email, summary), at)
    if (forwarding === null) return { writes: [processed, received] }
    const { writes, keep, onCommitted } = forwarding
    if (keep) return { writes: [processed, received, ...writes], onCommitted }
    const place = { id, workspaceId: workspace_id }
    return { writes: [processed, ...writes, removeInbound(place), removeInboundRaw(place)], onCommitted }
  }
}

function recordReceived(
  { workspace_id: workspaceId }: InboundEmail,
  data: EventPayloads['email.received'],
  at: number,
): Write {
  return recordEvent({ workspaceId, type: 'email.received', emailId: null, recipient: null, at, data })
}
