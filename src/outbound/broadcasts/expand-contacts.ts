/**
 * Makes the messages of the next contacts of a broadcast, in one commit with the cursor.
 *
 * The audience is as it was at the start, less those who have unsubscribed, were deleted or are suppressed when their
 * turn comes; delivery leaves out those who leave while their message waits. The commit misses as a whole if the
 * broadcast is not sending any more, its cursor was moved, or a limit is used up; a deleted workspace has no broadcast
 * that is sending. Then as many contacts as the limit allows are taken, and the others wait.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Address, domainOf, tryParseForeignAddress } from '../../base/mail/address.js'
import { type Clock, formatTimestamp } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import { findFrame } from '../../records/messages/frames/framed-message.js'
import type { EnqueuedEmail } from '../../records/messages/queue/enqueue.js'
import type { EmailCharger } from '../../workspaces/accounts/limits/quota.js'
import type { FindVerifiedDomain } from '../sending/sender-policy.js'
import { nextContacts } from './active-broadcasts.js'
import { type ChosenContact, enqueueContact } from './broadcast-email.js'
import { advanceCursor, type BroadcastSummary, pauseBroadcast } from './broadcast-records.js'
import type { ContactMessageDeps } from './contact-message.js'
import { reactToLimit } from './used-up-limit.js'

export interface ExpandDeps extends Store, ContactMessageDeps {
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly charge: EmailCharger
  readonly isSuppressed: (workspaceId: string, address: Address) => boolean
  readonly findVerifiedDomain: FindVerifiedDomain
  /** Hands entries that are on disk to delivery. */
  readonly offer: (enqueued: EnqueuedEmail) => void
}

/** Milliseconds of one turn of the event loop. */
const TURN_TIME = 2

/** The contacts of one step. */
interface Chunk {
  readonly chosen: readonly ChosenContact[]
  /** The last contact that was looked at. */
  readonly cursor: string
  readonly isLast: boolean
}

/** `wait`: a limit is used up, the broadcast is paused, or it has changed. */
export async function expandContacts(
  deps: ExpandDeps,
  broadcast: BroadcastSummary,
  size: number,
): Promise<'done' | 'wait'> {
  const sender = parseJson(broadcast.sender).address
  if (deps.findVerifiedDomain(broadcast.workspace_id, domainOf(sender)) === undefined) {
    return pause(deps, broadcast, `${domainOf(sender)} is not a verified domain of this workspace`)
  }
  let chunk = readChunk(deps, broadcast, size)
  const enqueued = await enqueueAll(deps, broadcast, chunk.chosen)
  for (;;) {
    const now = deps.clock()
    const count = chunk.chosen.length
    const charged = deps.charge(
      chunk.chosen.map(() => ({ workspaceId: broadcast.workspace_id, senderDomain: domainOf(sender) })),
      now,
    )
    const made = enqueued.slice(0, count)
    const writes = [...charged.writes, moveCursor(broadcast, chunk), ...made.flatMap((email) => email.writes)]
    if (await tryCommit(deps.commit(writes))) {
      for (const email of made) deps.offer(email)
      if (broadcast.cursor === '') logStart(deps, broadcast)
      return 'done'
    }
    const refusal = count === 0 ? null : charged.findRefusal(false)
    if (refusal === null) return 'wait'
    const reaction = reactToLimit(refusal, count, now)
    if (reaction.kind === 'pause') return pause(deps, broadcast, reaction.note)
    if (reaction.kind === 'wait') return wait(deps, broadcast, reaction)
    chunk = shorten(chunk, reaction.count)
  }
}

function readChunk({ read, isSuppressed }: ExpandDeps, broadcast: BroadcastSummary, size: number): Chunk {
  const { workspace_id: workspaceId, audience_id: audienceId, cursor, ceiling, started_at: startedAt } = broadcast
  const contacts = nextContacts(read, { workspaceId, audienceId, after: cursor, ceiling, limit: size })
  const chosen = contacts.flatMap((contact) => {
    const address = tryParseForeignAddress(contact.email)
    // An import makes ids of the time when it began.
    const isIncluded = contact.subscribed === 1 && contact.created_at <= (startedAt ?? 0)
    return address === null || !isIncluded || isSuppressed(workspaceId, address) ? [] : [{ contact, address }]
  })
  return { chosen, cursor: contacts.at(-1)?.id ?? cursor, isLast: contacts.length < size }
}

/** The first `count` of its contacts. */
function shorten({ chosen }: Chunk, count: number): Chunk {
  const left = chosen.slice(0, count)
  return { chosen: left, cursor: left.at(-1)?.contact.id ?? '', isLast: false }
}

function moveCursor(broadcast: BroadcastSummary, { cursor, isLast }: Chunk): Write {
  const { id, workspace_id: workspaceId } = broadcast
  const move = { workspaceId, id, from: broadcast.cursor, to: cursor, waitsUntil: null, note: null } as const
  return advanceCursor({ ...move, expanded: isLast ? 1 : 0 })
}

/** In turns of the event loop of about two milliseconds each. */
async function enqueueAll(
  deps: ExpandDeps,
  broadcast: BroadcastSummary,
  chosen: readonly ChosenContact[],
): Promise<readonly EnqueuedEmail[]> {
  if (chosen.length === 0) return []
  const frame = findFrame(deps.read, broadcast.workspace_id, broadcast.id)
  if (frame === undefined) throw new Error('a broadcast that is sending has no frame')
  const enqueued: EnqueuedEmail[] = []
  let end = performance.now() + TURN_TIME
  for (const one of chosen) {
    enqueued.push(enqueueContact(deps, broadcast, frame, one, deps.clock()))
    if (performance.now() < end) continue
    await nextTurn()
    end = performance.now() + TURN_TIME
  }
  return enqueued
}

function logStart({ log }: ExpandDeps, { id, workspace_id, audience_id, name }: BroadcastSummary): void {
  log.info({ workspace: workspace_id, broadcast: id, name, audience: audience_id }, 'a broadcast begins')
}

async function pause({ commit, clock, log }: ExpandDeps, broadcast: BroadcastSummary, note: string): Promise<'wait'> {
  const { id, workspace_id: workspaceId } = broadcast
  if (await tryCommit(commit([pauseBroadcast({ workspaceId, id, now: clock(), note })]))) {
    log.warn({ workspace: workspaceId, broadcast: id, why: note }, 'a broadcast is paused by the service')
  }
  return 'wait'
}

async function wait(
  { commit, log }: ExpandDeps,
  broadcast: BroadcastSummary,
  { until, note }: { readonly until: number; readonly note: string },
): Promise<'wait'> {
  const { id, workspace_id: workspaceId, cursor } = broadcast
  const move = { workspaceId, id, from: cursor, to: cursor, expanded: 0, waitsUntil: until, note } as const
  if ((await tryCommit(commit([advanceCursor(move)]))) && broadcast.waits_until !== until) {
    log.info({ workspace: workspaceId, broadcast: id, why: note, until: formatTimestamp(until) }, 'a broadcast waits')
  }
  return 'wait'
}
