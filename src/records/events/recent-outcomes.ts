/**
 * Counts what became of the newest mail of a window, by mailbox provider and by reason. Nothing counts this while mail is
 * sent, so the events are read: of each type the newest `MAX_EVENTS`. If the window has more of one type, older events of
 * the others do not count either, so that shares stay right.
 *
 * A provider is recognized by the domain of an address. Domains of customers are counted under their own name.
 */
import { nameProviderGroup, providerOfDomain } from '../../base/mail/mailbox-providers.js'
import { describeReason, reasons } from '../../base/mail/reasons.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { EventsTable, EventType } from '../../base/storage/tables/email-tables.js'
import { findSeqRange, isInTime } from './event-times.js'

/** Events of one type that are read. */
const MAX_EVENTS = 2_000
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
const newestOfType = prepareRead<Step>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(['seq', 'created_at', 'recipient', 'data'])
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
    ),
)

type Row = Pick<EventsTable, 'created_at' | 'recipient' | 'data'> & { readonly seq: number }

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
  /** Of bounces and failures, the most frequent first. */
  readonly reasons: readonly { readonly reason: string; readonly text: string; readonly count: number }[]
}

interface Found {
  readonly outcome: Outcome
  readonly rows: readonly Row[]
  readonly isComplete: boolean
}

export async function countRecentOutcomes(read: Read, request: OutcomeRequest): Promise<RecentOutcomes> {
  const { start: from, end: to } = request.window
  const range = await findSeqRange(read, { from, to })
  const found: Found[] = []
  for (const [type, outcome] of outcomes) {
    found.push({ outcome, ...(await readNewest(read, request, { type, ...range })) })
  }
  const cut = Math.max(0, ...found.filter((one) => !one.isComplete).map(({ rows }) => rows.at(-1)?.seq ?? 0))
  const tally = new Tally()
  let since: number | null = null
  for (const { outcome, rows } of found) {
    for (const row of rows) {
      if (row.seq < cut) break
      if (row.seq === cut) since = row.created_at
      tally.add(outcome, row, request)
    }
    await waitForStep()
  }
  return { since, ...tally.show() }
}

async function readNewest(
  read: Read,
  { workspaceId, window: { start: from, end: to } }: OutcomeRequest,
  { type, first, end }: { readonly type: EventType; readonly first: number; readonly end: number },
): Promise<Omit<Found, 'outcome'>> {
  const rows: Row[] = []
  let before = end
  while (rows.length < MAX_EVENTS) {
    const step = (await newestOfType(read, { workspaceId, type, from: first, before, limit: ROW_STEP })).toSorted(
      (one, other) => other.seq - one.seq,
    )
    rows.push(...step.filter((row) => isInTime({ from, to }, row)))
    const last = step[ROW_STEP - 1]
    if (last === undefined) return { rows, isComplete: true }
    before = last.seq
    await waitForStep()
  }
  return { rows, isComplete: false }
}

interface CountedData {
  readonly from?: string
  readonly tags?: Readonly<Record<string, string | readonly string[]>>
  readonly bounce_subtype?: string | null
  readonly reason?: string | null
}

class Tally {
  private readonly providers = new Map<string, Record<Outcome, number>>()
  private readonly reasons = new Map<string, number>()

  add(outcome: Outcome, { recipient, data }: Row, { domain, tag }: OutcomeRequest): void {
    const isPlain = outcome === 'delivered' && domain === undefined && tag === undefined
    const parsed: CountedData = isPlain ? {} : JSON.parse(data)
    if (!fits(parsed, domain, tag)) return
    const counts = this.countsOf(findProvider(recipient ?? ''))
    counts[outcome] += 1
    if (outcome === 'delivered') return
    const reason = parsed.bounce_subtype ?? parsed.reason ?? 'unclassified'
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1)
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
