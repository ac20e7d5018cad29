/**
 * Stores the recipients of broadcasts for the links in their messages. They are kept for `retention.links`, and longer
 * while an email of their broadcast is kept.
 *
 * The frame and the links of a broadcast stay until it has no messages left and can get none.
 */
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import type { Tables } from '../../base/storage/tables/tables.js'

type Message = Tables['broadcast_messages']

/** Reads a recipient of any workspace, for the holder of a token that was made for only this recipient. */
export const broadcastRecipientOf = prepareRead<{ recipientId: string }>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_messages as message')
    // The client may have deleted the broadcast.
    .leftJoin('broadcasts', 'broadcasts.id', 'message.broadcast_id')
    .select(['message.email_id', 'message.workspace_id', 'message.broadcast_id', 'message.contact_id'])
    .select(['message.address', 'message.unsubscribed_at', 'message.unsubscribed_contact'])
    .select(['broadcasts.audience_id', 'broadcasts.sender'])
    .where('message.recipient_id', '=', slot('recipientId')),
)

export type BroadcastRecipient = Awaited<ReturnType<typeof broadcastRecipientOf>>[number]

/** Reads the broadcast of an email of any workspace, because the id of an email is the secret of its links. */
export const broadcastOfEmail = prepareRead<{ emailId: string }>()(({ db, slot }) =>
  db.selectFrom('broadcast_messages').select('broadcast_id').where('email_id', '=', slot('emailId')),
)

/** Reads the contact as it is now. There is no row if the broadcast was deleted, or the message is unknown. */
const subscriptionOfMessage = prepareRead<{ workspaceId: string; emailId: string }>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_messages as message')
    .innerJoin('broadcasts', 'broadcasts.id', 'message.broadcast_id')
    .leftJoin('audiences', 'audiences.id', 'broadcasts.audience_id')
    .leftJoin('contacts', (join) =>
      join
        .onRef('contacts.id', '=', 'message.contact_id')
        .onRef('contacts.workspace_id', '=', 'message.workspace_id')
        // Contacts of a deleted audience are removed gradually.
        .onRef('contacts.audience_id', '=', 'audiences.id'),
    )
    .select('contacts.subscribed')
    .where('message.email_id', '=', slot('emailId'))
    .where('message.workspace_id', '=', slot('workspaceId')),
)

/** Tells whether the message's contact is still subscribed to the audience. True if the broadcast was deleted. */
export async function isInAudience(
  read: Read,
  message: { readonly workspaceId: string; readonly emailId: string },
): Promise<boolean> {
  const [found] = await subscriptionOfMessage(read, message)
  return found === undefined || found.subscribed === 1
}

type Moment = Pick<Message, 'email_id'> & { readonly at: number }

/** Misses if the link was used before. `unsubscribed_contact` is the contact that the same commit unsubscribes. */
export const markFirstUse = prepareWrite<Moment & Pick<Message, 'unsubscribed_contact'>>(
  ({ db, slot }) =>
    db
      .updateTable('broadcast_messages')
      .set({ unsubscribed_at: slot('at'), unsubscribed_contact: slot('unsubscribed_contact') })
      .where('email_id', '=', slot('email_id'))
      .where('unsubscribed_at', 'is', null),
  1,
)

/** Records a later use of the link, because the contact was subscribed again since the last one. */
export const markLaterUse = prepareWrite<Moment & Pick<Message, 'unsubscribed_contact'>>(({ db, slot }) =>
  db
    .updateTable('broadcast_messages')
    .set({ unsubscribed_at: slot('at'), unsubscribed_contact: slot('unsubscribed_contact') })
    .where('email_id', '=', slot('email_id')),
)

/** Misses unless the link was used at `at`. */
export const unmarkUse = prepareWrite<Moment>(
  ({ db, slot }) =>
    db
      .updateTable('broadcast_messages')
      .set({ unsubscribed_at: null, unsubscribed_contact: null })
      .where('email_id', '=', slot('email_id'))
      .where('unsubscribed_at', '=', slot('at')),
  1,
)

const BATCH_SIZE = 500

/** Reads messages in the order of their ids, which begin with their time. */
const messagesAfter = prepareRead<{ after: string }>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_messages')
    .select(['email_id', 'created_at'])
    .where('email_id', '>', slot('after'))
    .orderBy('email_id')
    .limit(BATCH_SIZE),
)

