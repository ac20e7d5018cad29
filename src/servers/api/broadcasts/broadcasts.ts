/** The routes of broadcasts as records: list, show, change, delete. `broadcast-acts.ts` has those that may send. */

import type { Store } from '../../../base/storage/db/database.js'
import { listBroadcasts, requireBroadcast } from '../../../outbound/broadcasts/broadcast-list.js'
import type { BroadcastRef } from '../../../outbound/broadcasts/broadcast-records.js'
import { deleteBroadcast } from '../../../outbound/broadcasts/change-broadcast.js'
import { requireDraft, updateDraft } from '../../../outbound/broadcasts/draft.js'
import { actorOf } from '../../../workspaces/accounts/access/audit-log.js'
import { type BlockCompiler, compileSource } from '../content/blocks-field.js'
import { json } from '../http/answer.js'
import { MAX_BROADCAST_BODY } from '../http/input/json-body.js'
import { awaitItems, buildList, listSchema, sliceAfterQuery, withNext } from '../http/input/paging.js'
import { goneSchema, uuid } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { broadcastRecord, listedBroadcast, toBroadcastRecord, toListedRecord } from './broadcast-answers.js'
import { draftExample, listedPageExample, sentExample } from './broadcast-examples.js'
import { broadcastChange, toDraftChange } from './broadcast-fields.js'

export const tag = 'Broadcasts'

const broadcastPage = listSchema(listedBroadcast)

interface BroadcastRouteDeps extends Store {
  readonly blocks: BlockCompiler
}

export function broadcastRoutes(deps: BroadcastRouteDeps): readonly Route[] {
  return [listRoute(deps), getRoute(deps), patchRoute(deps), removeRoute(deps)]
}

function listRoute({ read }: Store): Route {
  return route({
    method: 'GET',
    path: '/broadcasts',
    area: 'read',
    tag,
    summary: 'List the broadcasts, newest first',
    description: 'Without `html`, `text` and `blocks`.',
    query: sliceAfterQuery,
    answers: { 200: { description: 'Some of them.', schema: broadcastPage, example: listedPageExample } },
    refusals: [],
    run: async ({ principal: { workspaceId }, query }) => {
      const rows = await listBroadcasts(read, workspaceId, withNext(query))
      return json(200, await awaitItems(buildList(rows, query.limit, (row) => toListedRecord(read, row))))
    },
  })
}

function getRoute({ read }: Store): Route {
  return route({
    method: 'GET',
    path: '/broadcasts/:id',
    area: 'read',
    tag,
    summary: 'Show a broadcast with its counts and rates',
    answers: { 200: { description: 'The broadcast.', schema: broadcastRecord, example: sentExample } },
    refusals: ['not_found'],
    run: async (call) => json(200, await toBroadcastRecord(read, await requireBroadcast(read, broadcastRefOf(call)))),
  })
}

function patchRoute(deps: BroadcastRouteDeps): Route {
  return route({
    method: 'PATCH',
    path: '/broadcasts/:id',
    area: 'write',
    tag,
    summary: 'Change a draft',
    description:
      'Fields that are not given stay unchanged. `template_id` takes the place of subject and bodies, and these of a template.',
    body: broadcastChange,
    maxBody: MAX_BROADCAST_BODY,
    answers: { 200: { description: 'The draft.', schema: broadcastRecord, example: draftExample } },
    refusals: [
      'not_found',
      'conflict',
      'missing_required_field',
      'invalid_email_address',
      'audience_not_found',
      'template_not_found',
      'invalid_template_variables',
    ],
    run: async (call) => {
      const { body, now } = call
      const ref = broadcastRefOf(call)
      await requireDraft(deps.read, ref, body.if_updated_at)
      const change = toDraftChange(body, await compileSource(deps.blocks, ref.workspaceId, body))
      const changed = await updateDraft(deps, ref, change, now, body.if_updated_at)
      return json(200, await toBroadcastRecord(deps.read, changed))
    },
  })
}

function removeRoute(store: Store): Route {
  return route({
    method: 'DELETE',
    path: '/broadcasts/:id',
    area: 'write',
    tag,
    summary: 'Delete a broadcast',
    description:
      'A scheduled one is not sent. One that is sending or paused has to be cancelled first. Emails of it stay, with their links.',
    answers: { 200: { description: 'It is gone.', schema: goneSchema('broadcast', uuid) } },
    refusals: ['not_found', 'conflict'],
    run: async (call) => {
      const { principal, now } = call
      const ref = broadcastRefOf(call)
      await deleteBroadcast(store, { ref, actor: actorOf(principal), now })
      return json(200, { object: 'broadcast', deleted: true, id: ref.id })
    },
  })
}

export function broadcastRefOf({ principal: { workspaceId }, params: { id = '' } }: Call): BroadcastRef {
  return { workspaceId, id }
}
