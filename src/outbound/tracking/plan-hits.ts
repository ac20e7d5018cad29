/**
 * Plans the writes that record hits: an event for each, and what hits of persons change: `opened_at`, `clicked_at` and
 * the counts of links.
 *
 * Nothing is recorded for an email that is gone (its links work until `retention.links`), never existed, or has no
 * tracking of that kind. For a message of a broadcast only first hits are recorded (`first-hits.ts`).
 */

import { formatTimestamp } from '../../base/platform/clock.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import { toJson } from '../../base/storage/tables/columns.js'
import { createEventId, recordHit } from '../../records/events/event-log.js'
import { countBroadcastLinks } from './broadcast-links.js'
import { countClick, countLinks } from './clicked-links.js'
import type { FirstHits } from './first-hits.js'
import type { ClickHit, Hit } from './hit.js'
import {
  clearClicks,
  type EmailKey,
  findHitEmail,
  type HitEmail,
  markClicked,
  markMachineClicks,
  markOpened,
  recountClicks,
  resetClicked,
} from './hit-email.js'
import type { LinkSweeps } from './link-sweeps.js'
import { isMachineClick, isMachineOpen } from './machine.js'

interface PlanDeps {
  readonly read: Read
  readonly sweeps: LinkSweeps
  readonly firsts: FirstHits
  /** Tells whether the email, which exists, may have one more hit of this kind. */
  readonly isAllowed: (hit: Hit) => boolean
}

export interface PlannedHit {
  readonly kind: Hit['kind']
  readonly emailId: string
  /** Null if the hit has no event, because it only shows that an earlier one was a machine's. */
  readonly eventId: string | null
  readonly writes: readonly Write[]
  /** The email whose clicks must be counted again. Null if none must. */
  readonly recount: EmailKey | null
}

/**
 * Joins the writes of one commit. An email is counted again once, however many sweeps it had, because that reads all of
 * its clicks.
 */
export function joinWrites(planned: readonly PlannedHit[]): readonly Write[] {
  const recounts = new Map(planned.flatMap(({ recount }) => (recount === null ? [] : [[recount.emailId, recount]])))
  const counts = [...recounts.values()].flatMap((key) => [clearClicks(key), recountClicks(key), resetClicked(key)])
  return [...planned.flatMap(({ writes }) => writes), ...counts]
}

/** Returns null if the hit is not recorded. */
export async function planHit(deps: PlanDeps, hit: Hit): Promise<PlannedHit | null> {
  const email = await findHitEmail(deps.read, hit.kind, hit.emailId)
  if (email === null) return null
  const eventId = createEventId(hit.at)
  if (email.broadcastId !== null) return planFirstHit(deps, hit, email, eventId)
  if (!deps.isAllowed(hit)) return null
  const plan = hit.kind === 'open' ? planOpen({ hit, email, eventId }) : await planClick(deps, { hit, email, eventId })
  return { kind: hit.kind, emailId: email.id, eventId, ...plan }
}

interface TrackedHit<Kind extends Hit> {
  readonly hit: Kind
  readonly email: HitEmail
  readonly eventId: string
}

type Plan = Pick<PlannedHit, 'writes' | 'recount'>

function planOpen({ hit, email, eventId }: TrackedHit<Hit>): Plan {
  const { id: emailId, workspaceId, recipient: to } = email
  const machine = isMachineOpen(hit)
  const data = { ...dataOf({ hit, email, eventId }), opened_at: formatTimestamp(hit.at), machine }
  const event = { workspaceId, type: 'email.opened', emailId, recipient: to, at: hit.at, data } as const
  const recorded = recordHit(event, eventId)
  const marks = machine || email.isOpened ? [] : [markOpened({ workspaceId, id: emailId, at: hit.at })]
  return { writes: [recorded, ...marks], recount: null }
}

async function planClick(deps: PlanDeps, tracked: TrackedHit<ClickHit>): Promise<Plan> {
  const { linkId, at } = tracked.hit
  const { id: emailId, workspaceId } = tracked.email
  const { sweep, machine } = await judgeClick(deps, tracked)
  const recorded = recordClick(tracked, machine)
  if (sweep !== null) return planSweep({ workspaceId, emailId }, recorded, sweep)
  if (machine) return { writes: [recorded], recount: null }
  // This is written even if the email was clicked before, because a sweep in the same commit may take that back.
  const counts = [countClick({ id: linkId, at }), markClicked({ workspaceId, id: emailId, at })]
  return { writes: [recorded, ...counts], recount: null }
}

