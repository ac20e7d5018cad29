/**
 * From hits to the writes that record them: an event each, and what persons change: `opened_at`, `clicked_at` and the
 * counts of links.
 *
 * Nothing is recorded of an email that is gone (its links work until `retention.links`), was never there, or
 * has no tracking of that kind.
 */
import { createEventId, recordEventOfEmail } from '../events/event-log.js'
import { formatTimestamp } from '../platform/clock.js'
import type { Read } from '../storage/prepared.js'
import { toJson } from '../storage/tables/columns.js'
import type { Write } from '../storage/writer/write.js'
import { countClick, countLinks } from './clicked-links.js'
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
  /** Whether the email, which exists, may have one more of them. */
  readonly isAllowed: (hit: Hit) => boolean
}

export interface PlannedHit {
  readonly emailId: string
  readonly eventId: string
  readonly writes: readonly Write[]
  /** The clicks of this email are to be counted again; null: they are not. */
  readonly recount: EmailKey | null
}

/** The writes of one commit. An email is counted again once, however many sweeps it had: that reads all of its clicks. */
export function joinWrites(planned: readonly PlannedHit[]): readonly Write[] {
  const recounts = new Map(planned.flatMap(({ recount }) => (recount === null ? [] : [[recount.emailId, recount]])))
  const counts = [...recounts.values()].flatMap((key) => [clearClicks(key), recountClicks(key), resetClicked(key)])
  return [...planned.flatMap(({ writes }) => writes), ...counts]
}

/** Null: the hit is not recorded. */
export function planHit(deps: PlanDeps, hit: Hit): PlannedHit | null {
  const email = findHitEmail(deps.read, hit.kind, hit.emailId)
  if (email === null || !deps.isAllowed(hit)) return null
  const eventId = createEventId(hit.at)
  const plan = hit.kind === 'open' ? planOpen({ hit, email, eventId }) : planClick(deps, { hit, email, eventId })
  return { emailId: email.id, eventId, ...plan }
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
  const data = { email_id: emailId, to, opened_at: formatTimestamp(hit.at), ...requesterOf(hit), machine }
  const event = { workspaceId, type: 'email.opened', emailId, recipient: to, at: hit.at, data } as const
  const recorded = recordEventOfEmail(event, eventId)
  const marks = machine || email.isOpened ? [] : [markOpened({ workspaceId, id: emailId, at: hit.at })]
  return { writes: [recorded, ...marks], recount: null }
}

function planClick({ read, sweeps }: PlanDeps, { hit, email, eventId }: TrackedHit<ClickHit>): Plan {
  const { linkId, at, address, url, referer } = hit
  const { id: emailId, workspaceId, recipient: to } = email
  const click = { emailId, address, linkId, eventId, at }
  const sweep = sweeps.add(click, () => countLinks(read, { emailId })[0]?.count ?? 0)
  const machine = isMachineClick(hit, email.progress, at) || sweep !== null
  const clicked = { link: url, url, clicked_at: formatTimestamp(at) }
  const data = { email_id: emailId, to, ...clicked, ...requesterOf(hit), referer, machine }
  const event = { workspaceId, type: 'email.clicked', emailId, recipient: to, at, data } as const
  const recorded = recordEventOfEmail(event, eventId)
  if (sweep !== null) return planSweep({ workspaceId, emailId }, recorded, sweep)
  if (machine) return { writes: [recorded], recount: null }
  // Also if the email was clicked before: a sweep in the same commit may take that back.
  const counts = [countClick({ id: linkId, at }), markClicked({ workspaceId, id: emailId, at })]
  return { writes: [recorded, ...counts], recount: null }
}

/** The earlier clicks of a sweep were a machine's too: what they had counted is counted again without them. */
function planSweep(email: EmailKey, recorded: Write, earlier: readonly { readonly eventId: string }[]): Plan {
  if (earlier.length === 0) return { writes: [recorded], recount: null }
  const eventIds = toJson(earlier.map(({ eventId }) => eventId))
  return { writes: [recorded, markMachineClicks({ ...email, eventIds })], recount: email }
}

function requesterOf({ userAgent, address }: Hit): { readonly user_agent: string | null; readonly ip_address: string } {
  return { user_agent: userAgent, ip_address: address }
}
