/** The routes of the service for the operator: health, the newest log lines, addresses that the service does not write to. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { LogTail } from '../../../base/platform/log-tail.js'
import type { Store } from '../../../base/storage/db/database.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { listSuppressions } from '../../../records/suppressions/suppression-list.js'
import { removeSuppression, suppressionById, suppressionReasons } from '../../../records/suppressions/suppressions.js'
import { recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import { json, noContent } from '../http/answer.js'
import { buildPage, idCursor, limit, pageSchema, seqCursor } from '../http/input/paging.js'
import { notFound, timestamp, uuid } from '../http/input/values.js'
import { type Route, sessionRoute } from '../http/route/route.js'
import { type Health, healthView } from './health-view.js'

export interface ServiceRouteDeps extends Store {
  readonly health: { readonly read: () => Promise<Health> }
  readonly logTail: Pick<LogTail, 'read'>
}

const tag = 'Operator'
/** The least value of each level in a log line. */
const levels = { debug: 20, info: 30, warn: 40, error: 50 } as const
const level = z.enum(['debug', 'info', 'warn', 'error'], 'allowed: debug, info, warn, error')
const logQuery = z.strictObject({ limit, cursor: seqCursor, level: level.optional() })
const logLine = z
  .strictObject({
    seq: z.int(),
    time: z.string().meta({ example: '2030-01-31T09:00:00.000Z' }),
    level: z.string().meta({ example: 'info' }),
    message: z.string(),
    fields: z.record(z.string(), z.unknown()).meta({ example: { ms: 3 } }),
  })
  .meta({ id: 'LogLine' })
const suppression = z
  .strictObject({ id: uuid, email: z.string(), reason: z.enum(suppressionReasons), created_at: timestamp })
  .meta({ id: 'ServiceSuppression' })

export function serviceRoutes(deps: ServiceRouteDeps): readonly Route[] {
  return [healthRoute(deps), logRoute(deps), suppressionsRoute(deps), unsuppressRoute(deps)]
}

function healthRoute({ health }: ServiceRouteDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/operator/health',
    area: 'operator',
    tag,
    summary: 'Show how the service is',
    answers: {
      200: { description: 'Process, storage, certificate, queue, webhooks, listeners and nodes.', schema: healthView },
    },
    refusals: [],
    run: async () => json(200, await health.read()),
  })
}

function logRoute({ logTail }: ServiceRouteDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/operator/log',
    area: 'operator',
    tag,
    summary: 'List the newest lines of the log, newest first',
    description: 'The service keeps the newest 1,000 lines since its start in memory.',
    query: logQuery,
    answers: { 200: { description: 'A page.', schema: pageSchema(logLine) } },
    refusals: [],
    run: ({ query: { limit, cursor = Number.MAX_SAFE_INTEGER, level = 'debug' } }) => {
      const lines = logTail.read({ minLevel: levels[level], before: cursor, limit: limit + 1 })
      return json(
        200,
        buildPage(
          lines,
          limit,
          (line) => ({ ...line, level: nameLevel(line.level) }),
          ({ seq }) => seq,
        ),
      )
    },
  })
}

function nameLevel(value: number): string {
  if (value >= 60) return 'fatal'
  return Object.entries(levels).findLast(([, least]) => value >= least)?.[0] ?? 'trace'
}

function suppressionsRoute({ read }: ServiceRouteDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/operator/suppressions',
    area: 'operator',
    tag,
    summary: 'List the addresses that the service itself does not write to, newest first',
    query: z.strictObject({ limit, cursor: idCursor }),
    answers: { 200: { description: 'A page.', schema: pageSchema(suppression) } },
    refusals: [],
    run: async ({ query: { limit, cursor } }) => {
      const page = { workspaceId: SERVICE_WORKSPACE, reason: undefined, after: cursor, limit: limit + 1 }
      const show = ({ id, email, reason, created_at }: Awaited<ReturnType<typeof listSuppressions>>[number]) => {
        return { id, email, reason, created_at: iso(created_at) }
      }
      return json(
        200,
        buildPage(await listSuppressions(read, page), limit, show, ({ id }) => id),
      )
    },
  })
}

function unsuppressRoute({ read, commit }: ServiceRouteDeps): Route {
  return sessionRoute({
    method: 'DELETE',
    path: '/operator/suppressions/:id',
    area: 'operator',
    tag,
    summary: 'Let the service write to an address again',
    answers: { 204: { description: 'It is off the list.' } },
    refusals: ['not_found'],
    run: async ({ session: { userId }, params: { id = '' }, now }) => {
      const workspaceId = SERVICE_WORKSPACE
      const [row] = await suppressionById(read, { workspaceId, id })
      const act = recordAuditEntry({
        ...{ workspaceId, actor: { id: userId, keyId: null }, action: 'suppression.deleted', target: id, at: now },
        details: { email: row?.email, reason: row?.reason },
      })
      const removed = row !== undefined && (await tryCommit(commit([removeSuppression({ workspaceId, id }), act])))
      if (!removed) throw notFound('not-found', 'suppression', id)
      return noContent
    },
  })
}