interface ClickVerdict {
  /** Null if the click belongs to no sweep, else the earlier clicks that are found to belong to it. */
  readonly sweep: Awaited<ReturnType<LinkSweeps['add']>>
  readonly machine: boolean
}

async function judgeClick(
  { read, sweeps }: PlanDeps,
  { hit, email, eventId }: TrackedHit<ClickHit>,
): Promise<ClickVerdict> {
  const { linkId, at, address } = hit
  const { id: emailId, broadcastId } = email
  const sweep = await sweeps.add({ emailId, address, linkId, eventId, at }, async () => {
    const [links] =
      broadcastId === null ? await countLinks(read, { emailId }) : await countBroadcastLinks(read, { broadcastId })
    return links?.count ?? 0
  })
  return { sweep, machine: isMachineClick(hit, email.progress, at) || sweep !== null }
}

function recordClick(tracked: TrackedHit<ClickHit>, machine: boolean): Write {
  const { hit, email, eventId } = tracked
  const { at, url, referer } = hit
  const { id: emailId, workspaceId, recipient: to } = email
  const clicked = { link: url, url, clicked_at: formatTimestamp(at) }
  const data = { ...dataOf(tracked), ...clicked, referer, machine }
  const event = { workspaceId, type: 'email.clicked', emailId, recipient: to, at, data } as const
  return recordHit(event, eventId)
}

/** Plans a sweep. Its earlier clicks were a machine's too, so the counts are made again without them. */
function planSweep(email: EmailKey, recorded: Write, earlier: readonly { readonly eventId: string }[]): Plan {
  if (earlier.length === 0) return { writes: [recorded], recount: null }
  const eventIds = toJson(earlier.map(({ eventId }) => eventId))
  return { writes: [recorded, markMachineClicks({ ...email, eventIds })], recount: email }
}

/** Plans a hit on a broadcast's message. Returns null if it is not the first, and shows nothing about earlier ones. */
async function planFirstHit(deps: PlanDeps, hit: Hit, email: HitEmail, eventId: string): Promise<PlannedHit | null> {
  const { id: emailId } = email
  if (hit.kind === 'click') return planFirstClick(deps, { hit, email, eventId })
  if (!(await takeFirst(deps, hit, isMachineOpen(hit), eventId))) return null
  return { kind: 'open', emailId, eventId, ...planOpen({ hit, email, eventId }) }
}

async function planFirstClick(deps: PlanDeps, tracked: TrackedHit<ClickHit>): Promise<PlannedHit | null> {
  const { hit, email, eventId } = tracked
  const { id: emailId, workspaceId } = email
  const { sweep, machine } = await judgeClick(deps, tracked)
  const earlier = sweep?.map((click) => click.eventId) ?? []
  const moved = await deps.firsts.moveClick(emailId, earlier)
  if (moved !== null) {
    const marked = markMachineClicks({ workspaceId, emailId, eventIds: toJson([moved]) })
    return { kind: 'click', emailId, eventId: null, writes: [marked], recount: { workspaceId, emailId } }
  }
  if (!(await takeFirst(deps, hit, machine, eventId))) return null
  const marks = machine ? [] : [markClicked({ workspaceId, id: emailId, at: hit.at })]
  return { kind: 'click', emailId, eventId, writes: [recordClick(tracked, machine), ...marks], recount: null }
}

/** Tells whether the hit is recorded, and notes it as the first of its kind. */
async function takeFirst(
  { firsts, isAllowed }: PlanDeps,
  hit: Hit,
  machine: boolean,
  eventId: string,
): Promise<boolean> {
  if ((await firsts.has(hit, machine)) || !isAllowed(hit)) return false
  await firsts.add(hit, machine, eventId)
  return true
}

/** Returns what the events of opens and clicks have in common. */
function dataOf({ hit: { userAgent, address }, email: { id, recipient, broadcastId } }: TrackedHit<Hit>) {
  const broadcast = broadcastId === null ? {} : { broadcast_id: broadcastId }
  return { email_id: id, to: recipient, ...broadcast, user_agent: userAgent, ip_address: address }
}
