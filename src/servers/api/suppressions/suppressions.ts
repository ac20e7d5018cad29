/** The routes of the suppression list: list, add, show, remove. Removals are in the audit log. */
import { z } from 'zod'
import { tryParseForeignAddress } from '../../../base/mail/address.js'
import type { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { listSuppressions } from '../../../records/suppressions/suppression-list.js'
import {
  findSuppression,
  removeSuppression,
  type Suppression,
  suppress,
  suppressionById,
  suppressionReasons,
} from '../../../records/suppressions/suppressions.js'
import { actorOf, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { type Answer, json, noContent } from '../http/answer.js'
import { buildPage, idCursor, after as idOfPage, limit, pageSchema } from '../http/input/paging.js'
import { address, addressInQuery, goneSchema, notFound, timestamp, uuid } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'

export const suppressionReason = z.enum(suppressionReasons, `allowed: ${suppressionReasons.join(', ')}`)
const listQuery = z.strictObject({
  limit,
  cursor: idCursor,
  reason: suppressionReason.optional().meta({ description: 'Only addresses with this reason.' }),
  after: idOfPage.meta({ description: 'The id of the last item of the page before, in place of `cursor`.' }),
  origin: z
    .enum(['bounce', 'complaint', 'manual'], 'allowed: bounce, complaint, manual')
    .optional()
    .meta({ description: 'In place of `reason`.' }),
})
const reasonOfOrigin = { bounce: 'hard_bounce', complaint: 'spam_complaint', manual: 'manual' } as const
const originOfReason = {
  hard_bounce: 'bounce',
  spam_complaint: 'complaint',
  manual: 'manual',
  unsubscribe: 'manual',
} as const
const suppressionRequest = z
  .strictObject({ email: address, reason: suppressionReason.default('manual') })
  .meta({ id: 'SuppressionRequest', example: { email: 'bob@example.com', reason: 'manual' } })
const removeQuery = z.strictObject({ email: addressInQuery.meta({ description: 'The address, in any case.' }) })

const briefFields = { id: uuid, email: z.string(), reason: z.enum(suppressionReasons), created_at: timestamp }
const addedSuppression = z
  .strictObject({ object: z.literal('suppression'), ...briefFields })
  .meta({ id: 'AddedSuppression' })
export const suppressionRecord = z
  .strictObject({
    object: z.literal('suppression'),
    ...briefFields,
    origin: z.enum(['bounce', 'complaint', 'manual']).meta({ description: 'The reason in the words of Resend.' }),
    source_id: z.string().nullable().meta({ example: null, description: 'The same as `source_email_id`.' }),
    source_email_id: z.string().nullable(),
    metadata: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Suppression' })

const tag = 'Suppressions'

export function suppressionRoutes(deps: Store): readonly Route[] {
  return [listRoute(deps), addRoute(deps), getRoute(deps), removeByAddressRoute(deps), removeRoute(deps)]
}

function listRoute({ read }: Store): Route {
  return route({
    method: 'GET',
    path: '/suppressions',
    area: 'read',
    tag,
    summary: 'List the suppressed addresses, newest first',
    query: listQuery,
    answers: {
      200: { description: 'A page.', schema: pageSchema(suppressionRecord).extend({ object: z.literal('list') }) },
    },
    refusals: [],
    run: async ({ principal: { workspaceId }, query }) => {
      const { limit, origin, reason = origin && reasonOfOrigin[origin] } = query
      const rows = await listSuppressions(read, {
        workspaceId,
        reason,
        after: query.cursor ?? query.after,
        limit: limit + 1,
      })
      return json(200, { object: 'list', ...buildPage(rows, limit, toSuppressionResource, ({ id }) => id) })
    },
  })
}

function addRoute(deps: Store): Route {
  return route({
    method: 'POST',
    path: '/suppressions',
    area: 'write',
    tag,
    summary: 'Suppress an address',
    body: suppressionRequest,
    answers: {
      201: { description: 'It is on the list.', schema: addedSuppression },
      200: { description: 'It was on the list already and is unchanged.', schema: addedSuppression },
    },
    refusals: ['invalid_email_address'],
    run: async ({ principal: { workspaceId }, body: { email, reason }, now }) => {
      const { record, isNew } = await suppress(deps, {
        ...{ workspaceId, email, reason, at: now },
        ...{ sourceEmailId: null, metadata: {} },
      })
      return json(isNew ? 201 : 200, toAddedSuppression(record))
    },
  })
}

function getRoute({ read }: Store): Route {
  return route({
    method: 'GET',
    path: '/suppressions/:id',
    area: 'read',
    tag,
    summary: 'Show a suppressed address',
    answers: { 200: { description: 'The record.', schema: suppressionRecord } },
    refusals: ['not_found'],
    run: async (call) => json(200, toSuppressionResource(await suppressionOfCall(read, call))),
  })
}

function removeByAddressRoute(deps: Store): Route {
  return route({
    method: 'DELETE',
    path: '/suppressions',
    area: 'write',
    tag,
    summary: 'Remove an address from the suppression list',
    query: removeQuery,
    answers: { 204: { description: 'It is removed.' } },
    refusals: ['missing_required_field', 'invalid_email_address', 'not_found'],
    run: async ({ principal, query: { email }, now }) => {
      const found = await findSuppression(deps.read, principal.workspaceId, email)
      if (found === undefined) throw suppressionNotFound(email)
      return removeFromList(deps, principal, found, now)
    },
  })
}

function removeRoute(deps: Store): Route {
  return route({
    method: 'DELETE',
    path: '/suppressions/:id',
    area: 'write',
    tag,
    summary: 'Remove an address from the suppression list, by the id of its record',
    description: 'The answer has a body for clients of Resend alone, which cannot read an answer without one.',
    answers: {
      200: { description: 'It is removed, for a client of Resend.', schema: goneSchema('suppression', uuid) },
      204: { description: 'It is removed.' },
    },
    refusals: ['not_found'],
    run: async (call: Call) => {
      const found = await suppressionOfCall(deps.read, call)
      const answer = await removeFromList(deps, call.principal, found, call.now)
      const isResend = call.header('user-agent')?.startsWith('resend-') ?? false
      return isResend ? json(200, { object: 'suppression', deleted: true, id: found.id }) : answer
    },
  })
}

/** The path has its id, or its address. Throws a Refusal `not-found`. */
async function suppressionOfCall(
  read: Read,
  { principal: { workspaceId }, params: { id = '' } }: Call,
): Promise<Suppression> {
  const email = id.includes('@') ? tryParseForeignAddress(id) : null
  const found =
    email === null
      ? (await suppressionById(read, { workspaceId, id }))[0]
      : await findSuppression(read, workspaceId, email)
  if (found === undefined) throw suppressionNotFound(id)
  return found
}

async function removeFromList(store: Store, principal: Principal, found: Suppression, at: number): Promise<Answer> {
  if (await removeAudited(store, principal, found, at)) return noContent
  throw suppressionNotFound(found.id)
}

/** Removes a record, and notes in the audit log who did. Resolves to false if it is gone already. */
export function removeAudited(
  { commit }: Store,
  principal: Principal,
  { workspace_id: workspaceId, id, email, reason }: Suppression,
  at: number,
): Promise<boolean> {
  const act = {
    workspaceId,
    actor: actorOf(principal),
    action: 'suppression.deleted',
    target: id,
    at,
    details: { email, reason },
  } as const
  return tryCommit(commit([removeSuppression({ workspaceId, id }), recordAuditEntry(act)]))
}

function suppressionNotFound(id: string): Refusal {
  return notFound('not-found', 'suppression', id)
}

function toAddedSuppression({ id, email, reason, created_at }: Suppression): z.output<typeof addedSuppression> {
  return { object: 'suppression', id, email, reason, created_at: iso(created_at) }
}

export function toSuppressionResource(row: Suppression): z.output<typeof suppressionRecord> {
  const { source_email_id, reason } = row
  const { created_at, ...brief } = toAddedSuppression(row)
  const source = { origin: originOfReason[reason], source_id: source_email_id, source_email_id }
  return { ...brief, ...source, metadata: parseJson(row.metadata), created_at }
}
