/**
 * GET /v1/audit-log: the audit log of the workspace, newest first, for its owner and admins. The log of the operator's
 * workspace also has the acts of the service, such as the deletion of a workspace.
 */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { auditEntriesOfWorkspace, BEFORE_NEWEST } from '../../../workspaces/accounts/access/audit-log.js'
import { findOperatorWorkspace } from '../../../workspaces/accounts/workspace/operator-workspace.js'
import { json } from '../http/answer.js'
import { buildPage, limit, pageSchema, seqCursor } from '../http/input/paging.js'
import { timestamp, uuid } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'

export const actQuery = z.strictObject({ limit, cursor: seqCursor })

export const act = z
  .strictObject({
    id: uuid,
    at: timestamp,
    actor: z.string().meta({ description: 'Id of the user, or `operator`.' }),
    action: z.string(),
    target: z.string().meta({ description: 'Id of the object of the act.' }),
    details: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditAct' })

type Row = Awaited<ReturnType<typeof auditEntriesOfWorkspace>>[number]

export function auditLogRoutes({ read }: { readonly read: Read }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/audit-log',
      // It is not `admin-read`, because the log has details that members must not see.
      area: 'admin',
      tag: 'Audit log',
      summary: 'List administrative acts, newest first',
      description: "The operator's workspace also lists those of the service, such as `workspace.deleted`.",
      query: actQuery,
      answers: { 200: { description: 'A page.', schema: pageSchema(act) } },
      refusals: [],
      run: async ({ principal: { workspaceId }, query: { limit, cursor = BEFORE_NEWEST } }) => {
        const rows = await listActs(read, workspaceId, cursor, limit + 1)
        return json(
          200,
          buildPage(rows, limit, toAuditAct, ({ seq }) => seq),
        )
      },
    }),
  ]
}

export async function listActs(
  read: Read,
  workspaceId: string,
  before: number,
  limit: number,
): Promise<readonly Row[]> {
  const own = await auditEntriesOfWorkspace(read, { workspaceId, before, limit })
  if ((await findOperatorWorkspace(read)) !== workspaceId) return own
  const ofService = await auditEntriesOfWorkspace(read, { workspaceId: SERVICE_WORKSPACE, before, limit })
  return [...own, ...ofService].sort((one, other) => other.seq - one.seq).slice(0, limit)
}

export function toAuditAct({ id, at, actor, action, target, details }: Row): z.output<typeof act> {
  return { id, at: iso(at), actor, action, target, details: parseJson(details) }
}
