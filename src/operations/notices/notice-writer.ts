/**
 * A *notice* is a mail of the service to a person: the writer reads the event log from a cursor and queues the notices
 * of each event. The log has a cursor for each slot.
 *
 * The mails of an event and the new cursor are one commit, so no notice is repeated or lost when the process ends, or when
 * another node writes the notices from then on. An event that causes an error is logged and skipped, so that it does not block the events after it.
 */

import type { Address } from '../../base/mail/address.js'
import { toOneLine } from '../../base/mail/printable.js'
import { filterAsync } from '../../base/platform/async-filter.js'
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { StorageFault, tryCommit, type Write } from '../../base/storage/db/write.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import type { ChecksFailedData } from '../../records/events/payloads.js'
import type { ServiceNotice, ServiceSender } from '../../records/messages/service-email.js'
import { isSuppressed } from '../../records/suppressions/suppressions.js'
import { administratorsOf } from '../../workspaces/accounts/people/members.js'
import { describeCheckResult } from '../concerns/trouble-words.js'
import { buildDomainNotices } from './domain-notice.js'
import { buildInvitationNotices, type InvitationNoticeDeps } from './invitation-notice.js'
import { moveCursor, type NoticeEvent, noticeEventsAfter, readCursor, readNoticeSlots } from './notice-events.js'
import { composeNotice, formatTime, type NoticeMail, type Piece } from './notice-mail.js'
import { buildReleaseNotices, buildSendingNotices } from './sending-notice.js'
import { buildSmsNotices } from './sms-notice.js'
import { buildWebhookNotices } from './webhook-notice.js'

/** Findings of one mail that are described; the others are counted. */
const MAX_DESCRIBED = 50

const POLL_INTERVAL = 1_000
const PAGE_SIZE = 20

interface NoticeDeps extends InvitationNoticeDeps, ServiceSender, Store {
  readonly clock: () => number
  readonly log: Pick<Log, 'info' | 'error'>
  /** Hands committed mail to delivery. */
  readonly offer: (enqueued: ServiceNotice['enqueued']) => void
}

export class NoticeWriter {
  private timer: NodeJS.Timeout | null = null
  private running: Promise<void> | null = null
  private rerunNeeded = false
  private isStopping = true
  private isFailing = false

  constructor(private readonly deps: NoticeDeps) {}

  /** It may be called again after `stop`. */
  start(): void {
    this.isStopping = false
    this.timer = setInterval(() => this.wake(), POLL_INTERVAL)
    this.wake()
  }

  /**
   * Starts a run, or another one after the current, because there may be new events. Does nothing before the start, and
   * while another node writes the notices.
   */
  wake(): void {
    if (this.isStopping) return
    if (this.running !== null) {
      this.rerunNeeded = true
      return
    }
    this.running = this.processEvents().finally(() => {
      this.running = null
      if (!this.rerunNeeded) return
      this.rerunNeeded = false
      this.wake()
    })
  }

  /** Resolves after the current event. */
  async stop(): Promise<void> {
    this.isStopping = true
    if (this.timer !== null) clearInterval(this.timer)
    await this.running
  }

  private async processEvents(): Promise<void> {
    const { read, log } = this.deps
    try {
      for (const slot of await readNoticeSlots(read)) await this.processSlot(slot)
      this.isFailing = false
    } catch (err) {
      // The timer tries again; an outage is logged once.
      if (!this.isFailing) log.error({ err }, 'notices cannot be written now')
      this.isFailing = true
    }
  }

  private async processSlot(slot: number): Promise<void> {
    const { read } = this.deps
    let events: readonly NoticeEvent[]
    do {
      let cursor = await readCursor(read, slot)
      events = await noticeEventsAfter(read, { slot, seq: cursor, limit: PAGE_SIZE })
      for (const event of events) {
        if (this.isStopping) return
        const isDone = await this.processEvent(event, moveCursor(slot, cursor, event.seq))
        if (!isDone) return
        cursor = event.seq
      }
    } while (events.length === PAGE_SIZE)
  }

  /** Resolves to false if another node has written the notices in the meantime: the timer begins at its place. */
  private async processEvent(event: NoticeEvent, move: Write): Promise<boolean> {
    const { commit, offer } = this.deps
    const mails = await this.composeNotices(event)
    try {
      await commit([...mails.flatMap(({ enqueued }) => enqueued.writes), move])
    } catch (err) {
      // The disk has a fault, so the timer tries again.
      if (err instanceof StorageFault) throw err
      if (!(await tryCommit(commit([move])))) return false
      this.logSkipped(event, err)
      return true
    }
    for (const { enqueued } of mails) offer(enqueued)
    return true
  }

