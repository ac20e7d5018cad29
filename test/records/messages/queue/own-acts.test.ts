/** What members do with the queue of their workspace, and what they cannot do. */
import t from 'tap'
import { WriteConflict } from '../../../../src/base/storage/db/write.js'
import { readEmailDetails } from '../../../../src/records/messages/email-details.js'
import { changeOwnEntries, type OwnAct } from '../../../../src/records/messages/queue/own-acts.js'
import { holdEntry, releaseEntry, retryEntry } from '../../../../src/records/messages/queue/queue-admin.js'
import { describeNext } from '../../../../src/records/messages/story/describe-next.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const { database } = await temporaryDatabase(t)
const { read, commit } = database
const actor = { id: 'usr_1', keyId: null }
const conflict = { name: 'Refusal', kind: 'conflict' }
const NOW = 5_000

interface Stored {
  readonly emailId: string
  readonly ids: readonly string[]
  readonly act: (act: OwnAct, ids: readonly string[], workspaceId?: string) => Promise<readonly string[]>
  readonly entry: (at: number) => Promise<{ readonly held: number; readonly next_attempt_at: number } | undefined>
}

async function storeEmail(): Promise<Stored> {
  const { email, writes } = bulkEmail({ workspaceId: 'ws', to: ['one@b.test', 'two@b.test'], at: 9_000 })
  await commit(writes)
  const emailId = email.id
  const ids = (await read<{ id: string }>('select id from queue where email_id = ? order by recipient', [emailId])).map(
    ({ id }) => id,
  )
  return {
    emailId,
    ids,
    act: (act, recipientIds, workspaceId = 'ws') =>
      changeOwnEntries(database, act, { workspaceId, emailId, recipientIds, actor }, NOW),
    entry: async (at) =>
      (
        await read<{ held: number; next_attempt_at: number }>('select held, next_attempt_at from queue where id = ?', [
          ids[at],
        ])
      )[0],
  }
}

const auditOf = async (target: string | undefined): Promise<readonly unknown[]> =>
  read('select workspace_id, actor, action, details from audit_log where target = ? order by seq', [target])

t.test('entries are held, released and made due, each with an entry in the audit log', async (t) => {
  const { emailId, ids, act, entry } = await storeEmail()
  const [one = '', two = ''] = ids
  t.same(await act('hold', [one, one]), [one])
  t.match([await entry(0), await entry(1)], [{ held: 3 }, { held: 0 }])
  const [held] = (await readEmailDetails(read, { workspaceId: 'ws', id: emailId }))?.recipients ?? []
  t.match(held, { held: true, held_by: 'workspace' })
  t.match(held === undefined ? null : describeNext(held), { before: 'held by the workspace', at: null })
  t.same(await act('hold', ids), [two], 'the first was held before')
  t.same(await act('release', [one]), [one])
  t.match(await entry(0), { held: 0, next_attempt_at: 9_000 }, 'due as before')
  t.same(await act('retry', ids), ids, 'held or not')
  t.match([await entry(0), await entry(1)], Array(2).fill({ held: 0, next_attempt_at: NOW }))
  const of = { workspace_id: 'ws', actor: 'usr_1', details: JSON.stringify({ email_id: emailId }) }
  t.same(
    await auditOf(one),
    ['queue.held', 'queue.released', 'queue.retried'].map((action) => ({ ...of, action })),
  )
})

t.test('what the operator holds stays held; the operator releases what members hold', async (t) => {
  const { ids, act, entry } = await storeEmail()
  const [one = '', two = ''] = ids
  await commit([holdEntry(one, NOW)])
  for (const name of ['hold', 'release', 'retry'] as const) await t.rejects(act(name, [one]), conflict, name)
  t.match(await entry(0), { held: 1, next_attempt_at: 9_000 })
  t.same(await auditOf(one), [], 'what was not done is not in the log')
  await act('hold', [two])
  await commit([releaseEntry(two, NOW)])
  t.match(await entry(1), { held: 0 })
  await act('hold', [two])
  await commit([retryEntry({ id: two, at: NOW })])
  t.match(await entry(1), { held: 0, next_attempt_at: NOW })
})

t.test(
  'entries that are being attempted, of a paused broadcast, settled or of another workspace are left alone',
  async (t) => {
    const { ids, act, entry } = await storeEmail()
    const [one = '', two = ''] = ids
    await commit([{ sql: 'update queue set leased = 1 where id = ?', parameters: [one] }])
    await commit([{ sql: 'update queue set held = 2 where id = ?', parameters: [two] }])
    for (const name of ['hold', 'release', 'retry'] as const) await t.rejects(act(name, ids), conflict, name)
    t.match([await entry(0), await entry(1)], [{ held: 0 }, { held: 2 }])

    const other = await storeEmail()
    await t.rejects(other.act('hold', other.ids, 'ws_2'), conflict, 'of another workspace')
    await t.rejects(other.act('hold', ['absent', ...ids]), conflict, 'of another email')
    await commit([{ sql: 'delete from queue where email_id = ?', parameters: [other.emailId] }])
    await t.rejects(other.act('retry', other.ids), conflict, 'settled')
    await t.rejects(commit([retryEntry({ id: two, at: NOW })]), WriteConflict, 'nor does the operator retry it')
  },
)
