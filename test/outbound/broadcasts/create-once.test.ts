/** The draft of a refused request is taken back with its key in one commit, unless somebody has sent or changed it. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { type Broadcast, broadcastById, scheduleDraft } from '../../../src/outbound/broadcasts/broadcast-records.js'
import { createDraftOnce, takeBackDraft } from '../../../src/outbound/broadcasts/create-once.js'
import { updateDraft } from '../../../src/outbound/broadcasts/draft.js'
import { findEarlierUse } from '../../../src/outbound/sending/idempotency.js'
import { operatorActor } from '../../../src/workspaces/accounts/access/audit-log.js'
import { insertAudience } from '../../../src/workspaces/audiences/audiences.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const { database } = await temporaryDatabase(t)
const { read, commit } = database
const workspaceId = 'ws_a'
const audienceId = '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10'
const now = 1_000_000
const audience = { id: audienceId, workspace_id: workspaceId, name: 'Readers', description: '' }
const actor = operatorActor

await commit([insertAudience({ ...audience, created_at: now, updated_at: now })])

const useOf = (key: string) => ({ workspaceId, key, fingerprint: 'f' })

function create(key: string): Promise<Broadcast> {
  const draft = {
    ...{ name: 'May', audienceId, from: { address: parseAddress('news@a.test'), name: '' }, replyTo: [] },
    ...{ subject: 'Hi', html: null, text: 'Hi', blocks: null, templateId: null },
  }
  return createDraftOnce(database, { workspaceId, draft, use: useOf(key), now })
}

async function isThere({ id }: Broadcast): Promise<boolean> {
  return (await broadcastById(read, { workspaceId, id })).length === 1
}

t.test('the draft and its key go in one commit', async (t) => {
  const draft = await create('one')
  t.equal((await create('one')).id, draft.id)
  const commits: (readonly Write[])[] = []
  const store = {
    read,
    commit: (writes: readonly Write[]) => {
      commits.push(writes)
      return commit(writes)
    },
  }
  t.equal(await takeBackDraft(store, { draft, use: useOf('one'), actor, now }), true)
  t.equal(commits.length, 1)
  t.equal(await isThere(draft), false)
  t.equal(await findEarlierUse(read, useOf('one'), now), null)
  const next = await create('one')
  t.not(next.id, draft.id)
  t.equal(await takeBackDraft(database, { draft, use: useOf('one'), actor, now }), false, 'it was taken back already')
  t.equal((await create('one')).id, next.id, 'the key of a later draft stays')
})

t.test('a draft that was scheduled or changed at the same time stays, and so does its key', async (t) => {
  const scheduled = await create('scheduled')
  const { id, version } = scheduled
  await commit([scheduleDraft({ workspaceId, id, version, keyId: null, now, at: now + 1 })])
  const changed = await create('changed')
  await updateDraft(database, { workspaceId, id: changed.id }, { name: 'June' }, now + 1)
  for (const [key, draft] of [
    ['scheduled', scheduled],
    ['changed', changed],
  ] as const) {
    t.equal(await takeBackDraft(database, { draft, use: useOf(key), actor, now }), false)
    t.equal(await isThere(draft), true)
    t.equal((await create(key)).id, draft.id)
  }
})
