/**
 * Writes the service's own mail: reads the event log from where it was, and puts what people
 * must hear into the queue.
 *
 * The mails of an event and the place in the log are one commit: none is written twice, and
 * none is left out, whenever the process ends. A bug over one event is logged and passed over,
 * or nobody would ever hear of the next one.
 */
import type { Address } from '../mail/address.js'
import type { Log } from '../platform/log.js'
import type { Read } from '../storage/prepared.js'
import { SERVICE } from '../storage/tables/tables.js'
import { type Commit, StorageFault } from '../storage/writer/write.js'
import { isSuppressed } from '../suppressions/suppressions.js'
import { type DomainTrouble, domainNotice } from './domain-notice.js'
import { type InvitationNoticeDeps, invitationNotice } from './invitation-notice.js'
import { type NoticeMail, type ServiceSender, type Written, writtenMail } from './notice-mail.js'
import { cursorOf, moveCursor, type ToldEvent, toldAfter } from './told-events.js'

const POLL = 1_000
const PAGE = 20

export interface NoticeDeps extends InvitationNoticeDeps, ServiceSender {
  readonly read: Read
  readonly commit: Commit
  readonly clock: () => number
  readonly log: Pick<Log, 'info' | 'error'>
  /** Hands mail that is on disk to delivery. */
  readonly offer: (enqueued: Written['enqueued'], raw: Buffer) => void
}

export class NoticeWriter {
  private timer: NodeJS.Timeout | null = null
  private running: Promise<void> | null = null
  private again = false
  private stopping = false
  private troubled = false

  constructor(private readonly deps: NoticeDeps) {}

  start(): void {
    this.timer = setInterval(() => this.notice(), POLL)
    this.notice()
  }

  /** There may be something new. */
  notice(): void {
    if (this.stopping) return
    if (this.running !== null) {
      this.again = true
      return
    }
    this.running = this.readOn().finally(() => {
      this.running = null
      if (!this.again) return
      this.again = false
      this.notice()
    })
  }

  /** Ends after the event that is in hand. */
  async stop(): Promise<void> {
    this.stopping = true
    if (this.timer !== null) clearInterval(this.timer)
    await this.running
  }

  private async readOn(): Promise<void> {
    const { read, log } = this.deps
    try {
      let events: readonly ToldEvent[]
      do {
        events = toldAfter(read, { seq: cursorOf(read), limit: PAGE })
        for (const event of events) {
          if (this.stopping) return
          await this.tell(event)
        }
      } while (events.length === PAGE)
      this.troubled = false
    } catch (err) {
      // The timer comes again; it is said once.
      if (!this.troubled) log.error({ err }, 'notices cannot be written now')
      this.troubled = true
    }
  }

  private async tell(event: ToldEvent): Promise<void> {
    const { commit, offer } = this.deps
    const mails = this.mailsOf(event)
    try {
      await commit([...mails.flatMap(({ enqueued }) => enqueued.writes), moveCursor(event.seq)])
    } catch (err) {
      // The disk's fault: the timer comes again.
      if (err instanceof StorageFault) throw err
      this.passedOver(event, err)
      return commit([moveCursor(event.seq)])
    }
    for (const { enqueued, raw } of mails) offer(enqueued, raw)
  }

  private passedOver({ seq, type }: ToldEvent, err: unknown): void {
    this.deps.log.error({ err, seq, type }, 'a notice could not be written')
  }

  private mailsOf(event: ToldEvent): readonly Written[] {
    const now = this.deps.clock()
    try {
      return this.noticesOf(event, now)
        .filter(({ to }) => this.isWrittenTo(to, event))
        .map((mail) => writtenMail(this.deps, mail, now))
    } catch (err) {
      this.passedOver(event, err)
      return []
    }
  }

  /** Mail of the service that bounced for good from an address is the last that it gets. */
  private isWrittenTo(recipient: Address, { type }: ToldEvent): boolean {
    const { read, log } = this.deps
    if (!isSuppressed(read, SERVICE, recipient)) return true
    log.info({ recipient, type, reason: 'suppressed' }, 'a notice was not written')
    return false
  }

  private noticesOf({ type, workspace_id: workspaceId, data }: ToldEvent, now: number): readonly NoticeMail[] {
    const about: unknown = JSON.parse(data)
    return type === 'invitation.created'
      ? invitationNotice(this.deps, about as { readonly invitation_id: string }, now)
      : domainNotice(this.deps.read, workspaceId, type, about as DomainTrouble)
  }
}
