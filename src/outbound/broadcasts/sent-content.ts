/**
 * Stores what all messages of a broadcast have in common: the frame, and the URLs that its links lead to. It is written
 * once, when the broadcast is sent; `messages/frames/` reads the frame, `tracking/` the links.
 */
import { prepareWrite } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import type { Tables } from '../../base/storage/tables/tables.js'
import { nameBroadcastLink } from '../tracking/broadcast-links.js'
import type { BroadcastRef } from './broadcast-records.js'

const insertFrame = prepareWrite<Tables['broadcast_frames']>(({ db, slot }) =>
  db.insertInto('broadcast_frames').values({
    broadcast_id: slot('broadcast_id'),
    workspace_id: slot('workspace_id'),
    created_at: slot('created_at'),
    frame: slot('frame'),
  }),
)

const insertLink = prepareWrite<Tables['broadcast_links']>(({ db, slot }) =>
  db.insertInto('broadcast_links').values({
    broadcast_id: slot('broadcast_id'),
    url_key: slot('url_key'),
    url: slot('url'),
    workspace_id: slot('workspace_id'),
    created_at: slot('created_at'),
  }),
)

interface NewContent {
  readonly frame: Buffer
  /** Each URL occurs once. */
  readonly links: readonly string[]
  readonly now: number
}

export function insertSentContent({ workspaceId, id }: BroadcastRef, { frame, links, now }: NewContent): Write[] {
  const common = { broadcast_id: id, workspace_id: workspaceId, created_at: now }
  return [
    insertFrame({ ...common, frame }),
    ...links.map((url) => insertLink({ ...common, url, url_key: nameBroadcastLink(url) })),
  ]
}

const removeFrame = prepareWrite<BroadcastRef>(({ db, slot }) =>
  db
    .deleteFrom('broadcast_frames')
    .where('broadcast_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

const removeLinks = prepareWrite<BroadcastRef>(({ db, slot }) =>
  db
    .deleteFrom('broadcast_links')
    .where('broadcast_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export function removeSentContent(ref: BroadcastRef): Write[] {
  return [removeFrame(ref), removeLinks(ref)]
}
