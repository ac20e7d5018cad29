/** The routes of broadcasts as records: create, list, show, change, delete. `broadcast-acts.ts` has those that send. */

import { z } from 'zod'
import type { Store } from '../../../base/storage/db/database.js'
import { listBroadcasts, requireBroadcast } from '../../../outbound/broadcasts/broadcast-list.js'
import type { BroadcastRef } from '../../../outbound/broadcasts/broadcast-records.js'
import { toBroadcastResource, toListedBroadcast } from '../../../outbound/broadcasts/broadcast-resource.js'
import { deleteBroadcast } from '../../../outbound/broadcasts/change-broadcast.js'
import { createDraft, updateDraft } from '../../../outbound/broadcasts/draft.js'
import { actorOf } from '../../../workspaces/accounts/access/audit-log.js'
import { json } from '../http/answer.js'
import { MAX_BROADCAST_BODY } from '../http/input/json-body.js'
import { sliceQuery } from '../http/input/paging.js'
import { uuid } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { draftExample, listedExample, sentExample } from './broadcast-examples.js'
import {
  broadcastChange,
  broadcastRecord,
  broadcastRequest,
  listedBroadcast,
  toDraft,
  toDraftChange,
} from './broadcast-fields.js'

export const tag = 'Broadcasts'

const broadcastPage = z.strictObject({ data: z.array(listedBroadcast) })

export function broadcastRoutes(store: Store): readonly Route[] {
  return [createRoute(store), listRoute(store), getRoute(store), patchRoute(store), removeRoute(store)]
}

function createRoute(store: Store): Route {
  return route({
    method: 'POST',
    path: '/broadcasts',
    area: 'write',
    tag,
    summary: 'Create a broadcast to an audience, as a draft',
    description: 'Has either `template_id`, or `subject` with `html`, `text` or both.',
    body: broadcastRequest,
    maxBody: MAX_BROADCAST_BODY,
    answers: { 201: { description: 'The draft.', schema: broadcastRecord, example: draftExample } },
    refusals: [
      'invalid_email_address',
      'audience_not_found',
      'template_not_found',
      'invalid_template_variables',
      'conflict',
    ],
    run: async ({ principal: { workspaceId }, body, now }) =>
      json(201, toBroadcastResource(store.read, await createDraft(store, workspaceId, toDraft(body), now))),
  })
}

function listRoute({ read }: Store): Route {
  return route({
    method: 'GET',
    path: '/broadcasts',
    area: 'read',
    tag,
    summary: 'List the broadcasts, newest first',
    description: 'Without `html` and `text`.',
    query: sliceQuery,
    answers: { 200: { description: 'Some of them.', schema: broadcastPage, example: { data: [listedExample] } } },
    refusals: [],
    run: async ({ principal: { workspaceId }, query }) => {
      const rows = await listBroadcasts(read, workspaceId, query)
      return json(200, { data: rows.map((row) => toListedBroadcast(read, row)) })
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
    run: (call) => json(200, toBroadcastResource(read, requireBroadcast(read, broadcastRefOf(call)))),
  })
}

function patchRoute(store: Store): Route {
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
      const changed = await updateDraft(store, broadcastRefOf(call), toDraftChange(call.body), call.now)
      return json(200, toBroadcastResource(store.read, changed))
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
    answers: { 200: { description: 'It is gone.', schema: z.strictObject({ deleted: z.literal(true), id: uuid }) } },
    refusals: ['not_found', 'conflict'],
    run: async (call) => {
      const { principal, now } = call
      const ref = broadcastRefOf(call)
      await deleteBroadcast(store, { ref, actor: actorOf(principal), now })
      return json(200, { deleted: true, id: ref.id })
    },
  })
}

export function broadcastRefOf({ principal: { workspaceId }, params: { id = '' } }: Call): BroadcastRef {
  return { workspaceId, id }
}
