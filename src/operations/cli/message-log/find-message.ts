/**
 * Finds what an id of `posthorn log` names: an email, a queue entry, an inbound email, or a Message-ID of either.
 *
 * Message-IDs have no index. Those that this service made contain the id of the email; others are searched for, newest
 * first, in short steps over all records.
 */

import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { type EmailLookup, findEmailOrRecipient } from '../../../records/messages/email-details.js'
import type { InboundEmail } from '../../../records/messages/inbound/inbound-record.js'
import { allWorkspaces } from '../../../workspaces/accounts/workspace/workspaces.js'
import type { ShowProgress } from '../command/progress.js'

type FoundMessage =
  | { readonly kind: 'email'; readonly lookup: EmailLookup }
  | { readonly kind: 'inbound'; readonly inbound: InboundEmail }

const inboundOfAnyWorkspace = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('inbound_emails').selectAll().where('id', '=', slot('id')).where('kind', '=', 'mail'),
)

const idInMessageId = /^<([0-9a-f-]{36})@/

/** Null if there is none. `given` is an id, or a Message-ID with or without its angle brackets. */
export async function findMessage(read: Read, given: string, showProgress: ShowProgress): Promise<FoundMessage | null> {
  const found = await findById(read, given)
  if (found !== null || !given.includes('@')) return found
  const messageId = given.startsWith('<') ? given : `<${given}>`
  const [, own] = idInMessageId.exec(messageId) ?? []
  const named = own === undefined ? null : await findById(read, own)
  if (named?.kind === 'email' && named.lookup.email.message_id === messageId) return named
  const emailId = await searchEmails(read, messageId, showProgress)
  return findById(read, emailId ?? (await searchInbound(read, messageId, showProgress)) ?? '')
}

async function findById(read: Read, id: string): Promise<FoundMessage | null> {
  const lookup = await findEmailOrRecipient(read, id)
  if (lookup !== null) return { kind: 'email', lookup }
  const [inbound] = await inboundOfAnyWorkspace(read, { id })
  return inbound === undefined ? null : { kind: 'inbound', inbound }
}

interface Place {
  readonly time: number
  readonly id: string
}

const newestEmails = prepareRead<Place & { limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(['id', 'created_at as time', 'message_id'])
    .where((eb) => eb(eb.refTuple('created_at', 'id'), '<', eb.tuple(slot('time'), slot('id'))))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

const newestInbound = prepareRead<Place & { workspaceId: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .select(['id', 'received_at as time', 'message_id'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('kind', '=', 'mail')
    .where((eb) => eb(eb.refTuple('received_at', 'id'), '<', eb.tuple(slot('time'), slot('id'))))
    .orderBy('received_at', 'desc')
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

function searchEmails(read: Read, messageId: string, showProgress: ShowProgress): Promise<string | null> {
  return search(async (place) => newestEmails(read, { ...place, limit: ROW_STEP }), messageId, showProgress)
}

async function searchInbound(read: Read, messageId: string, showProgress: ShowProgress): Promise<string | null> {
  for (const workspaceId of [...(await allWorkspaces(read, {})).map(({ id }) => id), SERVICE_WORKSPACE]) {
    const readPage: ReadPage = async (place) => newestInbound(read, { ...place, workspaceId, limit: ROW_STEP })
    const found = await search(readPage, messageId, showProgress)
    if (found !== null) return found
  }
  return null
}

type ReadPage = (place: Place) => Promise<readonly (Place & { readonly message_id: string | null })[]>

/** The first record from the newest on that has this Message-ID. */
async function search(readPage: ReadPage, messageId: string, showProgress: ShowProgress): Promise<string | null> {
  let place: Place = { time: Number.MAX_SAFE_INTEGER, id: '' }
  for (let looked = 0; ; looked += ROW_STEP) {
    const page = await readPage(place)
    const found = page.find(({ message_id }) => message_id === messageId)
    if (found !== undefined) return found.id
    const last = page.at(-1)
    if (last === undefined || page.length < ROW_STEP) return null
    place = { time: last.time, id: last.id }
    showProgress(`${looked + ROW_STEP} records searched for ${messageId}`)
    await waitForStep()
  }
}
