/**
 * Notices that verification codes to numbers with a prefix are held, to the owner and the admins of the workspace.
 *
 * A prefix causes one notice a day (UTC), and a workspace twenty: traffic to many prefixes must not flood the
 * administrators with mail.
 */

import { toOneLine } from '../../base/mail/printable.js'
import { DAY } from '../../base/platform/time-units.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { Timestamp } from '../../base/storage/tables/columns.js'
import { administratorsOf } from '../../workspaces/accounts/people/members.js'
import type { SmsHeldData } from '../../workspaces/sms/conversion-watch.js'
import { describeHeldCodes } from '../concerns/trouble-words.js'
import { prepareEarlierEvents } from './earlier-events.js'
import { formatTime, type NoticeMail, type Piece } from './notice-mail.js'

interface HeldEvent {
  readonly seq: number
  readonly workspace_id: string
  readonly created_at: Timestamp
}

/** Prefixes of a workspace and day that cause notices. */
const MAX_NOTICES = 20
/** Events of a workspace that are read; when it has that many in a day, no notice is written. */
const MAX_EVENTS = 500

const findEarlier = prepareEarlierEvents<SmsHeldData>('sms.held', MAX_EVENTS)

export async function buildSmsNotices(read: Read, event: HeldEvent, data: SmsHeldData): Promise<readonly NoticeMail[]> {
  const { workspace_id: workspaceId } = event
  if (!(await isNoticeDue(read, event, data.prefix))) return []
  const prefix = toOneLine(data.prefix)
  const { title: subject, text } = describeHeldCodes(
    { ...data, prefix, from: Date.parse(data.held_at), until: Date.parse(data.until_at) },
    formatTime,
  )
  const pieces = buildPieces({ ...data, prefix }, text, workspaceId)
  return (await administratorsOf(read, { workspaceId })).map(({ email }) => ({ to: email, subject, pieces }))
}

async function isNoticeDue(read: Read, { seq, workspace_id: workspaceId, created_at: at }: HeldEvent, prefix: string) {
  const dayStart = at - (at % DAY)
  const today = (await findEarlier(read, { workspaceId, seq })).filter((event) => event.created_at >= dayStart)
  const prefixes = new Set(today.map(({ data }) => data.prefix))
  return today.length < MAX_EVENTS && prefixes.size < MAX_NOTICES && !prefixes.has(prefix)
}

function buildPieces(data: SmsHeldData, text: string, workspaceId: string): readonly Piece[] {
  const { prefix, min_verified_percent: percent } = data
  return [
    { kind: 'text', text },
    {
      kind: 'text',
      text:
        `The limit is ${percent} percent. ` +
        'Either the messages do not reach the phones, or a program requests codes for numbers whose operators earn ' +
        'from each message.',
    },
    {
      kind: 'text',
      text:
        'If you did not expect this traffic, require a CAPTCHA before a client can request a code, and limit the ' +
        'requests of each client address. If the traffic continues, Posthorn holds the codes to this prefix again.',
    },
    {
      kind: 'text',
      text: 'If you expected this traffic, the operator of the server can end the hold at once with this command:',
    },
    { kind: 'list', lines: [`posthorn sms release ${prefix} --workspace ${toOneLine(workspaceId)}`] },
    { kind: 'text', text: 'You get this notice at most once a day for each prefix.' },
  ]
}
