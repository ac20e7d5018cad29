/** Emails are found by a Message-ID of this server. */
import t from 'tap'
import { findEmailsOfRequest } from '../../../../src/records/messages/email/emails-of-request.js'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { fileOfSqlite, skipOnPostgres } from '../../../helpers/database/test-engine.js'

t.test('by the id of the answer, in the workspace alone', { skip: skipOnPostgres(fileOfSqlite) }, async (t) => {
  const { daemon, workspaceId, otherWorkspaceId, rest, rows } = await testDaemon(t)
  const body = { from: 'app@a.test', to: ['bob@b.test'], subject: 'a', text: 'a' }
  const { id } = (await rest('POST', '/v1/emails', { body })).json<{ readonly id: string }>()
  const [row] = await rows<{ message_id: string }>('select message_id from emails where id = ?', id)
  const messageId = row?.message_id.slice(1, -1) ?? ''
  const { read } = daemon.database
  t.same(await findEmailsOfRequest(read, { workspaceId, messageId }), [id])
  t.same(await findEmailsOfRequest(read, { workspaceId: otherWorkspaceId, messageId }), [])
  t.same(await findEmailsOfRequest(read, { workspaceId, messageId: messageId.replace(/@.*/, '@elsewhere.test') }), [])
  for (const other of ['', 'a@b.test', '@', id.slice(1)]) {
    t.same(await findEmailsOfRequest(read, { workspaceId, messageId: other }), [])
  }
})
