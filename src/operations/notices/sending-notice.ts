/**
 * Notices that too much mail bounces or is reported as spam: a warning, a hold, and its end, to the owner and the
 * admins of the workspace.
 *
 * A workspace causes at most twenty of each kind a day (UTC). If there was a notice about the whole workspace in the
 * last minute, there is none about its domains and broadcasts.
 */

import { toOneLine } from '../../base/mail/printable.js'
import { DAY, MINUTE } from '../../base/platform/time-units.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { Timestamp } from '../../base/storage/tables/columns.js'
import type { EventPayloads, SendingData } from '../../records/events/payloads.js'
import { administratorsOf } from '../../workspaces/accounts/people/members.js'
import { breakerAdvice, describeBreaker } from '../concerns/trouble-words.js'
import { prepareEarlierEvents } from './earlier-events.js'
import { formatTime, type NoticeMail, type Piece } from './notice-mail.js'

type SendingEventType = 'sending.warned' | 'sending.held' | 'sending.released'

interface SendingEvent<Type extends SendingEventType> {
  readonly seq: number
  readonly type: Type
  readonly workspace_id: string
  readonly created_at: Timestamp
}

/** Notices of one type of a workspace and day. */
const MAX_NOTICES = 20

const findEarlier = {
  'sending.warned': prepareEarlierEvents<SendingData>('sending.warned', MAX_NOTICES),
  'sending.held': prepareEarlierEvents<SendingData>('sending.held', MAX_NOTICES),
  'sending.released': prepareEarlierEvents<SendingData>('sending.released', MAX_NOTICES),
} as const

export async function buildSendingNotices(
  read: Read,
  event: SendingEvent<'sending.warned' | 'sending.held'>,
  data: SendingData,
): Promise<readonly NoticeMail[]> {
  if (!(await isNoticeDue(read, event, data))) return []
  const isHeld = event.type === 'sending.held'
  const { title, text } = describeBreaker({
    scope: data.scope,
    id: toOneLine(data.id),
    state: isHeld ? 'held' : 'warning',
  })
  const pieces: readonly Piece[] = [
    { kind: 'text', text },
    { kind: 'text', text: figuresOf(data) },
    { kind: 'text', text: breakerAdvice[data.cause] },
    ...(isHeld ? releasePieces(data, event.workspace_id) : []),
  ]
  return toAdministrators(read, event, title, pieces)
}

export async function buildReleaseNotices(
  read: Read,
  event: SendingEvent<'sending.released'>,
  data: EventPayloads['sending.released'],
): Promise<readonly NoticeMail[]> {
  if (!(await isNoticeDue(read, event, data))) return []
  const why = data.released_by === 'person' ? 'A person has released it.' : 'The figures are below the limits again.'
  const since = formatTime(Date.parse(data.held_at))
  const text = `Posthorn sends the mail of ${nameOf(data)} again, which it had held since ${since}. ${why}`
  return toAdministrators(read, event, `Mail of ${nameOf(data)} is sent again`, [{ kind: 'text', text }])
}

async function toAdministrators(
  read: Read,
  { workspace_id: workspaceId }: SendingEvent<SendingEventType>,
  subject: string,
  pieces: readonly Piece[],
): Promise<readonly NoticeMail[]> {
  return (await administratorsOf(read, { workspaceId })).map(({ email }) => ({ to: email, subject, pieces }))
}

async function isNoticeDue(
  read: Read,
  event: SendingEvent<SendingEventType>,
  { scope }: SendingData,
): Promise<boolean> {
  const { seq, type, workspace_id: workspaceId, created_at: at } = event
  const earlier = await findEarlier[type](read, { workspaceId, seq })
  const today = earlier.filter(({ created_at: then }) => then >= at - (at % DAY))
  if (today.length >= MAX_NOTICES) return false
  if (scope === 'workspace') return true
  return !earlier.some(({ created_at: then, data }) => data.scope === 'workspace' && at - then < MINUTE)
}

function nameOf({ scope, id }: SendingData): string {
  return scope === 'workspace' ? 'the workspace' : `the ${scope} ${toOneLine(id)}`
}

function figuresOf({ cause, messages, failures, percent, limit_percent: limit }: SendingData): string {
  const end = cause === 'bounces' ? 'of the last day bounced' : 'of the last 7 days were reported as spam'
  const count = messages.toLocaleString('en-US')
  return `${failures.toLocaleString('en-US')} of ${count} messages ${end}: ${percent} percent. The limit is ${limit} percent.`
}

function releasePieces(data: SendingData, workspaceId: string): readonly Piece[] {
  const id = toOneLine(data.id)
  return [
    {
      kind: 'text',
      text: 'Posthorn sends the mail when the figures are below the limits again, or when the owner, an admin or the operator releases it with one of these:',
    },
    {
      kind: 'list',
      lines: [
        `POST /v1/breakers/${id}/release`,
        `posthorn breaker release ${id} --workspace ${toOneLine(workspaceId)}`,
      ],
    },
  ]
}
