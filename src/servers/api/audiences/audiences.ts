/** The routes of audiences: create, list, show, change, and delete with all contacts. Deletions are in the audit log. */

import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { assertAudienceUnused, checkAudienceUnused } from '../../../outbound/broadcasts/audience-use.js'
import { actorOf, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import type { AudienceRemovalRunner } from '../../../workspaces/audiences/audience-removal.js'
import { deleteAudience } from '../../../workspaces/audiences/audience-removal.js'
import {
  type AudienceChange,
  buildNotFoundRefusal,
  type CountedAudience,
  changeAudience,
  insertAudience,
  listAudiences,
  requireAudience,
} from '../../../workspaces/audiences/audiences.js'
import { json } from '../http/answer.js'
import { buildList, listSchema, sliceAfterQuery, withNext } from '../http/input/paging.js'
import { goneSchema, name, timestamp, uuid } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'

interface AudienceDeps extends Store {
  readonly deletedAudiences: AudienceRemovalRunner
}

const MAX_DESCRIPTION = 1_000
const description = z
  .string(`allowed: up to ${MAX_DESCRIPTION} characters, or null`)
  .max(MAX_DESCRIPTION, `allowed: up to ${MAX_DESCRIPTION} characters`)
  .regex(/^(?:[^\p{Cc}\p{Cs}]|[\n\r\t])*$/u, 'allowed: no control characters but line breaks and tabs')
  .nullable()
  .optional()

const audienceRequest = z
  .strictObject({ name, description })
  .meta({ id: 'AudienceRequest', example: { name: 'Customers', description: 'Customers of the shop' } })
const audienceChange = z
  .strictObject({ name: name.optional(), description })
  .meta({ id: 'AudienceChange', example: { name: 'Customers in Europe' } })

/** What clients of Resend call a segment is an audience. */
type Kind = 'audience' | 'segment'
const kind = z.enum(['audience', 'segment'])

const createdAudience = z
  .strictObject({
    object: kind,
    id: uuid,
    name: z.string(),
    description: z.string().nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'CreatedAudience' })
const audience = createdAudience.extend({ contacts_count: z.int(), updated_at: timestamp }).meta({ id: 'Audience' })

const tag = 'Audiences'

export function audienceRoutes(deps: AudienceDeps, kind: Kind = 'audience'): readonly Route[] {
  return [createRoute, listRoute, getRoute, patchRoute, removeRoute]
    .map((build) => build(deps, kind))
    .map((one) => ({ ...one, path: one.path.replace('/audiences', `/${kind}s`) }))
}

function createRoute({ commit }: AudienceDeps, object: Kind): Route {
  return route({
    method: 'POST',
    path: '/audiences',
    area: 'write',
    tag,
    summary: 'Create an audience',
    body: audienceRequest,
    answers: { 201: { description: 'The audience.', schema: createdAudience } },
    refusals: [],
    run: async ({ principal: { workspaceId }, body: { name, description = null }, now }) => {
      const id = uuidv7(now)
      await commit([
        insertAudience({ id, workspace_id: workspaceId, name, description, created_at: now, updated_at: now }),
      ])
      const created = { object, id, name, description, created_at: iso(now) }
      return json(201, created satisfies z.output<typeof createdAudience>)
    },
  })
}

function listRoute({ read }: AudienceDeps, object: Kind): Route {
  return route({
    method: 'GET',
    path: '/audiences',
    area: 'read',
    tag,
    summary: 'List the audiences, newest first',
    query: sliceAfterQuery,
    answers: { 200: { description: 'Some of them.', schema: listSchema(audience) } },
    refusals: [],
    run: async ({ principal: { workspaceId }, query }) => {
      const rows = await listAudiences(read, workspaceId, withNext(query))
      return json(
        200,
        buildList(rows, query.limit, (row) => toAudienceResource(row, object)),
      )
    },
  })
}

function getRoute({ read }: AudienceDeps, object: Kind): Route {
  return route({
    method: 'GET',
    path: '/audiences/:id',
    area: 'read',
    tag,
    summary: 'Show an audience',
    answers: { 200: { description: 'The audience.', schema: audience } },
    refusals: ['audience_not_found'],
    run: async (call) => json(200, toAudienceResource(await audienceOfCall(read, call), object)),
  })
}

function patchRoute({ read, commit }: AudienceDeps, object: Kind): Route {
  return route({
    method: 'PATCH',
    path: '/audiences/:id',
    area: 'write',
    tag,
    summary: 'Change an audience',
    description: 'Fields that are not given stay unchanged.',
    body: audienceChange,
    answers: { 200: { description: 'The audience.', schema: audience } },
    refusals: ['audience_not_found'],
    run: async (call) => {
      const { workspace_id: workspaceId, id } = await audienceOfCall(read, call)
      const change = toAudienceChange(call.body)
      if (Object.keys(change).length > 0) {
        const write = changeAudience({ workspaceId, id }, { ...change, updated_at: call.now })
        if (!(await tryCommit(commit([write])))) throw buildNotFoundRefusal(id)
      }
      return json(200, toAudienceResource(await audienceOfCall(read, call), object))
    },
  })
}

function toAudienceChange({ name, description }: z.output<typeof audienceChange>): AudienceChange {
  return { ...(name === undefined ? {} : { name }), ...(description === undefined ? {} : { description }) }
}

function removeRoute({ read, commit, deletedAudiences }: AudienceDeps, object: Kind): Route {
  return route({
    method: 'DELETE',
    path: '/audiences/:id',
    area: 'write',
    tag,
    summary: 'Delete an audience and all its contacts permanently',
    description: 'Not while a broadcast goes to it, or is scheduled to: cancel that first.',
    answers: {
      200: { description: 'It is gone.', schema: goneSchema(object, uuid) },
    },
    refusals: ['audience_not_found', 'conflict'],
    run: async (call) => {
      const row = await audienceOfCall(read, call)
      await checkAudienceUnused(read, { workspaceId: row.workspace_id, id: row.id })
      const { principal, now: at } = call
      const { workspace_id: workspaceId, id, name, contacts_count: contacts } = row
      const details = { name, contacts }
      const act = {
        workspaceId,
        actor: actorOf(principal),
        action: 'audience.deleted',
        target: id,
        at,
        details,
      } as const
      const writes = [assertAudienceUnused({ workspaceId, id }), ...deleteAudience(row, at), recordAuditEntry(act)]
      if (!(await tryCommit(commit(writes)))) {
        // A broadcast to it was sent at the same moment, or the audience was deleted.
        await checkAudienceUnused(read, { workspaceId, id })
        throw buildNotFoundRefusal(id)
      }
      await deletedAudiences.start({ workspaceId, audienceId: id })
      return json(200, { object, deleted: true, id })
    },
  })
}

async function audienceOfCall(
  read: Read,
  { principal: { workspaceId }, params: { id = '' } }: Call<unknown, unknown>,
): Promise<CountedAudience> {
  return requireAudience(read, workspaceId, id)
}

function toAudienceResource(
  { id, name, description, contacts_count, created_at, updated_at }: CountedAudience,
  object: Kind,
): z.output<typeof audience> {
  return { object, id, name, description, contacts_count, created_at: iso(created_at), updated_at: iso(updated_at) }
}
