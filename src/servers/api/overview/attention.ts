/** GET /ui/api/attention: what stops or will stop mail of the workspace until a person repairs it. */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Concern } from '../../../operations/concerns/concern.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { findOperatorWorkspace } from '../../../workspaces/accounts/workspace/operator-workspace.js'
import { concernList, showConcerns } from '../concerns/concern-view.js'
import { json } from '../http/answer.js'
import { type Route, route } from '../http/route/route.js'
import { listWorkspaceConcerns, type WorkspaceListDeps } from './workspace-list.js'

interface AttentionDeps extends WorkspaceListDeps {
  readonly serviceConcerns: { readonly read: () => Promise<{ readonly concerns: readonly Concern[] }> }
}

const attention = z.strictObject({ concerns: concernList }).meta({ id: 'Attention' })

export function attentionRoute({ serviceConcerns, ...deps }: AttentionDeps): Route {
  return route({
    method: 'GET',
    path: '/attention',
    area: 'read',
    tag: 'Overview',
    summary: 'Show what needs attention',
    description: 'Those who act for the operator also see what of the service needs attention.',
    answers: { 200: { description: 'What a person should look at.', schema: attention } },
    refusals: [],
    run: async ({ principal, now }) => {
      const { workspaceId } = principal
      const actsForOperator = await isOperator(deps.read, principal)
      const own = await listWorkspaceConcerns(deps, { workspaceId, actsForOperator, now })
      const ofService = actsForOperator ? (await serviceConcerns.read()).concerns : []
      return json(200, { concerns: showConcerns([...own, ...ofService]) })
    },
  })
}

async function isOperator(read: Read, { workspaceId, role }: Principal): Promise<boolean> {
  return role !== 'member' && (await findOperatorWorkspace(read)) === workspaceId
}
