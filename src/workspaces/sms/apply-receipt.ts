/**
 * Applies what a provider reports about a message. One commit has the state of the part, the delivery of the code
 * and its event.
 *
 * A receipt may come before the commit of the provider's acceptance. If we do not know the message yet, we keep the
 * receipt in memory, try it again for a minute, then log and drop it. A crash that clears the memory loses nothing:
 * a code whose acceptance was not committed is void after a restart.
 */
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import type { SmsDelivery, SmsPartsTable } from '../../base/storage/tables/sms-tables.js'
import type { Receipt } from './provider.js'
import {
  findPart,
  findReportedCode,
  listPartStates,
  markDelivered,
  markUndelivered,
  settlePart,
  settleParts,
} from './receipt-records.js'
import { recordSmsDelivered, recordSmsFailed } from './sms-events.js'
import { WaitingReceipts } from './waiting-receipts.js'

interface ReceiptDeps extends Store {
  readonly clock: Clock
  readonly log: Pick<Log, 'debug' | 'info' | 'warn'>
}

/** How often receipts of one message at the same moment are tried. Each round applies one of them. */
const MAX_ROUNDS = 50

/** `too-early` means that the message may become known. `unknown` means that the message is gone. */
type ReceiptResult = 'applied' | 'too-early' | 'unknown'

export class ReceiptApplier {
  private readonly waiting: WaitingReceipts

  constructor(private readonly deps: ReceiptDeps) {
    this.waiting = new WaitingReceipts(deps.log, async (receipt) => (await this.tryApply(receipt)) !== 'too-early')
  }

  /**
   * `applied` means that the receipt is on disk, now or by an earlier receipt. `unknown` means that there is no such
   * message, and that we try again for a minute. Rejects with StorageFault, so that the provider repeats the
   * receipt.
   */
  async apply(receipt: Receipt): Promise<'applied' | 'unknown'> {
    const result = await this.tryApply(receipt)
    if (result === 'applied') return 'applied'
    if (result === 'too-early') this.waiting.add(receipt)
    return 'unknown'
  }

  /** Drops the receipts that wait. Resolves when none is being applied again. Call it before the database closes. */
  stop(): Promise<void> {
    return this.waiting.stop()
  }

  private async tryApply(receipt: Receipt): Promise<ReceiptResult> {
    const { read, commit, clock, log } = this.deps
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const plan = await planReceipt(read, receipt, clock())
      if (typeof plan === 'string') return plan
      if (plan.writes.length === 0) return 'applied'
      if (await tryCommit(commit(plan.writes))) {
        logReceipt(log, receipt, plan.code)
        return 'applied'
      }
    }
    throw new Error(`a receipt of ${receipt.provider} was not applied in ${MAX_ROUNDS} rounds`)
  }
}

type ReportedCode = Awaited<ReturnType<typeof findReportedCode>>[number]
type ReportedPart = Awaited<ReturnType<typeof findPart>>[number]

interface Plan {
  readonly code: ReportedCode
  readonly writes: readonly Write[]
}

async function planReceipt(
  read: Read,
  receipt: Receipt,
  at: number,
): Promise<Plan | Exclude<ReceiptResult, 'applied'>> {
  const { smsId, state } = receipt
  const part = smsId === null ? await findReportedPart(read, receipt) : undefined
  const id = smsId ?? part?.sms_id
  if (id === undefined) return 'too-early'
  const code = (await findReportedCode(read, { id }))[0]
  if (code === undefined) return 'unknown'
  const ref = { id, workspaceId: code.workspace_id }
  const effect = decideReceipt(
    { delivery: code.delivery, parts: await listPartStates(read, ref), part: part?.part ?? null },
    state,
  )
  if (effect === null) return 'too-early'
  const { settles, delivered } = effect
  const writes: Write[] = []
  if (settles === 'parts') writes.push(settleParts({ ...ref, state }))
  if (settles === 'part' && part !== undefined) writes.push(settlePart({ ...ref, part: part.part, state, delivered }))
  if (effect.delivery === 'delivered') writes.push(markDelivered({ ...ref, at }), recordSmsDelivered(code, at))
  if (effect.delivery === 'failed')
    writes.push(markUndelivered({ ...ref, at }), recordSmsFailed(code, 'undelivered', at))
  return { code, writes }
}

async function findReportedPart(read: Read, { provider, messageIds }: Receipt): Promise<ReportedPart | undefined> {
  for (const messageId of messageIds) {
    const [part] = await findPart(read, { provider, messageId })
    if (part !== undefined) return part
  }
  return undefined
}

function logReceipt(log: ReceiptDeps['log'], { state, reason }: Receipt, code: ReportedCode): void {
  const { id: sms_id, workspace_id, phone, country, provider } = code
  const line = { sms_id, workspace_id, phone, country, provider, reason }
  if (state === 'delivered') log.debug(line, 'receipt: delivered')
  else log.info(line, 'receipt: not delivered')
}

type Part = Pick<SmsPartsTable, 'part' | 'state'>

interface ReportedMessage {
  readonly delivery: SmsDelivery
  readonly parts: readonly Part[]
  /** Null means that the receipt is for the entire message. */
  readonly part: number | null
}

interface ReceiptEffect {
  /** Which parts get the state of the receipt: one part, or all parts without a final state. */
  readonly settles: 'part' | 'parts' | null
  /** The delivery of the code from now on. Null leaves it as it is. */
  readonly delivery: Receipt['state'] | null
  /** Parts that were delivered before the receipt. */
  readonly delivered: number
}

/**
 * Decides what a receipt changes.
 *
 * The first final state of a part counts. A message is delivered when all of its parts are, and has failed when one
 * of them has. A receipt for the entire message settles the parts that have no final state.
 *
 * Null means that the commit of the provider's acceptance is not made yet.
 */
function decideReceipt(message: ReportedMessage, state: Receipt['state']): ReceiptEffect | null {
  const { delivery, parts, part } = message
  if (delivery === 'sending') return null
  const delivered = parts.filter((each) => each.state === 'delivered').length
  const unsettled = parts.filter((each) => each.state === 'sent')
  const isOpen = delivery === 'sent'
  if (part === null) {
    return { settles: isOpen && unsettled.length > 0 ? 'parts' : null, delivery: isOpen ? state : null, delivered }
  }
  if (!unsettled.some((each) => each.part === part)) return { settles: null, delivery: null, delivered }
  const isLast = delivered === parts.length - 1
  const isFinal = isOpen && (state === 'failed' || isLast)
  return { settles: 'part', delivery: isFinal ? state : null, delivered }
}
