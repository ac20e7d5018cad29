/** GET /ui/api/audit-log: the audit log with the names of what its acts are about, for people. */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import { BEFORE_NEWEST } from '../../../workspaces/accounts/access/audit-log.js'
import { json } from '../http/answer.js'
import { buildPage, pageSchema } from '../http/input/paging.js'
import { type Route, route } from '../http/route/route.js'
import { findActNames } from './act-names.js'
import { act, actQuery, listActs, toAuditAct } from './audit-log.js'

const namedPage = pageSchema(act)
  .extend({
    names: z.record(z.string(), z.string()).meta({
      description: 'Names by id: of people, keys, webhooks (the origin of the URL) and invitations (the address).',
      example: { '01a1ff35-3880-7ef5-bbba-0d7e1de2529c': 'Ann (ann@example.com)' },
    }),
  })
  .meta({ id: 'NamedAuditActs' })

export function auditViewRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/audit-log',
    area: 'admin',
    tag: 'Audit log',
    summary: 'List administrative acts with names, newest first',
    query: actQuery,
    answers: { 200: { description: 'A page.', schema: namedPage } },
    refusals: [],
    run: async ({ principal: { workspaceId }, query: { limit, cursor = BEFORE_NEWEST } }) => {
      const rows = await listActs(read, workspaceId, cursor, limit + 1)
      const page = buildPage(rows, limit, toAuditAct, ({ seq }) => seq)
      return json(200, { ...page, names: await findActNames(read, workspaceId, page.data) })
    },
  })
}
