/**
 * Makes a draft with the content of another broadcast: a duplicate for the same audience, or one that goes only to those
 * who got the first broadcast and did not open it.
 */
import { Refusal } from '../../base/mail/refusal.js'
import type { Store } from '../../base/storage/db/database.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { keepsAllEmails } from '../../records/messages/broadcast-outcomes.js'
import { requireBroadcast } from './broadcast-list.js'
import type { Broadcast, BroadcastRef } from './broadcast-records.js'
import { readTotals } from './broadcast-resource.js'
import { buildStateConflict } from './change-broadcast.js'
import { createDraft, toDraft } from './draft.js'

interface CopyRequest {
  /** Undefined for a name that is made from that of the first broadcast. */
  readonly name: string | undefined
  /** True for a draft to those who did not open the first broadcast. */
  readonly isForUnopened: boolean
  readonly now: number
}

const MAX_NAME = 255

/** Throws a Refusal: `not-found`, `conflict`, or one of `createDraft`, as for an audience that was deleted. */
export async function copyBroadcast(store: Store, ref: BroadcastRef, request: CopyRequest): Promise<Broadcast> {
  const { isForUnopened, now } = request
  const first = await requireBroadcast(store.read, ref)
  if (isForUnopened) await checkRepeatable(store.read, first)
  const name = request.name ?? `${isForUnopened ? 'Again' : 'Copy'}: ${first.name}`.slice(0, MAX_NAME)
  const notOpenedOf = isForUnopened ? first.id : undefined
  return createDraft(store, ref.workspaceId, { ...toDraft(first), name, notOpenedOf }, now)
}

async function checkRepeatable(read: Read, first: Broadcast): Promise<void> {
  const { id, workspace_id: workspaceId, finished_at: finishedAt } = first
  if (finishedAt === null) throw buildStateConflict(first, 'only a broadcast that has ended can be sent again')
  const { recipients } = await readTotals(read, { workspaceId, id })
  if (recipients === 0) throw new Refusal('conflict', 'nobody got the broadcast', { id })
  await checkOpensKnown(read, { workspaceId, id })
}

/** Throws a Refusal `conflict` if emails of the broadcast were removed, so that it is not known who opened them. */
export async function checkOpensKnown(read: Read, { workspaceId, id }: BroadcastRef): Promise<void> {
  if (await keepsAllEmails(read, { workspaceId, broadcastId: id })) return
  const message =
    'emails of the first broadcast were removed after their retention, so it is not known who opened them: duplicate the broadcast to send it to the whole audience'
  throw new Refusal('conflict', message, { id })
}
