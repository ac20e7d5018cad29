/**
 * Builds the writes for a parsed email: record fields, spam score, the event that announces it, and what forwarding rules
 * ask for. All of it is one commit, so a message is forwarded once, whenever the process ends.
 */
import { recordEvent } from '../events/event-log.js'
import type { EventPayloads } from '../events/payloads.js'
import { markProcessed, removeInbound, removeInboundRaw } from '../messages/inbound/inbound-email.js'
import type { InboundEmail, ProcessedInbound } from '../messages/inbound/inbound-record.js'
import type { Clock } from '../platform/clock.js'
import type { JudgeSpam, SpamVerdict } from '../spam/spam-verdict.js'
import type { SpamStatus } from '../storage/tables/inbound-tables.js'
import type { Write } from '../storage/writer/write.js'
import { buildReceivedData, type InboundSummary } from './inbound-content.js'
import type { MailProcessor, ProcessingResult } from './inbound-processor.js'

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
  /** The verdict of a message is on disk. */
  readonly onVerdict: (status: SpamStatus) => void
}

/** What to write of a message. */
export interface ProcessedMail {
  /** What its record says from now on. */
  readonly content: ProcessedInbound
  /** In the same commit, after the record. */
  readonly writes: readonly Write[]
  readonly onCommitted: () => void
}

export type ProcessMail = (...message: Parameters<MailProcessor>) => Promise<ProcessedMail>

export function createMailProcessor({ clock, judgeSpam, planForwarding, onVerdict }: ProcessMailDeps): ProcessMail {
  return async (email, raw, summary, analysis) => {
    const verdict = await judgeSpam(email, raw, analysis)
    const at = clock()
    const { spam_status: spamStatus } = verdict
    const forwarding = await planForwarding(email, raw, spamStatus)
    const onCommitted = (): void => {
      if (spamStatus !== null) onVerdict(spamStatus)
      forwarding?.onCommitted()
    }
    const content = buildContent(email, summary, verdict, at)
    const { writes, keep } = forwarding ?? { writes: [], keep: true }
    if (keep) {
      const received = recordReceived(email, buildReceivedData(email, summary), at)
      return { content, writes: [received, ...writes], onCommitted }
    }
    const place = { id: email.id, workspaceId: email.workspace_id }
    return { content, writes: [...writes, removeInbound(place), removeInboundRaw(place)], onCommitted }
  }
}

/** Field by field, because spreads of so many take longer. */
function buildContent(
  { id, workspace_id }: InboundEmail,
  summary: InboundSummary,
  { spam_status, spam_score, spam_report }: SpamVerdict,
  at: number,
): ProcessedInbound {
  return {
    id,
    workspace_id,
    message_id: summary.message_id,
    reference_ids: summary.reference_ids,
    from_email: summary.from_email,
    from_name: summary.from_name,
    to_emails: summary.to_emails,
    cc_emails: summary.cc_emails,
    subject: summary.subject,
    has_html: summary.has_html,
    has_text: summary.has_text,
    attachment_count: summary.attachment_count,
    spam_status,
    spam_score,
    spam_report,
    at,
  }
}

/** The same for a message whose record is on disk. */
export function toProcessingResult({ content, writes, onCommitted }: ProcessedMail): ProcessingResult {
  return { writes: [markProcessed(content), ...writes], onCommitted }
}

function recordReceived(
  { workspace_id: workspaceId }: InboundEmail,
  data: EventPayloads['email.received'],
  at: number,
): Write {
  return recordEvent({ workspaceId, type: 'email.received', emailId: null, recipient: null, at, data })
}
