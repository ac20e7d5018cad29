/**
 * Builds the writes for a parsed email: record fields, spam score, the event that announces it, and what forwarding rules
 * ask for. All of it is one commit, so a message is forwarded once, whenever the process ends.
 */

import { toRecipientLogFields } from '../../base/mail/recipient-log-fields.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Write } from '../../base/storage/db/write.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import type { SpamStatus } from '../../base/storage/tables/inbound-tables.js'
import { recordNewestEvent } from '../../records/events/event-log.js'
import type { EventPayloads } from '../../records/events/payloads.js'
import type { InboundEmail, ProcessedInbound } from '../../records/messages/inbound/inbound-record.js'
import type { ForwardingPlanner } from '../forwarding/forwarding-planner.js'
import type { ContentAnalysis } from '../spam/content-analysis.js'
import type { SpamJudge, SpamVerdict } from '../spam/spam-judge.js'
import type { AccessLinks } from './access-links.js'
import { buildReceivedData, type InboundSummary } from './analysis/inbound-content.js'
import { removeMessage } from './analysis/processing-result.js'

interface ProcessorDeps {
  readonly clock: Clock
  readonly log: Pick<Log, 'info'>
  readonly accessLinks: Pick<AccessLinks, 'areIn'>
  readonly judge: Pick<SpamJudge, 'judge'>
  readonly forwarding: Pick<ForwardingPlanner, 'plan'>
  /** Called with the verdict of a message once it is on disk. */
  readonly onVerdict?: ((status: SpamStatus) => void) | undefined
}

/** The writes of a processed message. */
export interface ProcessedMail {
  /** What its record says from now on. */
  readonly content: ProcessedInbound
  /** They are in the same commit, after the record. */
  readonly writes: readonly Write[]
  /** False if only its writes may be stored: they remove the message. */
  readonly mayBeFiled: boolean
  readonly onCommitted: () => void
}

export class MailProcessor {
  constructor(private readonly deps: ProcessorDeps) {}

  /** `analysis` is null if it failed or exceeded the limits of the processes. */
  async process(
    email: InboundEmail,
    raw: Buffer,
    summary: InboundSummary,
    analysis: ContentAnalysis | null,
  ): Promise<ProcessedMail> {
    const { clock, judge, onVerdict } = this.deps
    const verdict = await judge.judge(email, raw, analysis)
    const at = clock()
    const { spam_status: spamStatus } = verdict
    const mayBeFiled = !(await this.deps.accessLinks.areIn(email.envelope_from, summary.message_id))
    const forwarding = await this.deps.forwarding.plan(email, raw, spamStatus, mayBeFiled)
    const onCommitted = (): void => {
      if (spamStatus !== null) onVerdict?.(spamStatus)
      if (!mayBeFiled) this.logNotFiled(email)
      forwarding?.onCommitted()
    }
    const content = buildContent(email, summary, verdict, at)
    const { writes, keep } = forwarding ?? { writes: [], keep: mayBeFiled }
    if (!keep) return { content, writes: [...writes, ...removeMessage(email)], mayBeFiled, onCommitted }
    const received = recordReceived(email, buildReceivedData(email, summary, verdict), at)
    return { content, writes: [received, ...writes], mayBeFiled, onCommitted }
  }

  private logNotFiled({ id, workspace_id: workspace, envelope_to: addresses }: InboundEmail): void {
    const facts = { inbound: id, workspace, ...toRecipientLogFields(parseJson(addresses)) }
    this.deps.log.info(facts, 'mail with a link that gives access is not filed')
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

function recordReceived(
  { workspace_id: workspaceId }: InboundEmail,
  data: EventPayloads['email.received'],
  at: number,
): Write {
  return recordNewestEvent({ workspaceId, type: 'email.received', emailId: null, recipient: null, at, data })
}
