/** Opens and clicks in the event log, which are counted by a trigger that no other event runs. */
import t from 'tap'
import { createEventId, recordHit } from '../../../src/records/events/event-log.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { plansOfSqlite, skipOnPostgres } from '../../helpers/database/test-engine.js'

const AT = 900_000

const open = (emailId: string) =>
  recordHit(
    {
      ...{ workspaceId: 'ws_1', type: 'email.opened', emailId, recipient: 'bob@b.test', at: AT },
      data: {
        ...{ email_id: emailId, from: 'app@a.test', to: 'bob@b.test', subject: '', tags: {} },
        ...{ ip_address: null, user_agent: null, machine: false, opened_at: '1970-01-01T00:15:00Z' },
      },
    },
    createEventId(AT),
  )

t.test('an open is in the log and in the roll-ups; one of an email that is gone is in neither', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { commit, read } = database
  const sql = `insert into emails (id, workspace_id, source, message_id, envelope_from, from_email, from_name, to_emails,
    cc_emails, bcc_emails, reply_to, subject, tags, track_opens, track_clicks, priority, size, smtputf8, status, created_at,
    from_domain) values ('e1', 'ws_1', 'smtp', '', '', 'app@a.test', '', '[]', '[]', '[]', '[]', '', '[]', 1, 0, 'normal', 1, 0,
    'delivered', ?, 'a.test')`
  await commit([{ sql, parameters: [AT] }, open('e1'), open('gone')])
  t.same(await read('select type, email_id from events', []), [{ type: 'email.opened', email_id: 'e1' }])
  const opens = ['', 'a.test'].map((domain) => ({ domain, opens: 1 }))
  t.same(await read('select domain, opens from email_metrics order by domain', []), opens)
})

t.test('no trigger slows down the insertion of other events', { skip: skipOnPostgres(plansOfSqlite) }, async (t) => {
  const { database } = await temporaryDatabase(t)
  const sql = `select name from sqlite_schema where type = 'trigger' and tbl_name = 'events' and sql like '%after insert%'`
  t.same(await database.read(sql, []), [])
})
