/**
 * Counts what became of the newest mail of a window, by mailbox provider and by reason. Nothing counts this while mail is
 * sent, so the events are read: of each type the newest `MAX_EVENTS`. If the window has more of one type, older events of
 * the others do not count either, so that shares stay right.
 *
 * A provider is recognized by the domain of an address. Domains of customers are counted under their own name.
 */
import { nameProviderGroup, providerOfDomain } from '../../base/mail/mailbox-providers.js'
import { describeReason, reasons } from '../../base/mail/reasons.js'
import { prepareRead, type Read, type StatementBuilder } from '../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { EventsTable, EventType } from '../../base/storage/tables/email-tables.js'
import { findSeqRange, isInTime } from './event-times.js'

/** Events of one type that are read. */
const MAX_EVENTS = 2_000
/** Events that are read with their data at once. Each may have 15 KB of it, which is parsed. */
const DATA_STEP = 40
/** The others are one row. */
const MAX_PROVIDERS = 12
const OTHERS = 'other domains'

type Outcome = 'delivered' | 'bounced' | 'failed'

const outcomes = [
  ['email.delivered', 'delivered'],
  ['email.bounced', 'bounced'],
  ['email.failed', 'failed'],
] as const satisfies readonly (readonly [EventType, Outcome])[]

type Step = { readonly workspaceId: string; readonly type: EventType } & Readonly<
  Record<'from' | 'before' | 'limit', number>
>

