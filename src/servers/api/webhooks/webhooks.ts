/**
 * The routes of webhooks: create, list, show, change, delete, and a new secret. Each change is in the audit log, which
 * shows of a URL only its origin, because the path and the query of such URLs often contain a secret.
 */

import type { z } from 'zod'
import { Refusal } from '../../../base/mail/refusal.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit, type Write } from '../../../base/storage/db/write.js'
import { parseJson, toJson } from '../../../base/storage/tables/columns.js'
import { type AuditAction, actorOf, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import { requireKnownTypes } from '../../../workspaces/webhooks/formats/formats.js'
import { requireSecretsAgain } from '../../../workspaces/webhooks/settings/moved-url.js'
import { mergeHeaders, readHeaders } from '../../../workspaces/webhooks/settings/own-headers.js'
import { splitUrl } from '../../../workspaces/webhooks/settings/url-login.js'
import {
  buildWebhookNotFound,
  changeWebhook,
  generateWebhookSecret,
  insertWebhook,
  MAX_WEBHOOKS,
  readLastAttempts,
  requireWebhook,
  rotateSecret,
  type Webhook,
  type WebhookChange,
  type WebhookRef,
  webhooksOfWorkspace,
} from '../../../workspaces/webhooks/webhook-records.js'
import { deleteWebhook } from '../../../workspaces/webhooks/webhook-removal.js'
import type { UrlCheck } from '../../../workspaces/webhooks/webhook-url.js'
import type { Changes } from '../changes.js'
import { json } from '../http/answer.js'
import { buildPart, listSchema, partQuery } from '../http/input/paging.js'
import { type Call, type Route, route } from '../http/route/route.js'
import {
  createdWebhook,
  deletedWebhook,
  rotatedSecret,
  toCreatedWebhook,
  toWebhookResource,
  webhook,
  webhookChange,
  webhookRequest,
} from './webhook-fields.js'

export interface WebhookDeps extends Store {
  readonly urls: UrlCheck
  readonly changes: Changes
}

const tag = 'Webhooks'

export function webhookRoutes(deps: WebhookDeps): readonly Route[] {
  return [createRoute(deps), listRoute(deps), getRoute(deps), patchRoute(deps), removeRoute(deps), rotateRoute(deps)]
}

export function refOfCall({ principal: { workspaceId }, params: { id = '' } }: Call<unknown, unknown>): WebhookRef {
  return { workspaceId, id }
}

function audit(
  { principal, now: at }: Call<unknown, unknown>,
  action: AuditAction,
  target: string,
  details: Readonly<Record<string, unknown>>,
): Write {
  const { workspaceId } = principal
  return recordAuditEntry({ workspaceId, actor: actorOf(principal), action, target, at, details })
}

const originOf = (url: string): string => new URL(url).origin

function createRoute({ read, commit, urls, changes }: WebhookDeps): Route {
  return route({
    method: 'POST',
    path: '/webhooks',
    area: 'admin',
    tag,
    summary: 'Create a webhook',
    description: 'Events from now on are delivered to it. Prefer https: requests are signed, not encrypted.',
    body: webhookRequest,
    answers: { 201: { description: 'The webhook with its secret.', schema: createdWebhook } },
    refusals: ['conflict'],
    run: async (call) => {
      const { principal, body, now } = call
      const { workspaceId } = principal
      const { events, endpoint, content = 'none', headers = {} } = body
      const { format = endpoint === undefined ? 'posthorn' : 'resend', url: given = endpoint ?? '' } = body
      requireKnownTypes(format, events)
      await urls.check(given, workspaceId)
      const { url, login } = splitUrl(given)
      const [id, secret] = [`wh_${uuidv7(now)}`, generateWebhookSecret()]
      const settings = { format, content, headers: mergeHeaders({}, headers), login: login === 'keep' ? null : login }
      const names = Object.keys(headers)
      const writes = [
        insertWebhook({ id, workspaceId, url, events: toJson(events), secret, now, ...settings }),
        audit(call, 'webhook.created', id, { origin: originOf(url), events, format, content, headers: names }),
      ]
      if (!(await tryCommit(commit(writes)))) throw buildLimitRefusal()
      await changes.webhookChanged({ workspaceId, id })
      return json(201, toCreatedWebhook(await requireWebhook(read, { workspaceId, id })))
    },
  })
}

function buildLimitRefusal(): Refusal {
  const message = `the workspace has ${MAX_WEBHOOKS} webhooks, with those of others of its owner, which is the limit: delete one first`
  return new Refusal('conflict', message, { limit: MAX_WEBHOOKS })
}

function listRoute({ read }: WebhookDeps): Route {
  return route({
    method: 'GET',
    path: '/webhooks',
    area: 'admin-read',
    tag,
    summary: 'List the webhooks, newest first',
    query: partQuery,
    answers: { 200: { description: 'All of them, or a part.', schema: listSchema(webhook) } },
    refusals: [],
    run: async ({ principal: { workspaceId }, query }) => {
      const webhooks = await webhooksOfWorkspace(read, { workspaceId })
      const attempts = await readLastAttempts(read, webhooks)
      return json(
        200,
        buildPart(webhooks, query, (row) => toWebhookResource(row, attempts.get(row.id))),
      )
    },
  })
}

function getRoute({ read }: WebhookDeps): Route {
  return route({
    method: 'GET',
    path: '/webhooks/:id',
    area: 'admin-read',
    tag,
    summary: 'Show a webhook',
    answers: { 200: { description: 'The webhook.', schema: webhook } },
    refusals: ['webhook_not_found'],
    run: async (call) => json(200, await readResource(read, refOfCall(call))),
  })
}

async function readResource(read: Read, ref: WebhookRef): Promise<z.output<typeof webhook>> {
  const found = await requireWebhook(read, ref)
  return toWebhookResource(found, (await readLastAttempts(read, [found])).get(ref.id))
}

function patchRoute({ read, commit, urls, changes }: WebhookDeps): Route {
  return route({
    method: 'PATCH',
    path: '/webhooks/:id',
    area: 'admin',
    tag,
    summary: 'Change a webhook',
    description:
      'Fields that are not given stay unchanged. A webhook that is enabled again continues with the events from then on; ' +
      'a replay delivers those before.',
    body: webhookChange,
    answers: { 200: { description: 'The webhook.', schema: webhook } },
    refusals: ['webhook_not_found'],
    run: async (call) => {
      const ref = refOfCall(call)
      await requireWebhook(read, ref)
      const { endpoint, url = endpoint } = call.body
      if (url !== undefined) await urls.check(url, ref.workspaceId)
      const change = toChange(call.body, await requireWebhook(read, ref))
      if (Object.keys(change).length > 0) {
        const details = detailsOf(change)
        const writes = [changeWebhook(ref, change, call.now), audit(call, 'webhook.changed', ref.id, details)]
        if (!(await tryCommit(commit(writes)))) throw buildWebhookNotFound(ref.id)
        await changes.webhookChanged(ref)
      }
      return json(200, await readResource(read, ref))
    },
  })
}

/** Where the caller gave back a mask, what is stored stays. */
function toChange(body: z.output<typeof webhookChange>, stored: Webhook): WebhookChange {
  const { events, status, enabled = status && status === 'enabled', format, content, headers } = body
  const given = body.url ?? body.endpoint
  const { url, login } = given === undefined ? { url: undefined, login: 'keep' as const } : splitUrl(given)
  if (events !== undefined || format !== undefined)
    requireKnownTypes(format ?? stored.format, events ?? parseJson(stored.events))
  requireSecretsAgain({ ...stored, headers: readHeaders(stored.headers) }, { url, login, headers })
  return {
    ...(url === undefined ? {} : { url }),
    ...(login === 'keep' ? {} : { login }),
    ...(events === undefined ? {} : { events }),
    ...(enabled === undefined ? {} : { enabled }),
    ...(format === undefined ? {} : { format }),
    ...(content === undefined ? {} : { content }),
    ...(headers === undefined ? {} : { headers: mergeHeaders(readHeaders(stored.headers), headers) }),
  }
}

/** What the audit log says of a change: of a URL its origin, of header fields their names. */
function detailsOf({ url, login: _, headers, ...change }: WebhookChange): Readonly<Record<string, unknown>> {
  return {
    ...change,
    ...(url === undefined ? {} : { origin: originOf(url) }),
    ...(headers === undefined ? {} : { headers: Object.keys(headers) }),
  }
}

function removeRoute({ read, commit, changes }: WebhookDeps): Route {
  return route({
    method: 'DELETE',
    path: '/webhooks/:id',
    area: 'admin',
    tag,
    summary: 'Delete a webhook with its deliveries',
    description: 'Nothing is delivered to it from then on, not even pending events.',
    answers: { 200: { description: 'It is gone.', schema: deletedWebhook } },
    refusals: ['webhook_not_found'],
    run: async (call) => {
      const ref = refOfCall(call)
      const { id, url } = await requireWebhook(read, ref)
      const writes = [...deleteWebhook(ref, call.now), audit(call, 'webhook.deleted', id, { origin: originOf(url) })]
      if (!(await tryCommit(commit(writes)))) throw buildWebhookNotFound(id)
      await changes.webhookDeleted(ref)
      return json(200, { object: 'webhook', deleted: true, id })
    },
  })
}

function rotateRoute({ read, commit, changes }: WebhookDeps): Route {
  return route({
    method: 'POST',
    path: '/webhooks/:id/rotate-secret',
    area: 'admin',
    tag,
    summary: 'Replace the secret of a webhook',
    description:
      '`X-Service-Signature` is made with the new secret at once. `webhook-signature` has a signature of each of the two ' +
      'for 24 hours.',
    answers: { 200: { description: 'The new secret.', schema: rotatedSecret } },
    refusals: ['webhook_not_found'],
    run: async (call) => {
      const ref = refOfCall(call)
      await requireWebhook(read, ref)
      const secret = generateWebhookSecret()
      const writes = [rotateSecret(ref, secret, call.now), audit(call, 'webhook.secret_rotated', ref.id, {})]
      if (!(await tryCommit(commit(writes)))) throw buildWebhookNotFound(ref.id)
      await changes.webhookChanged(ref)
      return json(200, { signing_secret: secret })
    },
  })
}
