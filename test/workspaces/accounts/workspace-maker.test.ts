/** Who may make a workspace, and which plan it gets. */
import t, { type Test } from 'tap'
import { builtInPlans, limitsOfPlan } from '../../../src/base/config/plans.js'
import type { Principal } from '../../../src/workspaces/accounts/access/principal.js'
import { initOperatorWorkspace } from '../../../src/workspaces/accounts/workspace/operator-workspace.js'
import { planOfNewWorkspace, requireMakersWorkspace } from '../../../src/workspaces/accounts/workspace-maker.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'

t.test('the default plan, unless it allows more than the plan of the maker', async (t) => {
  const plans = { ...builtInPlans, calm: { requests_per_second: 10 }, stored: { inbound_bytes: 5 } }
  for (const [standard, maker, made] of [
    ['unlimited', 'unlimited', 'unlimited'],
    ['free', 'unlimited', 'free'],
    ['unlimited', 'free', 'free'],
    ['free', 'pro', 'free'],
    ['pro', 'free', 'free'],
    ['free', 'standard', 'standard'], // no limit of a minute
    ['free', 'calm', 'calm'], // a burst of 20
    ['stored', 'free', 'free'],
  ] as const) {
    const limits = limitsOfPlan(plans, maker) ?? {}
    const plan = planOfNewWorkspace({ default_plan: standard, plans }, { name: maker, limits })
    t.equal(plan, made, `${standard}, made by ${maker}`)
  }
})

/** Anna owns `ws_1` and `ws_2`; Ben is admin of `ws_1`, which is the operator's; Carl is a member of it, and owns `ws_3`. */
async function openPeople(t: Test) {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const member = (workspace_id: string, user_id: string, role: string) =>
    row('members', { id: `${workspace_id} ${user_id}`, workspace_id, user_id, role })
  await database.commit([
    ...(await Promise.all(['ws_1', 'ws_2', 'ws_3'].map((id) => row('workspaces', { id, slug: id })))),
    ...[
      await member('ws_1', 'anna', 'owner'),
      await member('ws_2', 'anna', 'owner'),
      await member('ws_3', 'carl', 'owner'),
    ],
    ...[await member('ws_1', 'ben', 'admin'), await member('ws_1', 'carl', 'member'), initOperatorWorkspace('ws_1')],
  ])
  return async (userId: string, workspaceId: string, create_workspaces: 'owners' | 'operator'): Promise<string> => {
    const principal: Principal = {
      ...{ workspaceId, userId, keyId: null, role: 'member', scopes: ['full'], allowedDomains: [], sender: null },
    }
    return requireMakersWorkspace(database.read, principal, { create_workspaces })
  }
}

t.test('owners: with the plan of the workspace in which they act, or else of their oldest', async (t) => {
  const makersWorkspace = await openPeople(t)
  t.equal(await makersWorkspace('anna', 'ws_2', 'owners'), 'ws_2')
  t.equal(await makersWorkspace('carl', 'ws_1', 'owners'), 'ws_3', 'never that of another owner')
  await t.rejects(() => makersWorkspace('ben', 'ws_1', 'owners'), {
    kind: 'forbidden',
    message: /who owns a workspace .*create_workspaces = "owners".*ask the operator/,
  })
  await t.rejects(
    () => makersWorkspace('anna', 'ws_3', 'owners'),
    { message: /wrong or revoked/ },
    'not a member any more',
  )
})

t.test('operator: owner and admins of the workspace of the operator alone', async (t) => {
  const makersWorkspace = await openPeople(t)
  t.equal(await makersWorkspace('anna', 'ws_2', 'operator'), 'ws_1')
  t.equal(await makersWorkspace('ben', 'ws_1', 'operator'), 'ws_1')
  for (const workspaceId of ['ws_1', 'ws_3']) {
    await t.rejects(() => makersWorkspace('carl', workspaceId, 'operator'), {
      kind: 'forbidden',
      message: /only the operator .*create_workspaces = "operator"/,
    })
  }
})