/** The inner read finds the events in the index of types alone. Their rows come in any order. */
function findNewest({ db, slot }: StatementBuilder<Step>) {
  return db
    .selectFrom('events')
    .select(['seq', 'created_at', 'recipient'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('seq', 'in', (eb) =>
      eb
        .selectFrom('events')
        .select('seq')
        .where('type', '=', slot('type'))
        .where('seq', '>=', slot('from'))
        .where('seq', '<', slot('before'))
        .where('workspace_id', '=', slot('workspaceId'))
        .orderBy('seq', 'desc')
        .limit(slot('limit')),
    )
}

const newestOfType = prepareRead<Step>()(findNewest)
const newestWithData = prepareRead<Step>()((builder) => findNewest(builder).select('data'))

type Row = Pick<EventsTable, 'created_at' | 'recipient'> & { readonly seq: number; readonly data?: string }

/** What counts of an event. The data of thousands of events would take many megabytes. */
interface CountedEvent {
  readonly seq: number
  readonly createdAt: number
  readonly provider: string
  /** Null if the mail is delivered. */
  readonly reason: string | null
  /** False if the filter leaves it out. */
  readonly fits: boolean
}

interface OutcomeRequest {
  readonly workspaceId: string
  /** The sender's domain. Undefined means all. */
  readonly domain: string | undefined
  /** `name:value`. Undefined means all. */
  readonly tag: string | undefined
  readonly window: { readonly start: number; readonly end: number }
}

type Counts = Readonly<Record<Outcome, number>>

interface RecentOutcomes {
  /** Null if the whole window was counted, else the time from which events count. */
  readonly since: number | null
  /** Those with most mail first. */
  readonly providers: readonly (Counts & { readonly name: string })[]
  /** The reasons of bounces and failures, the most frequent first. */
  readonly reasons: readonly { readonly reason: string; readonly text: string; readonly count: number }[]
}

interface Found {
  readonly outcome: Outcome
  readonly events: readonly CountedEvent[]
  readonly isComplete: boolean
}

export async function countRecentOutcomes(read: Read, request: OutcomeRequest): Promise<RecentOutcomes> {
  const { start: from, end: to } = request.window
  const range = await findSeqRange(read, { from, to })
  const found: Found[] = []
  for (const [type, outcome] of outcomes) {
    found.push({ outcome, ...(await readNewest(read, request, { type, outcome, ...range })) })
  }
  const cut = Math.max(0, ...found.filter((one) => !one.isComplete).map(({ events }) => events.at(-1)?.seq ?? 0))
  const tally = new Tally()
  let since: number | null = null
  for (const { outcome, events } of found) {
    for (const event of events) {
      if (event.seq < cut) break
      if (event.seq === cut) since = event.createdAt
      if (event.fits) tally.add(outcome, event)
    }
  }
  return { since, ...tally.show() }
}

interface EventRange {
  readonly type: EventType
  readonly outcome: Outcome
  readonly first: number
  readonly end: number
}

async function readNewest(
  read: Read,
  request: OutcomeRequest,
  { type, outcome, first, end }: EventRange,
): Promise<Omit<Found, 'outcome'>> {
  const { workspaceId, window } = request
  const needsData = outcome !== 'delivered' || request.domain !== undefined || request.tag !== undefined
  const [newest, limit] = needsData ? [newestWithData, DATA_STEP] : [newestOfType, ROW_STEP]
  const events: CountedEvent[] = []
  let before = end
  while (events.length < MAX_EVENTS) {
    const rows: readonly Row[] = await newest(read, { workspaceId, type, from: first, before, limit })
    const step = rows.toSorted((one, other) => other.seq - one.seq)
    for (const row of step) {
      if (isInTime({ from: window.start, to: window.end }, row)) events.push(toCountedEvent(outcome, row, request))
    }
    await waitForStep()
    const last = step[limit - 1]
    if (last === undefined) return { events, isComplete: true }
    before = last.seq
  }
  return { events, isComplete: false }
}

interface CountedData {
  readonly from?: string
  readonly tags?: Readonly<Record<string, string | readonly string[]>>
  readonly bounce_subtype?: string | null
  readonly reason?: string | null
}

function toCountedEvent(
  outcome: Outcome,
  { seq, created_at: createdAt, recipient, data = '{}' }: Row,
  { domain, tag }: OutcomeRequest,
): CountedEvent {
  const parsed: CountedData = JSON.parse(data)
  const reason = outcome === 'delivered' ? null : (parsed.bounce_subtype ?? parsed.reason ?? 'unclassified')
  return { seq, createdAt, provider: findProvider(recipient ?? ''), reason, fits: fits(parsed, domain, tag) }
}

class Tally {
  private readonly providers = new Map<string, Record<Outcome, number>>()
  private readonly reasons = new Map<string, number>()

  add(outcome: Outcome, { provider, reason }: CountedEvent): void {
    this.countsOf(provider)[outcome] += 1
    if (reason !== null) this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1)
  }

  show(): Pick<RecentOutcomes, 'providers' | 'reasons'> {
    const all = [...this.providers]
      .map(([name, counts]) => ({ name, ...counts }))
      .toSorted((one, other) => totalOf(other) - totalOf(one))
    const rest = all.slice(MAX_PROVIDERS).reduce(addCounts, { name: OTHERS, delivered: 0, bounced: 0, failed: 0 })
    return {
      providers: [...all.slice(0, MAX_PROVIDERS), ...(totalOf(rest) === 0 ? [] : [rest])],
      reasons: [...this.reasons]
        .toSorted(([, one], [, other]) => other - one)
        .map(([reason, count]) => ({ reason, text: describeWord(reason), count })),
    }
  }

  private countsOf(name: string): Record<Outcome, number> {
    const counts = this.providers.get(name) ?? { delivered: 0, bounced: 0, failed: 0 }
    this.providers.set(name, counts)
    return counts
  }
}

function addCounts<Row extends Counts>(sum: Row, { delivered, bounced, failed }: Counts): Row {
  return {
    ...sum,
    delivered: sum.delivered + delivered,
    bounced: sum.bounced + bounced,
    failed: sum.failed + failed,
  }
}

function totalOf({ delivered, bounced, failed }: Counts): number {
  return delivered + bounced + failed
}

function findProvider(address: string): string {
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase()
  const provider = providerOfDomain(domain)
  return provider === null ? domain : nameProviderGroup(provider)
}

/** A word that a later version wrote has no sentence. */
function describeWord(word: string): string {
  const reason = reasons.find((one) => one === word)
  return reason === undefined ? '' : describeReason(reason)
}

function fits({ from = '', tags = {} }: CountedData, domain: string | undefined, tag: string | undefined): boolean {
  if (domain !== undefined && !from.toLowerCase().endsWith(`@${domain}`)) return false
  if (tag === undefined) return true
  return Object.entries(tags).some(([name, values]) => [values].flat().some((value) => `${name}:${value}` === tag))
}
