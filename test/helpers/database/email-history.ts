/**
 * Histories of emails, made with the program's own writes: what is sent, settled, reported, opened, clicked, removed
 * and erased. Keeps what it knew of emails and events before they were removed.
 */
import { parseAddress } from '../../../src/base/mail/address.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { eraseWorkspace } from '../../../src/base/storage/maintenance/erase.js'
import { type Json, parseJson, toJson } from '../../../src/base/storage/tables/columns.js'
import type { Tag } from '../../../src/base/storage/tables/email-tables.js'
import { FirstHits } from '../../../src/outbound/tracking/first-hits.js'
import type { ClickHit, Hit } from '../../../src/outbound/tracking/hit.js'
import { createLinkId } from '../../../src/outbound/tracking/link-id.js'
import { LinkSweeps } from '../../../src/outbound/tracking/link-sweeps.js'
import { insertLinks, removeOldLinks } from '../../../src/outbound/tracking/links.js'
import { joinWrites, type PlannedHit, planHit } from '../../../src/outbound/tracking/plan-hits.js'
import { emailById } from '../../../src/records/messages/email/email.js'
import { recipientsOfEmail } from '../../../src/records/messages/email/recipients.js'
import { type LateOutcome, resolveLateOutcome } from '../../../src/records/messages/late-outcome.js'
import { enqueue } from '../../../src/records/messages/queue/enqueue.js'
import type { QueueEntry } from '../../../src/records/messages/queue/queue.js'
import {
  type AttemptRecord,
  settleAccepted,
  settleBounced,
  settleFailed,
} from '../../../src/records/messages/queue/settle.js'
import { MessagePurge } from '../../../src/records/messages/retention.js'
import { cancelScheduled } from '../../../src/records/messages/scheduled-change.js'
import type { Step } from './arbitrary-history.js'
import { rowOf } from './rows.js'

const DAY = 86_400_000
const START = Date.UTC(2026, 9, 24, 20, 50)
const WORKSPACES = ['ws_1', 'ws_2'] as const
const DOMAINS = ['a.test', 'b.test', 'c.test'] as const
/** Two of them are one in metrics. */
const TAGS: readonly Tag[] = [
  { name: 'campaign', value: 'spring' },
  { name: 'a', value: 'b:c' },
  { name: 'a:b', value: 'c' },
  { name: 'größe', value: "it's" },
]
/** Two have as many bytes as a URL in the metrics of links may have, and more. */
const LINKS = [
  'https://example.com/',
  'https://example.com/?a=1',
  "https://example.com/it's",
  'https://b.test/',
  'x:',
  `https://example.com/${'ü'.repeat(990)}`,
  `https://example.com/${'ü'.repeat(990)}a`,
]
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
const MACHINE = 'Mozilla/5.0 (compatible; GoogleImageProxy)'

interface KnownEmail {
  readonly id: string
  readonly workspace_id: string
  readonly from_domain: string
  readonly tags: string
  readonly status: string
  readonly created_at: number
  readonly opened_at: number | null
  readonly clicked_at: number | null
  /** JSON: of each recipient, what it counts as. */
  readonly recipients: string
  /** It is still there. */
  exists: boolean
}

interface KnownHit {
  readonly id: string
  readonly email_id: string
  readonly type: 'email.opened' | 'email.clicked'
  readonly machine: 0 | 1
  readonly url: string | null
}

type EmailStep = Exclude<Step, { readonly kind: 'send' | 'wait' | 'remove' | 'erase' }>
type SendStep = Extract<Step, { readonly kind: 'send' }>

interface EmailRef {
  readonly id: string
  readonly workspaceId: string
}

export class History {
  readonly emails = new Map<string, KnownEmail>()
  readonly hits = new Map<string, KnownHit>()
  private readonly ids: string[] = []
  private readonly sweeps = new LinkSweeps()
  private readonly words = new Set<string>()
  private now = START
  private logBegins = 0
  private hitCount = 0

  constructor(private readonly database: Database) {}

  /** What has occurred: statuses of emails and kinds of hits and removals. */
  seen(): ReadonlySet<string> {
    return this.words
  }

  async run(steps: readonly Step[]): Promise<void> {
    await this.commit(
      await Promise.all(WORKSPACES.map((id) => rowOf(this.database.read)('workspaces', { id, slug: id }))),
    )
    for (const step of steps) {
      this.now += 1_000
      await this.take(step)
      await this.remember()
    }
  }