/**
 * Removes messages, except those whose entries are in the queue, because a broadcast may be paused for a long time. All
 * messages of a broadcast stay while one of its emails is kept: `keepsAllEmails` looks only at the first message.
 */
const removeMessages = prepareWrite<{ after: string; last: string; before: number }>(({ db, slot }) =>
  db
    .deleteFrom('broadcast_messages')
    .where('email_id', '>', slot('after'))
    .where('email_id', '<=', slot('last'))
    .where('created_at', '<', slot('before'))
    .where((eb) =>
      eb.not(
        eb.exists(
          eb.selectFrom('queue').select('queue.id').whereRef('queue.id', '=', 'broadcast_messages.recipient_id'),
        ),
      ),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('emails')
            .select('emails.id')
            .whereRef('emails.workspace_id', '=', 'broadcast_messages.workspace_id')
            .whereRef('emails.broadcast_id', '=', 'broadcast_messages.broadcast_id'),
        ),
      ),
    ),
)

export class BroadcastMessagePurge {
  private after = ''

  constructor(
    private readonly store: Store,
    private readonly before: number,
  ) {}

  /** Removes some of the messages older than `before`. Resolves to true if there may be more. */
  async step(): Promise<boolean> {
    const { after, before } = this
    const old = (await messagesAfter(this.store.read, { after })).filter(({ created_at }) => created_at < before)
    const last = old.at(-1)?.email_id
    if (last === undefined) return false
    await this.store.commit([removeMessages({ after, last, before })])
    this.after = last
    return old.length === BATCH_SIZE
  }
}

/** The broadcasts of one step, each of which may have a thousand links and a frame of a megabyte. */
const FRAME_BATCH = 5

/** Reads some frames after `after`, in the order of their ids, and whether each still serves a message. */
const nextFrames = prepareRead<{ after: string }>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_frames as frame')
    .select(['frame.broadcast_id', 'frame.created_at'])
    .select((eb) =>
      eb
        .or([
          eb.exists(
            eb
              .selectFrom('broadcast_messages')
              .select('broadcast_messages.email_id')
              .whereRef('broadcast_messages.broadcast_id', '=', 'frame.broadcast_id'),
          ),
          eb.exists(
            eb
              .selectFrom('broadcasts')
              .select('broadcasts.id')
              .whereRef('broadcasts.id', '=', 'frame.broadcast_id')
              .where('broadcasts.finished_at', 'is', null),
          ),
        ])
        .$castTo<number>()
        .as('serves'),
    )
    .where('frame.broadcast_id', '>', slot('after'))
    .orderBy('frame.broadcast_id')
    .limit(BATCH_SIZE),
)

const removeFrame = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('broadcast_frames').where('broadcast_id', '=', slot('id')),
)
const removeLinks = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('broadcast_links').where('broadcast_id', '=', slot('id')),
)

/** Removes the counts of a deleted broadcast, which have told of its emails until now. */
const removeOrphanedCounts = prepareWrite<{ id: string }>(({ db, slot }) =>
  db
    .deleteFrom('broadcast_counts')
    .where('broadcast_id', '=', slot('id'))
    .where((eb) => eb.not(eb.exists(eb.selectFrom('broadcasts').select('id').where('id', '=', slot('id'))))),
)

export class FramePurge {
  private after = ''

  constructor(
    private readonly store: Store,
    private readonly before: number,
  ) {}

  /** Removes the frames and links of some broadcasts. Resolves to true if there may be more. */
  async step(): Promise<boolean> {
    const frames = await nextFrames(this.store.read, { after: this.after })
    const isGone = ({ created_at, serves }: (typeof frames)[number]): boolean =>
      serves === 0 && created_at < this.before
    const gone = frames.filter(isGone).slice(0, FRAME_BATCH)
    // The next read starts with the rest of this batch.
    const last = gone.length === FRAME_BATCH ? gone.at(-1) : frames.at(-1)
    this.after = last?.broadcast_id ?? this.after
    const removals = [removeLinks, removeFrame, removeOrphanedCounts]
    const writes: readonly Write[] = gone.flatMap(({ broadcast_id: id }) => removals.map((remove) => remove({ id })))
    if (writes.length > 0) await this.store.commit(writes)
    return gone.length === FRAME_BATCH || frames.length === BATCH_SIZE
  }
}
