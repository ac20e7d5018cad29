/**
 * Brings bounces of forwarded mail back to the senders of that mail. Such a bounce comes from the null sender to one of our
 * rewritten senders, or to the token of a message whose sender could not be rewritten.
 *
 * The report is passed on as it came, from the null sender, so that it causes no further bounce. Anyone who has seen a
 * rewritten sender can write to it for three weeks, so each sender gets a limited number of reports.
 */

import { type Address, toLowerCaseAddress } from '../../../base/mail/address.js'
import { NO_NOTICE } from '../../../base/mail/dsn-parameters.js'
import { createMessageId } from '../../../base/mail/message-id.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import { TokenBuckets } from '../../../base/platform/token-buckets.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { QueueRunner } from '../../../outbound/delivery/queue-runner.js'
import { emailById } from '../../../records/messages/email/email.js'
import { recipientOfAnyWorkspace } from '../../../records/messages/email/recipients.js'
import type { InboundEmail } from '../../../records/messages/inbound/inbound-record.js'
import { isForwarded } from '../../../records/messages/service-email.js'
import { isSuppressed } from '../../../records/suppressions/suppressions.js'
import { enqueuePassedOn } from '../../forwarding/forwarded-email.js'
import { type ProcessingResult, removeMessage } from '../analysis/processing-result.js'
import type { RecipientPolicy } from '../recipients/recipient-policy.js'
import type { ReportMail } from './report-claim.js'
import type { ReportProcessor } from './report-processor.js'

interface ReturnDeps {
  readonly read: Read
  readonly clock: Clock
  readonly log: Pick<Log, 'info'>
  readonly policy: Pick<RecipientPolicy, 'classify'>
  readonly hostname: string
  readonly queue: Pick<QueueRunner, 'offer'>
  /** Handles reports about other mail. */
  readonly reports: Pick<ReportProcessor, 'process'>
}

/** Reports to one sender, at once and in an hour. */
const MAX_REPORTS = 60
const HOUR_SECONDS = 3_600
const MAX_SENDERS = 10_000
/** A stored message from the null sender begins with this. */
const RETURN_PATH = 'Return-Path: <>\r\n'

interface Return {
  /** The address of ours that the report came to. */
  readonly at: Address
  /** Null if it was not proved who had sent the message. */
  readonly sender: Address | null
}

export class BounceReturner {
  private readonly buckets = new TokenBuckets({
    burst: MAX_REPORTS,
    perSecond: MAX_REPORTS / HOUR_SECONDS,
    maxKeys: MAX_SENDERS,
  })

  constructor(private readonly deps: ReturnDeps) {}

  async process(email: InboundEmail, mail: ReportMail): Promise<ProcessingResult> {
    const { clock, reports, queue, log } = this.deps
    const addresses = parseJson(email.envelope_to)
    const returns: Return[] = []
    for (const at of addresses) returns.push(...(await findReturn(this.deps, at)))
    if (returns.length === 0) return reports.process(email, mail)
    const queued = email.envelope_from === '' ? await this.queueReturns(email, returns, clock()) : []
    const isAll = returns.length === addresses.length
    const rest: ProcessingResult = isAll ? { writes: removeMessage(email) } : await reports.process(email, mail)
    return {
      // They come before the writes that remove its bytes.
      writes: [...queued.flatMap(({ writes }) => writes), ...rest.writes],
      onCommitted: () => {
        rest.onCommitted?.()
        for (const enqueued of queued) {
          queue.offer(enqueued)
          log.info({ report: email.id, email: enqueued.email.id }, 'a bounce of forwarded mail is returned')
        }
      },
    }
  }

  private async queueReturns(email: InboundEmail, returns: readonly Return[], now: number) {
    const { read, log } = this.deps
    const queued: ReturnType<typeof queueReturn>[] = []
    for (const { at, sender } of returns) {
      const reason = sender === null ? 'unproved' : await findFault(read, this.buckets, sender, now)
      if (sender !== null && reason === null) queued.push(queueReturn(this.deps, email, { at, sender }, now))
      else {
        const about = { report: email.id, client: email.client_address, recipient: sender, reason }
        log.info(about, 'a bounce of forwarded mail is not returned')
      }
    }
    return queued
  }
}

/** Empty if the address is of another kind. */
async function findReturn({ read, policy }: ReturnDeps, at: Address): Promise<readonly Return[]> {
  const recipient = await policy.classify(at)
  if (recipient.kind === 'forwarded-sender') return [{ at, sender: recipient.sender }]
  if (recipient.kind !== 'return-path' || recipient.recipientId === null) return []
  const [row] = await recipientOfAnyWorkspace(read, { id: recipient.recipientId })
  if (row === undefined || row.workspace_id !== SERVICE_WORKSPACE) return []
  const [sent] = await emailById(read, { workspaceId: SERVICE_WORKSPACE, id: row.email_id })
  return sent === undefined || !isForwarded(sent) || sent.envelope_from === ''
    ? []
    : [{ at, sender: row.notify === NO_NOTICE ? null : sent.envelope_from }]
}

async function findFault(read: Read, buckets: TokenBuckets, sender: Address, now: number): Promise<string | null> {
  if (await isSuppressed(read, SERVICE_WORKSPACE, sender)) return 'suppressed'
  return buckets.take(toLowerCaseAddress(sender), now) === 0 ? null : 'rate'
}

interface PassedReturn {
  readonly at: Address
  readonly sender: Address
}

function queueReturn({ hostname }: ReturnDeps, inbound: InboundEmail, { at, sender }: PassedReturn, now: number) {
  return enqueuePassedOn({
    inbound,
    skipped: RETURN_PATH.length,
    fields: '',
    messageId: createMessageId(inbound.id, hostname),
    subject: '',
    envelopeFrom: '',
    by: at,
    to: [{ address: sender, suppressed: false, notify: null, orcpt: null }],
    smtputf8: false,
    // The bounce decides, as where one is passed on to a client.
    requiresTls: false,
    now,
  })
}