  private logSkipped({ seq, type }: NoticeEvent, err: unknown): void {
    this.deps.log.error({ err, seq, type }, 'a notice could not be written')
  }

  private async composeNotices(event: NoticeEvent): Promise<readonly ServiceNotice[]> {
    const now = this.deps.clock()
    try {
      const mails = await filterAsync(await this.buildNotices(event, now), ({ to }) => this.mayWriteTo(to, event))
      return mails.map((mail) => composeNotice(this.deps, mail, now))
    } catch (err) {
      this.logSkipped(event, err)
      return []
    }
  }

  /** An address that has permanently bounced mail of the service gets no more of it. */
  private async mayWriteTo(recipient: Address, { type }: NoticeEvent): Promise<boolean> {
    const { read, log } = this.deps
    if (!(await isSuppressed(read, SERVICE_WORKSPACE, recipient))) return true
    log.info({ recipient, type, reason: 'suppressed' }, 'a notice was not written')
    return false
  }

  private async buildNotices(event: NoticeEvent, now: number): Promise<readonly NoticeMail[]> {
    const { read, publicUrl } = this.deps
    const { workspace_id: workspaceId } = event
    switch (event.type) {
      case 'invitation.created':
        return buildInvitationNotices(this.deps, parseJson(event.data), now)
      case 'webhook.disabled':
        return buildWebhookNotices({ read, publicUrl }, event, parseJson(event.data))
      case 'service.checks_failed':
        return buildDoctorNotices(read, workspaceId, parseJson(event.data))
      case 'sms.held':
        return buildSmsNotices(read, event, parseJson(event.data))
      case 'sending.warned':
      case 'sending.held':
        return buildSendingNotices(read, event, parseJson(event.data))
      case 'sending.released':
        return buildReleaseNotices(read, event, parseJson(event.data))
      default:
        return buildDomainNotices(read, workspaceId, event.type, parseJson(event.data))
    }
  }
}

/**
 * Notices of what the daily checks found newly, with what to do, to the owner and the admins of the operator's workspace.
 */
export async function buildDoctorNotices(
  read: Read,
  workspaceId: string,
  data: ChecksFailedData,
): Promise<readonly NoticeMail[]> {
  const { findings } = data
  const failures = findings.filter(({ state }) => state === 'fail').length
  const subject = `The daily check found ${describeCounts(failures, findings.length - failures)}`
  const pieces = buildPieces(data, subject)
  return (await administratorsOf(read, { workspaceId })).map(({ email }) => ({ to: email, subject, pieces }))
}

function describeCounts(failures: number, warnings: number): string {
  const counts = [formatCount(failures, 'failure'), formatCount(warnings, 'warning')]
  return counts.filter((text) => text !== '').join(' and ')
}

function formatCount(count: number, what: string): string {
  if (count === 0) return ''
  return count === 1 ? `a ${what}` : `${count} ${what}s`
}

type Finding = ChecksFailedData['findings'][number]

function buildPieces({ checked_at, findings }: ChecksFailedData, subject: string): readonly Piece[] {
  const sorted = findings.toSorted((one, other) => Number(other.state === 'fail') - Number(one.state === 'fail'))
  const left = sorted.length - MAX_DESCRIBED
  return [
    { kind: 'text', text: `${subject} on ${formatTime(Date.parse(checked_at))}:` },
    ...sorted.slice(0, MAX_DESCRIBED).flatMap(buildFinding),
    ...(left > 0 ? [{ kind: 'text', text: `${left} more findings are not listed here.` } as const] : []),
    { kind: 'text', text: 'This command repeats the checks and shows all findings:' },
    { kind: 'list', lines: ['posthorn doctor'] },
    {
      kind: 'text',
      text: 'You get at most one such notice a day. It contains no finding that was in an earlier notice.',
    },
  ]
}

function buildFinding({ check, subject, node, state, text, remedy }: Finding): readonly Piece[] {
  const lines = remedy.map((line) => toOneLine(line))
  const place = node === undefined ? subject : `${subject} on node ${node}`
  const sentence = toOneLine(
    `${state === 'fail' ? 'Failure' : 'Warning'} (${check}) ${describeCheckResult({ subject: place, text })}`,
  )
  return [{ kind: 'text', text: sentence }, ...(lines.length === 0 ? [] : [{ kind: 'list', lines } as const])]
}
