/**
 * What all messages of a broadcast have in common, as it was when the broadcast was sent: the frame, and the URLs that
 * its links lead to. Written once; `messages/frames/` reads the frame, `tracking/` the links.
 */
import { sql } from 'kysely'
import { prepareWrite } from '../storage/prepared.js'
import { type Json, toJson } from '../storage/tables/columns.js'
import type { Tables } from '../storage/tables/tables.js'
import type { Write } from '../storage/writer/write.js'
import type { BroadcastRef } from './broadcast-records.js'

const insertFrame = prepareWrite<Tables['broadcast_frames']>(({ db, slot }) =>
  db.insertInto('broadcast_frames').values({
    broadcast_id: slot('broadcast_id'),
    workspace_id: slot('workspace_id'),
    created_at: slot('created_at'),
    frame: slot('frame'),
  }),
)

interface NewLinks {
  readonly broadcast_id: string
  readonly workspace_id: string
  readonly created_at: number
  readonly urls: Json<readonly string[]>
}

const insertLinks = prepareWrite<NewLinks>(({ db, slot }) =>
  db
    .insertInto('broadcast_links')
    .columns(['broadcast_id', 'url', 'workspace_id', 'created_at'])
    .expression(
      sql`select ${slot('broadcast_id')}, value, ${slot('workspace_id')}, ${slot('created_at')}
        from json_each(${slot('urls')})`,
    ),
)

interface NewContent {
  readonly frame: Buffer
  /** Each once. */
  readonly links: readonly string[]
  readonly now: number
}

export function insertSentContent({ workspaceId, id }: BroadcastRef, { frame, links, now }: NewContent): Write[] {
  const common = { broadcast_id: id, workspace_id: workspaceId, created_at: now }
  const urls = toJson([...new Set(links)])
  return [insertFrame({ ...common, frame }), ...(links.length === 0 ? [] : [insertLinks({ ...common, urls })])]
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