  private async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'send':
        return this.send(step)
      case 'wait':
        this.now += step.minutes * 60_000
        return
      case 'remove':
        return this.remove(step)
      case 'erase':
        return this.erase()
      default: {
        const known = this.emails.get(this.ids[step.email % Math.max(1, this.ids.length)] ?? '')
        if (known?.exists) await this.change(known, step)
      }
    }
  }

  private async change({ id, workspace_id: workspaceId }: KnownEmail, step: EmailStep): Promise<void> {
    switch (step.kind) {
      case 'settle':
        return this.settle({ id, workspaceId }, step.outcome)
      case 'report':
        return this.report({ id, workspaceId }, step.news)
      case 'cancel':
        return cancelScheduled(this.database, { workspaceId, ownKey: null }, id, this.now).catch(() => undefined)
      case 'open':
        return this.record([{ ...this.hitOf(id, step.machine), kind: 'open' }])
      case 'click':
        return this.click(id, step)
      case 'sweep':
        return this.sweep(id, step.first)
    }
  }

  private async send({ workspace, domain, tags, recipients, form }: SendStep): Promise<void> {
    const workspaceId = WORKSPACES[workspace] ?? 'ws_1'
    const isBroadcast = form === 'broadcast'
    const id = `${isBroadcast ? 'bc-' : ''}${uuidv7(this.now)}`
    const to = Array.from({ length: isBroadcast ? 1 : recipients }, (_, at) => `bob-${at}@b.test`)
    const { writes } = enqueue(
      {
        ...{ id, workspace_id: workspaceId, source: 'rest', message_id: '<1@a.test>', envelope_from: '', envid: null },
        ...{ ret: null, from_email: parseAddress(`app@${DOMAINS[domain]}`), from_name: '', to_emails: toJson(to) },
        ...{ cc_emails: toJson([]), bcc_emails: toJson([]), reply_to: toJson([]), subject: 's' },
        tags: toJson(tags.flatMap((place) => TAGS[place] ?? [])),
        ...{ track_opens: 1, track_clicks: 1, tracking_skipped: null, has_copies: 0, priority: 'low', smtputf8: 0 },
        ...{ created_at: this.now, key_id: null, template_id: null, broadcast_id: isBroadcast ? 'broadcast' : null },
        scheduled_for: form === 'scheduled' ? this.now + 3_600_000 : null,
      },
      to.map((address, at) => ({ address: parseAddress(address), suppressed: at === 2, notify: null, orcpt: null })),
      Buffer.from('Subject: s\r\n\r\n'),
    )
    const links = toJson(LINKS.map((url) => [createLinkId(this.now), url] as const))
    const ofLinks = insertLinks({ links, workspace_id: workspaceId, email_id: id, created_at: this.now })
    await this.commit([...writes, ...(isBroadcast ? [] : [ofLinks])])
    this.ids.push(id)
    if (isBroadcast) this.words.add('broadcast')
  }

  /** The next recipient that is queued. */
  private async settle({ id, workspaceId }: EmailRef, outcome: string): Promise<void> {
    const entry = (await this.database.read<QueueEntry>('select * from queue where email_id = ? order by id', [id]))[0]
    const [sent] = await emailById(this.database.read, { workspaceId, id })
    if (entry === undefined || sent === undefined || sent.status === 'scheduled') return
    const attempted: AttemptRecord = {
      ...{ entry, email: sent, number: 1, at: this.now, endedAt: this.now, mx: null, address: null, tls: null },
      ...{ reached: true, response: 'r', reason: null, transcript: '' },
    }
    if (outcome === 'failed') return this.commit(settleFailed(attempted))
    if (outcome === 'bounced') return this.commit(settleBounced(attempted, true))
    return this.commit(settleAccepted(attempted, outcome === 'delivered'))
  }

  private async report({ id, workspaceId }: EmailRef, kind: 'refused' | 'delivered' | 'complained'): Promise<void> {
    const { read } = this.database
    const [sent] = await emailById(read, { workspaceId, id })
    const [recipient] = await recipientsOfEmail(read, { workspaceId, emailId: id })
    if (sent === undefined || recipient === undefined) return
    const news: Readonly<Record<typeof kind, LateOutcome>> = {
      refused: { kind: 'refused', reason: 'bad-mailbox', diagnostic: 'gone' },
      delivered: { kind: 'delivered', diagnostic: 'ok' },
      complained: { kind: 'complained', feedbackType: 'abuse' },
    }
    const outcome = await resolveLateOutcome(read, { recipient, email: sent }, news[kind], this.now)
    if (outcome.kind === 'acts') await this.commit(outcome.writes)
  }

  private async click(id: string, step: Extract<Step, { readonly kind: 'click' }>): Promise<void> {
    const links = await this.linksOf(id)
    const link = links[step.link % Math.max(1, links.length)]
    if (link !== undefined) await this.record([{ ...this.hitOf(id, step.machine), ...link, kind: 'click' }])
  }

  private async sweep(id: string, first: number): Promise<void> {
    const by = { ...this.hitOf(id, false), address: '198.51.100.7' }
    const clicks = (await this.linksOf(id)).map((link): Hit => ({ ...by, ...link, kind: 'click' }))
    // A sweep counts clicks again from the log.
    if (id.startsWith('bc-') || (this.emails.get(id)?.created_at ?? 0) < this.logBegins) return
    await this.record(clicks.slice(0, first))
    await this.record(clicks.slice(first))
    if (clicks.length > 3) this.words.add('swept')
  }

  private hitOf(emailId: string, machine: boolean): Omit<Extract<Hit, { readonly kind: 'open' }>, 'kind'> {
    // An address of its own, or several clicks within seconds would be a sweep.
    this.hitCount += 1
    return { emailId, address: `192.0.2.${this.hitCount % 256}`, userAgent: machine ? MACHINE : BROWSER, at: this.now }
  }

  /** Of an email of a broadcast: those that its recipient may click, of which a person's first click counts. */
  private async linksOf(id: string): Promise<readonly Pick<ClickHit, 'linkId' | 'url' | 'referer'>[]> {
    if (id.startsWith('bc-')) {
      const isClicked = [...this.hits.values()].some((hit) => hit.email_id === id && hit.type === 'email.clicked')
      return isClicked ? [] : LINKS.map((url) => ({ linkId: 'none', url, referer: null }))
    }
    const rows = await this.database.read<{ id: string; url: string }>('select id, url from links where email_id = ?', [
      id,
    ])
    return rows.map(({ id: linkId, url }) => ({ linkId, url, referer: null }))
  }

  private async record(hits: readonly Hit[]): Promise<void> {
    const { read } = this.database
    const deps = { read, sweeps: this.sweeps, firsts: new FirstHits(read), isAllowed: () => true }
    const planned: PlannedHit[] = []
    for (const hit of hits) {
      const one = await planHit(deps, hit)
      if (one !== null) planned.push(one)
    }
    await this.commit(joinWrites(planned))
  }

  private async remove({ days, linkDays }: Extract<Step, { readonly kind: 'remove' }>): Promise<void> {
    const before = this.now - days * DAY
    this.logBegins = Math.max(this.logBegins, before)
    const purge = new MessagePurge(this.database, { messagesBefore: before, eventsBefore: before })
    while (await purge.step());
    while (await removeOldLinks(this.database, before - linkDays * DAY));
  }

  private async erase(): Promise<void> {
    this.words.add('erased')
    const [first] = WORKSPACES
    await eraseWorkspace(this.database, first)
    const gone = [...this.emails.values()].filter(({ workspace_id }) => workspace_id === first)
    for (const { id } of gone) this.emails.delete(id)
  }

  /** Reads everything that is there, so that it is known after it was removed. */
  private async remember(): Promise<void> {
    const { read } = this.database
    for (const known of this.emails.values()) known.exists = false
    const recipients = await read<{ email_id: string; state: string }>(
      `select email_id, case when complained_at is not null then 'complained' when status = 'scheduled' then 'queued'
        else status end as state from recipients`,
      [],
    )
    const states = Map.groupBy(recipients, (row) => row.email_id)
    const emails = await read<Omit<KnownEmail, 'recipients' | 'exists'>>(
      'select id, workspace_id, from_domain, tags, status, created_at, opened_at, clicked_at from emails',
      [],
    )
    for (const known of emails) {
      const ofEmail = (states.get(known.id) ?? []).map(({ state }) => state)
      this.emails.set(known.id, { ...known, recipients: JSON.stringify(ofEmail), exists: true })
    }
    const hits = await read<Omit<KnownHit, 'machine' | 'url'> & { data: Json<{ machine: boolean; url?: string }> }>(
      `select id, email_id, type, data from events where type in ('email.opened', 'email.clicked')`,
      [],
    )
    for (const { data, ...hit } of hits) {
      const { machine, url = null } = parseJson(data)
      this.hits.set(hit.id, { ...hit, machine: machine ? 1 : 0, url })
    }
    for (const { status, exists } of this.emails.values()) this.words.add(exists ? status : 'removed')
    for (const { type, machine } of this.hits.values()) this.words.add(`${machine === 1 ? 'machine ' : ''}${type}`)
  }

  private async commit(writes: readonly Write[]): Promise<void> {
    if (writes.length > 0) await this.database.commit(writes)
  }
}
