/** POST /emails/:id/hold, release and retry of the pages: members act on the waiting recipients of an email. */
import { z } from 'zod'
import { requireVisibleEmail } from '../../../records/messages/email-resource.js'
import { changeOwnEntries, type OwnAct } from '../../../records/messages/queue/own-acts.js'
import { actorOf } from '../../../workspaces/accounts/access/audit-log.js'
import { json } from '../http/answer.js'
import { type Route, route } from '../http/route/route.js'
import type { EmailChangeDeps } from './change.js'
import { MAX_RECIPIENTS } from './email-fields.js'
import { viewerOf } from './show.js'

const idsRule = `allowed: 1 to ${MAX_RECIPIENTS} ids of recipients`
const body = z
  .strictObject({
    recipient_ids: z.array(z.string(idsRule).max(64, idsRule), idsRule).min(1, idsRule).max(MAX_RECIPIENTS, idsRule),
  })
  .meta({ id: 'RecipientChoice' })

const changed = z
  .strictObject({ changed: z.array(z.string()).meta({ description: 'The ids of those that were changed.' }) })
  .meta({ id: 'ChangedRecipients' })

const summaries: Readonly<Record<OwnAct, string>> = {
  hold: 'Keep recipients in the queue without trying them',
  release: 'Let recipients that the workspace holds go on',
  retry: 'Try recipients at once',
}

type ActDeps = Pick<EmailChangeDeps, 'read' | 'commit' | 'delivery'>

export function queueActRoutes(deps: ActDeps): readonly Route[] {
  return [actRoute('hold', deps), actRoute('release', deps), actRoute('retry', deps)]
}

function actRoute(act: OwnAct, deps: ActDeps): Route {
  return route<undefined, z.output<typeof body>>({
    method: 'POST',
    path: `/emails/:id/${act}`,
    area: 'send',
    tag: 'Emails',
    summary: summaries[act],
    body,
    answers: { 200: { description: 'At least one was changed', schema: changed } },
    refusals: ['email_not_found', 'conflict'],
    run: async ({ principal, params: { id = '' }, body: { recipient_ids: recipientIds }, now }) => {
      const { workspace_id: workspaceId } = await requireVisibleEmail(deps.read, viewerOf(principal), id)
      const chosen = { workspaceId, emailId: id, recipientIds, actor: actorOf(principal) }
      const ids = await changeOwnEntries(deps, act, chosen, now)
      if (act !== 'hold') deps.delivery.runner.markDue(workspaceId, now)
      return json(200, { changed: [...ids] } satisfies z.output<typeof changed>)
    },
  })
}
