/** What the workspaces of one owner use counts together, also of those that are deleted or given away. */
import t, { type Test } from 'tap'
import { tryCommit } from '../../../../src/base/storage/db/write.js'
import { closeWorkspace } from '../../../../src/base/storage/maintenance/erase.js'
import { countDomainCreation } from '../../../../src/workspaces/accounts/limits/hourly-limit.js'
import { readHeldInboundBytes, requireRoom } from '../../../../src/workspaces/accounts/limits/inbound-bytes.js'
import { type Plan, WorkspacePlans } from '../../../../src/workspaces/accounts/limits/plans.js'
import { EmailCharger } from '../../../../src/workspaces/accounts/limits/quota.js'
import { RateLimit } from '../../../../src/workspaces/accounts/limits/rate-limit.js'
import { readUsage } from '../../../../src/workspaces/accounts/limits/usage.js'
import { transferOwnership } from '../../../../src/workspaces/accounts/people/members.js'
import { initOperatorWorkspace } from '../../../../src/workspaces/accounts/workspace/operator-workspace.js'
import { WorkspaceDirectory } from '../../../../src/workspaces/accounts/workspace/workspace-directory.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { rowOf } from '../../../helpers/database/rows.js'

const noon = Date.UTC(2030, 0, 31, 12)

/** Anna owns `ws_1` to `ws_3`, Ben `ws_4` and is a member of `ws_1`. */
async function openOwners(t: Test) {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const member = (workspace_id: string, user_id: string, role: string) =>
    row('members', { id: `${workspace_id} ${user_id}`, workspace_id, user_id, role })
  await database.commit([
    ...(await Promise.all(['anna', 'ben'].map((id) => row('users', { id, email: `${id}@a.test` })))),
    ...(await Promise.all(['ws_1', 'ws_2', 'ws_3', 'ws_4'].map((id) => row('workspaces', { id, slug: id })))),
    ...(await Promise.all(['ws_1', 'ws_2', 'ws_3'].map((id) => member(id, 'anna', 'owner')))),
    await member('ws_4', 'ben', 'owner'),
    await member('ws_1', 'ben', 'admin'),
  ])
  return { database, row, member }
}

const quotas = [
  ['emails_per_month', 'quota-exceeded'],
  ['emails_per_day', 'daily-limit'],
  ['credits', 'insufficient-quota'],
] as const

for (const [name, kind] of quotas) {
  t.test(`${name}: refused at the limit of the owner, who gains nothing by deleting or giving away`, async (t) => {
    const { database, row, member } = await openOwners(t)
    const { read, commit } = database
    const plan: Plan = { name: 'small', limits: { [name]: 3 } }
    const directory = await WorkspaceDirectory.open(read)
    const plans = new WorkspacePlans(directory, () => ({ default_plan: 'small', plans: { small: plan.limits } }))
    const charger = new EmailCharger(read, plans, () => 100)
    const send = async (workspaceId: string): Promise<string> => {
      const { writes, findRefusal } = await charger.charge([{ workspaceId, senderDomain: `${workspaceId}.test` }], noon)
      return (await tryCommit(commit([...writes]))) ? 'sent' : ((await findRefusal(false))?.kind ?? 'no reason')
    }
    t.same([await send('ws_1'), await send('ws_2'), await send('ws_3')], ['sent', 'sent', 'sent'])
    for (const workspaceId of ['ws_1', 'ws_2', 'ws_3']) t.equal(await send(workspaceId), kind, workspaceId)
    t.equal((await charger.findBatchRefusal('ws_2', 1, noon))?.kind, 'insufficient-quota', 'a batch too')
    await commit([await row('workspaces', { id: 'ws_5', slug: 'ws_5' }), await member('ws_5', 'anna', 'owner')])
    t.equal(await send('ws_5'), kind, 'a workspace of the owner that another node has just made')
    t.equal(await send('ws_4'), 'sent', 'another owner')
    await commit(closeWorkspace('ws_2', noon))
    await directory.reload()
    t.equal(await send('ws_3'), kind, 'after one is deleted')
    await commit(transferOwnership({ workspaceId: 'ws_1', ownerId: 'anna', newOwnerId: 'ben' }))
    await directory.reload()
    t.equal(await send('ws_3'), kind, 'after one is given away')
    t.equal(await send('ws_1'), 'sent', 'which counts with its new owner')
    const shown = await readUsage(read, 'ws_3', plan, noon)
    t.match(shown, name === 'credits' ? { credits_used: 3, credits_remaining: 0 } : { usage: { emails_sent: 3 } })
  })
}

t.test('the day of a sender domain goes on where another workspace of the owner has it', async (t) => {
  const { database } = await openOwners(t)
  const { read, commit } = database
  const plans = new WorkspacePlans(await WorkspaceDirectory.open(read), () => ({ default_plan: 'any', plans: {} }))
  const charger = new EmailCharger(read, plans, () => 2)
  const send = async (workspaceId: string): Promise<boolean> =>
    tryCommit(commit([...(await charger.charge([{ workspaceId, senderDomain: 'a.test' }], noon)).writes]))
  t.same([await send('ws_1'), await send('ws_1'), await send('ws_2'), await send('ws_4')], [true, true, false, true])
})

t.test('requests of all workspaces are measured together, each with the limits of its own plan', async (t) => {
  const ownerOf = (workspaceId: string): string => (workspaceId === 'ws_4' ? 'ben' : 'anna')
  const saved: string[] = []
  const limit = new RateLimit({
    limitsOf: (id) => ({ requests_per_minute: id === 'ws_3' ? 10 : 3, requests_per_day: 100 }),
    meterOf: ownerOf,
    days: { revision: 0, readSlices: () => [], count: (id) => saved.push(id) },
  })
  const take = (id: string): boolean => limit.take(id, noon).allowed
  t.same([take('ws_1'), take('ws_2'), take('ws_1'), take('ws_2')], [true, true, true, false])
  t.equal(limit.peek('ws_1', noon).remaining, 0, 'what is shown is what refuses')
  t.same([take('ws_3'), take('ws_4')], [true, true], 'a larger plan, another owner')
  t.same(saved, ['anna', 'anna', 'anna', 'anna', 'ben'])
})

t.test('domains registered in an hour', async (t) => {
  const { database } = await openOwners(t)
  for (let n = 0; n < 10; n += 1) await countDomainCreation(database, `ws_${1 + (n % 3)}`, noon + n)
  await t.rejects(countDomainCreation(database, 'ws_3', noon + 10), { message: /may register 10 domains an hour/ })
  await countDomainCreation(database, 'ws_4', noon + 10)
})

t.test('stored inbound mail counts together, but for the workspace of the operator', async (t) => {
  const { database, row } = await openOwners(t)
  const store = (workspace_id: string, bytes: number) => row('inbound_totals', { workspace_id, bytes })
  await database.commit([
    ...[await store('ws_1', 1_000), await store('ws_2', 20), await store('ws_3', 3), await store('ws_4', 500)],
    initOperatorWorkspace('ws_1'),
  ])
  const held = (id: string): Promise<number> => readHeldInboundBytes(database.read, id)
  t.same(await Promise.all(['ws_1', 'ws_2', 'ws_3', 'ws_4', 'ws_none'].map(held)), [1_000, 23, 23, 500, 0])
  const fits = (workspaceId: string, bytes: number, limit: number): Promise<boolean> =>
    tryCommit(database.commit([requireRoom({ workspaceId, owner: 'usr_1', bytes, limit })]))
  t.same([await fits('ws_3', 7, 30), await fits('ws_3', 8, 30), await fits('ws_1', 9, 1_009)], [true, false, true])
})
