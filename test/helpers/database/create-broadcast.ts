/** A broadcast to an audience that is being sent, with its contacts, as `POST /v1/broadcasts/:id/send` leaves it. */
import { randomUUID } from 'node:crypto'
import { parseAddress } from '../../../src/base/mail/address.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { BroadcastComposer } from '../../../src/outbound/broadcasts/compose-broadcast.js'
import { insertSentContent } from '../../../src/outbound/broadcasts/sent-content.js'
import { encodeFrame } from '../../../src/records/messages/frames/encode-frame.js'
import { insertContact, newContactOf } from '../../../src/workspaces/audiences/contacts.js'
import { plainFooter } from '../mail/plain-footer.js'
import { rowOf } from './rows.js'

interface NewBroadcast {
  readonly workspaceId: string
  /** Addresses, in the order of the contacts' ids. */
  readonly contacts: readonly string[]
  readonly at: number
  readonly from?: string
  readonly status?: 'scheduled' | 'sending' | 'paused'
  readonly scheduledFor?: number
}

export interface CreatedBroadcast {
  readonly id: string
  readonly audienceId: string
  readonly contactIds: readonly string[]
}

export async function createBroadcast(database: Database, request: NewBroadcast): Promise<CreatedBroadcast> {
  const { workspaceId, contacts, at, from = 'news@a.test', status = 'sending', scheduledFor = null } = request
  const [id, audienceId] = [uuidv7(at), randomUUID()]
  const row = rowOf(database.read)
  const ids = contacts.map(() => uuidv7(at)).sort()
  await database.commit([
    await row('audiences', { id: audienceId, workspace_id: workspaceId, name: 'all' }),
    ...contacts.map((email, place) => {
      const contact = newContactOf({ workspaceId, audienceId, email, now: at })
      return insertContact({ ...contact, id: ids[place] ?? '', first_name: `Contact ${place}` })
    }),
  ])
  const sender = { address: parseAddress(from), name: 'News' }
  const content = {
    sender,
    replyTo: [],
    subject: 'News for {{first_name}}',
    html: null,
    text: 'Hello {{first_name|you}}',
  }
  const composer = new BroadcastComposer('mail.service.test', 'https://mail.test', { baseFor: () => 'https://t.test' })
  const { frame, links } = await composer.compose(content, { broadcastId: id, audienceId, footer: plainFooter })
  await database.commit([
    await row('broadcasts', {
      ...{ id, workspace_id: workspaceId, name: 'News', audience_id: audienceId, sender: toJson(sender) },
      ...{ reply_to: toJson([]), status, scheduled_for: scheduledFor, started_at: status === 'scheduled' ? null : at },
      ...{ cursor: '', ceiling: ids.at(-1) ?? '', created_at: at, updated_at: at },
    }),
    ...insertSentContent({ workspaceId, id }, { frame: encodeFrame(frame), links, now: at }),
  ])
  return { id, audienceId, contactIds: ids }
}
