/**
 * Deleted means gone: what was deleted by a request, by retention and by the end of a workspace is in no byte of the data
 * folder. The files are searched by another process: reading them in this one would release SQLite's locks.
 */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { skipOnPostgres } from '../helpers/database/test-engine.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipOnPostgres('bytes are looked for in its files')

const DAY = 86_400_000

function filesWith(marker: string, folder: string): string[] {
  const { stdout, status, error, signal } = spawnSync('grep', ['-rlaF', marker, folder], { encoding: 'utf8' })
  if (status !== 0 && status !== 1) throw new Error(`grep ended with ${status ?? signal}`, { cause: error })
  return stdout.split('\n').filter((name) => name !== '')
}

t.test('a contact, old messages and a workspace leave no byte', { skip }, async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const first = await testDaemon(t, { routes: { 'b.test': sink } })
  const { data_dir: dataDir } = first.config.service
  const raw = (mark: string, lines = 3000): string =>
    `From: App <app@a.test>\r\nTo: bob@b.test\r\nSubject: ${mark}-subject\r\n\r\n${`${mark}-body\r\n`.repeat(lines)}`
  const id = await first.submitAccepted({ raw: raw('expiring') })
  await first.waitUntilSettled(id)
  await first.waitUntilSettled(await first.submitAccepted({ raw: raw('spooled', 12_000) }))
  t.match(filesWith('spooled-body', dataDir), [/posthorn\.db-spool\/0000000001\.spool$/], 'and nowhere else')
  const contact = await first.rest('POST', '/v1/contacts', { body: { email: 'vanishing-contact@b.test' } })
  t.equal(contact.status, 201)
  t.not(filesWith('vanishing-contact', dataDir).length, 0)
  t.not(filesWith('expiring-body', dataDir).length, 0)
  const { id: contactId } = contact.json<{ readonly id: string }>()
  t.equal((await first.rest('DELETE', `/v1/contacts/${contactId}`)).status, 200)
  await first.stop()

  const app = await testDaemon(t, { routes: { 'b.test': sink }, folder: first.folder, ahead: 100 * DAY })
  await waitUntil(
    'retention has removed the message',
    async () => (await app.rows('select id from emails')).length === 0,
  )
  await waitUntil('no byte is left', () =>
    ['expiring-subject', 'expiring-body', 'spooled-body', 'vanishing-contact'].every(
      (mark) => filesWith(mark, dataDir).length === 0,
    ),
  )
})

t.test('a deleted workspace leaves no byte', { skip }, async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const { data_dir: dataDir } = app.config.service
  const body = 'of-the-workspace\r\n'.repeat(12_000)
  const raw = `From: App <app@a.test>\r\nTo: bob@b.test\r\nSubject: large\r\n\r\n${body}`
  await app.waitUntilSettled(await app.submitAccepted({ raw }))
  t.match(filesWith('of-the-workspace', dataDir), [/\.spool$/])
  const created = await app.rest('POST', '/v1/contacts', { body: { email: 'of-the-workspace@b.test' } })
  t.equal(created.status, 201)
  t.not(filesWith('of-the-workspace', dataDir).length, 0)
  const answer = await app.rest('DELETE', `/v1/workspaces/${app.workspaceId}`)
  t.ok([200, 202, 204].includes(answer.status), `${answer.status}`)
  await waitUntil('no byte is left', () => filesWith('of-the-workspace', dataDir).length === 0)
})
