/** Messages whose memory moves to the writer: what is stored and delivered is what was submitted, byte for byte. */
import { rmSync } from 'node:fs'
import t from 'tap'
import { spoolFolder } from '../../src/base/storage/db/spool-files.js'
import { databaseFile } from '../../src/base/storage/open.js'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { changeByte } from '../helpers/database/spooled.js'
import { skipOnPostgres } from '../helpers/database/test-engine.js'
import { openSink, type ScriptedSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const body = 'every line of this message is counted\r\n'.repeat(60_000)

async function deliveredBytes(sink: ScriptedSink): Promise<string> {
  await sink.waitUntil(() => sink.messages.length > 0)
  const [message] = sink.messages.splice(0)
  return message?.raw.toString('latin1') ?? ''
}

/** The fields without ours, and the body. */
function splitMessage(text: string): { readonly fields: readonly string[]; readonly body: string } {
  const end = text.indexOf('\r\n\r\n')
  const fields = text.slice(0, end).split(/\r\n(?![ \t])/)
  const own = /^(X-Posthorn-Reference|DKIM-Signature|Received): /
  return { fields: fields.filter((field) => !own.test(field)), body: text.slice(end + 4) }
}

t.test('over SMTP, with and without fields that are removed and added', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const whole = [
    'From: app@a.test',
    'To: bob@b.test',
    'Date: Sat, 21 Nov 2026 00:00:00 +0000',
    'Message-ID: <given@a.test>',
  ]
  const raw = [...whole, '', body].join('\r\n')
  await app.waitUntilSettled(await app.submitAccepted({ raw }))
  const unchanged = splitMessage(await deliveredBytes(sink))
  t.same(unchanged.fields, whole)
  t.ok(unchanged.body === body, 'the body of a message to which fields are only prepended')

  const steered = ['X-Service-Tag: a=b', ...whole.slice(0, 2), 'Bcc: bob@b.test', 'X-Own: kept', '', body].join('\r\n')
  await app.waitUntilSettled(await app.submitAccepted({ raw: steered }))
  const changed = splitMessage(await deliveredBytes(sink))
  t.same(changed.fields.slice(0, 3), [...whole.slice(0, 2), 'X-Own: kept'])
  t.match(changed.fields.slice(3), [/^Date: /, /^Message-ID: /])
  t.ok(changed.body === body, 'the body of a message from which fields are removed')
  t.same(app.errors, [])
})

t.test('over REST, with attachments of megabytes, alone and in a batch', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const content = Buffer.from(body).toString('base64')
  const attachments = ['one.bin', 'two.bin'].map((filename) => ({ filename, content }))
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'large', text: 'see below', attachments }
  const check = async (what: string): Promise<void> => {
    const text = await deliveredBytes(sink)
    const encoded = [...text.matchAll(/filename=(\w+\.bin)\r\n\r\n([\w+/=\r\n]+)\r\n--/g)]
    t.same(
      encoded.map(([, name]) => name),
      ['one.bin', 'two.bin'],
      what,
    )
    for (const [, , lines = ''] of encoded) t.ok(Buffer.from(lines, 'base64').toString() === body)
  }
  t.equal((await app.rest('POST', '/v1/emails', { body: email })).status, 201)
  await check('one email')
  const batch = await app.rest('POST', '/v1/emails/batch', { body: [email, { ...email, to: 'carol@b.test' }] })
  t.match(batch.json(), { success_count: 2, error_count: 0 })
  for (const place of ['first', 'second']) await check(`the ${place} of a batch`)
  const sizes = await app.rows<{ size: number; bytes: number }>(
    'select size, coalesce(spool_bytes, length(raw)) as bytes from emails join raw_messages on email_id = id',
  )
  t.equal(sizes.length, 3)
  for (const { size, bytes } of sizes) t.equal(size, bytes, 'the recorded size')
  t.same(app.errors, [])
})

async function lastResponses({ rows }: Pick<Awaited<ReturnType<typeof testDaemon>>, 'rows'>): Promise<string> {
  return (
    await rows<{ text: string }>(`select coalesce(last_response, '') as text from recipients where status = 'queued'`)
  )
    .map(({ text }) => text)
    .join()
}

const damages: Readonly<Record<string, (file: string) => void>> = {
  lost: (file) => rmSync(spoolFolder(file), { recursive: true }),
  changed: (file) => changeByte(file, 100),
}

for (const [what, damage] of Object.entries(damages)) {
  t.test(
    `a message whose bytes are ${what} is deferred, and other mail goes out`,
    { skip: skipOnPostgres('bytes of messages are in files') },
    async (t) => {
      const busy = await openSink({ script: { rcpt: '451 4.2.0 try again later' } })
      t.teardown(() => busy.close())
      const first = await testDaemon(t, { routes: { 'b.test': busy } })
      const raw = `From: app@a.test\r\nTo: bob@b.test\r\n\r\n${body}`
      const id = await first.submitAccepted({ raw })
      await waitUntil('it was deferred', async () => (await lastResponses(first)).startsWith('451'))
      await first.stop()
      damage(databaseFile(first.config.service.data_dir))

      const sink = await openSink()
      t.teardown(() => sink.close())
      const app = await testDaemon(t, { routes: { 'b.test': sink }, folder: first.folder, ahead: 3_600_000 })
      await waitUntil('it was deferred again', async () => (await lastResponses(app)).includes('local error'))
      const lost = /\d{7} bytes at 0 of .*0000000001\.spool are lost/
      t.match(app.errors.join('\n'), /attempt failed on our side/)
      t.match(app.errors.join('\n'), lost)
      t.match(await app.cli('log', id), { status: 0, out: lost })
      await app.waitUntilSettled(
        await app.submitAccepted({ raw: 'From: app@a.test\r\nTo: bob@b.test\r\n\r\nsmall\r\n' }),
      )
      t.equal(sink.messages.length, 1)
    },
  )
}
