/**
 * Stores what an unsubscribe link needs of its recipient, for `retention.links`. That is longer than the recipient's
 * own row, because people keep messages longer than their senders keep the records of them.
 */
import type { Store } from '../../base/storage/db/database.js'
import { prepareInsert, prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'
import type { Tables } from '../../base/storage/tables/tables.js'

export type UnsubscribeLink = Tables['unsubscribe_links']

export const insertUnsubscribeLink = prepareInsert<Omit<UnsubscribeLink, 'unsubscribed_at'>>(({ db, slot }) =>
  db.insertInto('unsubscribe_links').values({
    recipient_id: slot('recipient_id'),
    workspace_id: slot('workspace_id'),
    email_id: slot('email_id'),
    address: slot('address'),
    sender: slot('sender'),
    created_at: slot('created_at'),
    unsubscribed_at: null,
  }),
)

/** Reads a link of any workspace, for the holder of a token that was made for only this recipient. */
export const unsubscribeLinkOf = prepareRead<{ recipientId: string }>()(({ db, slot }) =>
  db.selectFrom('unsubscribe_links').selectAll().where('recipient_id', '=', slot('recipientId')),
)

/** Misses if the link was used before. */
export const markUnsubscribed = prepareWrite<{ recipientId: string; at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('unsubscribe_links')
      .set({ unsubscribed_at: slot('at') })
      .where('recipient_id', '=', slot('recipientId'))
      .where('unsubscribed_at', 'is', null),
  1,
)

const BATCH_SIZE = 500

/** Reads the oldest links, because ids begin with their time. */
const oldestLinks = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('unsubscribe_links').select(['recipient_id', 'created_at']).orderBy('recipient_id').limit(BATCH_SIZE),
)

const removeLinks = prepareWrite<{ last: string; before: number }>(({ db, slot }) =>
  db.deleteFrom('unsubscribe_links').where('recipient_id', '<=', slot('last')).where('created_at', '<', slot('before')),
)

/** Removes some of the links older than `before`. Resolves to true if there may be more. */
export async function removeOldUnsubscribeLinks({ read, commit }: Store, before: number): Promise<boolean> {
  const old = (await oldestLinks(read, {})).filter(({ created_at }) => created_at < before)
  const last = old.at(-1)?.recipient_id
  if (last === undefined) return false
  await commit([removeLinks({ last, before })])
  return old.length === BATCH_SIZE
}
